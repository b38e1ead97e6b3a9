#include "live/supervisor/run_files.h"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstring>

namespace trainyard {
namespace {

constexpr std::size_t kEndBytes = 4096;
constexpr std::size_t kLongestWhy =
    1000;  // each byte may become six in JSON, and the rest needs room
constexpr std::size_t kStartedBytes = 32;
constexpr off_t kMostOfUser = 4096;  // what a job says in a file is a line

/// Made with blanks, which JSON allows behind what is written over them later.
Expected<Descriptor> reserve(const std::string& path, std::size_t bytes, int flags) {
  Descriptor file(::open(path.c_str(), O_WRONLY | O_CREAT | O_CLOEXEC | flags, 0600));
  if (!file) return fail("{}: cannot be made: {}", path, std::strerror(errno));
  if (!write_all(file.get(), std::string(bytes, ' ')))
    return fail("{}: cannot be written: {}", path, std::strerror(errno));
  return file;
}

}  // namespace

Expected<BegunRun> begin_run(const std::string& directory) {
  const std::string path = directory + "/lock";
  BegunRun begun;
  begun.lock = Descriptor(::open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600));
  struct flock all {};
  all.l_type = F_WRLCK;
  if (!begun.lock || ::fcntl(begun.lock.get(), F_SETLK, &all) != 0)
    return fail("{}: cannot be locked: {}", path, std::strerror(errno));
  auto end = reserve(directory + "/exit.part", kEndBytes, O_TRUNC);
  if (!end) return tl::make_unexpected(end.error());
  auto started = reserve(directory + "/started", kStartedBytes, O_EXCL);
  if (!started) return tl::make_unexpected(started.error());
  begun.end = std::move(*end);
  begun.started = std::move(*started);
  return begun;
}

JobWord word_of_job(const UserDirectory& own, uid_t user) {
  const auto file = own.open("saved", user, kMostOfUser);
  const auto text = file ? file->read() : std::nullopt;
  return text ? parse_job_word(*text) : JobWord{};
}

std::optional<UserFile> requeue_of_job(const UserDirectory& own, uid_t user) {
  return own.open("requeue", user, kMostOfUser);
}

Expected<void> record_end(const std::string& directory, const Descriptor& file, RunEnd end) {
  if (end.why.size() > kLongestWhy) end.why.resize(kLongestWhy);
  std::string text = to_json(end);
  while (text.size() > kEndBytes && !end.why.empty()) {
    end.why.resize(end.why.size() / 2);
    text = to_json(end);
  }
  text.resize(kEndBytes, ' ');
  if (::pwrite(file.get(), text.data(), text.size(), 0) != static_cast<ssize_t>(text.size()) ||
      std::rename((directory + "/exit.part").c_str(), (directory + "/exit.json").c_str()) != 0)
    return fail("{}/exit.json: cannot be written: {}", directory, std::strerror(errno));
  return {};
}

}  // namespace trainyard
