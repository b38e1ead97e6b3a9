#include "study/reproduce/journal.h"

#include <fcntl.h>
#include <sys/file.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <limits>
#include <nlohmann/json.hpp>

#include "study/reproduce/fingerprint.h"
#include "workload/generate/generate.h"

namespace trainyard {
namespace {

using nlohmann::json;

tl::unexpected<Error> cannot_open(const std::string& path, int why) {
  return fail("{}: cannot be opened: {}", path,
              why == EWOULDBLOCK ? "another run of the study has it" : std::strerror(why));
}

/// What is not a number was not one when it was written: JSON has no NaN.
double number(const json& value) {
  return value.is_number() ? value.get<double>() : std::numeric_limits<double>::quiet_NaN();
}

}  // namespace

RunJournal::RunJournal(std::string path, std::string program, int file)
    : path_(std::move(path)), program_(std::move(program)), file_(file) {}

RunJournal::~RunJournal() {
  ::close(file_);
}

Expected<std::unique_ptr<RunJournal>> RunJournal::open(const std::string& path,
                                                       std::string program) {
  std::error_code why;
  std::filesystem::create_directories(std::filesystem::path(path).parent_path(), why);
  if (why) return fail("{}: its folder cannot be made: {}", path, why.message());
  const int file = ::open(path.c_str(), O_RDWR | O_CREAT | O_APPEND | O_CLOEXEC, 0644);
  if (file < 0) return cannot_open(path, errno);
  std::unique_ptr<RunJournal> journal(new RunJournal(path, std::move(program), file));
  if (::flock(file, LOCK_EX | LOCK_NB) != 0) return cannot_open(path, errno);
  if (auto ok = journal->read(); !ok) return tl::make_unexpected(ok.error());
  return journal;
}

Expected<void> RunJournal::read() {
  std::string text;
  std::array<char, 1 << 16> part{};
  ssize_t got = 0;
  while ((got = ::read(file_, part.data(), part.size())) > 0)
    text.append(part.data(), static_cast<std::size_t>(got));
  if (got < 0) return cannot_open(path_, errno);
  std::size_t begin = 0;
  for (std::size_t end = text.find('\n'); end != std::string::npos; end = text.find('\n', begin)) {
    read_line(std::string_view(text).substr(begin, end - begin));
    begin = end + 1;
  }
  // The next line must not be joined to a torn one.
  if (::ftruncate(file_, static_cast<off_t>(begin)) != 0) return cannot_open(path_, errno);
  return {};
}

void RunJournal::read_line(std::string_view line) {
  const json run = json::parse(line, nullptr, false);
  if (!run.is_object()) return;
  const auto mark = run.find("mark"), numbers = run.find("metrics");
  if (mark == run.end() || !mark->is_string()) return;
  if (numbers == run.end() || !numbers->is_object()) return;
  Metrics& metrics = earlier_[mark->get<std::string>()];
  for (const auto& [name, value] : numbers->items()) metrics[name] = number(value);
}

const Metrics* RunJournal::find(const StudyRun& run) const {
  const auto found = earlier_.find(mark(run));
  return found == earlier_.end() ? nullptr : &found->second;
}

void RunJournal::add(const StudyRun& run, const Metrics& metrics) {
  const json line{{"mark", mark(run)},        {"workload", run.workload}, {"policy", run.policy},
                  {"settings", run.settings}, {"seed", run.seed},         {"metrics", metrics}};
  const std::string text = line.dump(-1, ' ', false, json::error_handler_t::replace) + "\n";
  const std::lock_guard lock(writing_);
  // One call, so that another one's line never stands within this one.
  [[maybe_unused]] const ssize_t written = ::write(file_, text.data(), text.size());
}

void RunJournal::remove() {
  ::unlink(path_.c_str());
}

std::string RunJournal::mark(const StudyRun& run) const {
  Fingerprint fingerprint;
  fingerprint.add(program_).add(run.cluster).add(run.workload).add(std::to_string(run.seed));
  fingerprint.add(run.models);
  fingerprint.add(run.network);
  fingerprint.add(run.policy);
  for (const std::string& setting : run.settings) fingerprint.add(setting);
  // A file that cannot be read fails the run itself, which says so.
  if (const std::string file = trace_file(run.workload); !file.empty())
    std::ignore = fingerprint.add_file(file);
  return fingerprint.hex();
}

Expected<std::string> journal_folder() {
  const char* state = std::getenv("XDG_STATE_HOME");
  // The specification of these folders wants relative ones ignored.
  if (state != nullptr && state[0] == '/') return std::string(state) + "/trainyard/studies";
  const char* home = std::getenv("HOME");
  if (home == nullptr || home[0] == '\0') return fail("neither HOME nor XDG_STATE_HOME is set");
  return std::string(home) + "/.local/state/trainyard/studies";
}

}  // namespace trainyard
