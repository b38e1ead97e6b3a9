// Any bytes as a user's acts below job/: files, FIFOs, links, directories and sparse terabytes that
// come and go between the steps of the readers. Each reader returns at once, with what the user
// wrote or with nothing, never with a file of ours.
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>

#include "live/engine/local/report_file.h"
#include "live/supervisor/run_files.h"

using namespace trainyard;

namespace {

namespace fs = std::filesystem;

constexpr off_t kLimit = 4096;
constexpr unsigned kPatience = 20;  // seconds, for all of an input
constexpr std::string_view kSecret = R"({"step": 424242, "secret": "failed ours"})";

void require(bool promise) {
  if (!promise) std::abort();
}

/// A run's directory, as the engine makes it, with a file of ours beside job/.
struct Run {
  Run() {
    std::string name = (fs::exists("/dev/shm") ? "/dev/shm" : "/tmp") + std::string("/fuzz-XXXXXX");
    require(::mkdtemp(name.data()) != nullptr);
    root = name;
    std::ofstream(root + "/secret") << kSecret;
    require(job_directory(root).make(::geteuid(), ::getegid()).has_value());
  }
  ~Run() { fs::remove_all(root); }
  Run(const Run&) = delete;
  Run& operator=(const Run&) = delete;

  std::string root;
};

/// The user's next act, by two bytes and what follows them.
void act(const std::string& root, std::uint8_t kind, std::string_view text) {
  const std::string path =
      job_directory(root).told_to_user(std::array{"saved", "requeue", "report.json"}[kind % 3]);
  std::error_code none;
  if (kind / 3 % 11 < 8) fs::remove_all(path, none);
  switch (kind / 3 % 11) {
    case 0:
      return (void)(std::ofstream(path) << text);
    case 1:
      return (void)::mkfifo(path.c_str(), 0600);
    case 2:
      return fs::create_symlink("../secret", path, none);
    case 3:
      return fs::create_symlink(text, path, none);
    case 4:
      return fs::create_hard_link(root + "/secret", path, none);
    case 5:
      return (void)fs::create_directory(path, none);
    case 6:
      std::ofstream(path) << text;
      return fs::resize_file(path, std::uintmax_t{1} << 40, none);
    case 7:
      return;
    case 8:
      return fs::resize_file(path, text.size(), none);
    case 9:
      return (void)(std::ofstream(path, std::ios::app) << text);
    default:
      return fs::permissions(path, fs::perms::none, none);
  }
}

void look(const UserDirectory& own, ReportFile& report) {
  require(word_of_job(own, ::geteuid()).why.find("ours") == std::string::npos);
  (void)requeue_of_job(own, ::geteuid());
  if (const auto told = report.read()) require(told->step != 424242);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const Run run;
  const UserDirectory own = job_directory(run.root);
  ReportFile report(own, ::geteuid());
  ::alarm(kPatience);  // a reader that waits is the end
  for (std::size_t at = 0; at + 1 < size && at < 8192;) {
    const std::size_t length = std::min<std::size_t>(data[at + 1], size - at - 2);
    const std::string_view text(reinterpret_cast<const char*>(data) + at + 2, length);
    if (text.find('/') == std::string_view::npos && text.find('\0') == std::string_view::npos) {
      // Opened before the act, and read after it.
      const auto held = own.open("saved", ::geteuid(), kLimit);
      act(run.root, data[at], text);
      if (held) require(held->read().value_or("").size() <= static_cast<std::size_t>(kLimit));
    }
    look(own, report);
    at += 2 + length;
  }
  ::alarm(0);
  return 0;
}
