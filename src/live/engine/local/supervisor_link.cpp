#include "live/engine/local/supervisor_link.h"

#include <fcntl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <charconv>
#include <cstring>

namespace trainyard {
namespace {

/// 0: nobody. A supervisor's lock is for writing: one for reading is a stranger's.
pid_t holder_of(int file) {
  struct flock all {};
  all.l_type = F_WRLCK;
  if (::fcntl(file, F_GETLK, &all) != 0 || all.l_type != F_WRLCK) return 0;
  return all.l_pid;
}

}  // namespace

Expected<Descriptor> supervisor_of(const std::string& directory) {
  const Descriptor lock(::open((directory + "/lock").c_str(), O_RDWR | O_CLOEXEC));
  if (!lock && errno == ENOENT) return Descriptor();
  while (lock) {
    const pid_t pid = holder_of(lock.get());
    if (pid <= 0) return Descriptor();
    Descriptor process(static_cast<int>(::syscall(SYS_pidfd_open, pid, 0)));
    if (!process && errno != ESRCH) break;
    if (process && holder_of(lock.get()) == pid) return process;
  }
  return fail("{}/lock: whose it is cannot be told: {}", directory, std::strerror(errno));
}

std::optional<Time> time_of_start(const std::string& directory) {
  const auto text = read_small_file(directory + "/started");
  Time at;
  if (!text || std::from_chars(text->data(), text->data() + text->size(), at.us).ec != std::errc())
    return std::nullopt;
  return at;
}

std::optional<RunEnd> read_end(const std::string& directory) {
  const auto text = read_small_file(directory + "/exit.json");
  const auto end = text ? parse_run_end(*text) : tl::make_unexpected(text.error());
  return end ? std::optional(*end) : std::nullopt;
}

std::optional<RunPlan> read_plan(const std::string& directory) {
  const auto text = read_small_file(directory + "/run.json");
  const auto plan = text ? parse_run_plan(*text) : tl::make_unexpected(text.error());
  return plan ? std::optional(*plan) : std::nullopt;
}

}  // namespace trainyard
