#include "live/system/process_tree.h"

#include <dirent.h>
#include <fmt/format.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <csignal>
#include <map>
#include <memory>
#include <optional>

#include "live/system/files.h"

namespace trainyard {
namespace {

std::vector<pid_t> all_processes() {
  std::vector<pid_t> pids;
  const std::unique_ptr<DIR, int (*)(DIR*)> entries(::opendir("/proc"), ::closedir);
  if (!entries) return pids;
  while (const dirent* entry = ::readdir(entries.get())) {
    const std::string_view name = entry->d_name;
    pid_t pid = 0;
    const auto [end, wrong] = std::from_chars(name.data(), name.data() + name.size(), pid);
    if (wrong == std::errc() && end == name.data() + name.size()) pids.push_back(pid);
  }
  return pids;
}

struct ProcessStatus {
  char state = 'X';  // as if it were gone
  pid_t parent = 0;
};

ProcessStatus status_of(pid_t pid) {
  const auto stat = read_small_file(fmt::format("/proc/{}/stat", pid));
  if (!stat) return {};
  // "12 (any name, also with ) in it) S 7 ..."
  const std::size_t close = stat->rfind(')');
  if (close == std::string::npos || close + 4 >= stat->size()) return {};
  ProcessStatus status{.state = (*stat)[close + 2]};
  std::from_chars(stat->data() + close + 4, stat->data() + stat->size(), status.parent);
  return status;
}

pid_t parent_of(pid_t pid) {
  return status_of(pid).parent;
}

/// The real one. The owner of files in /proc is root's where a process is not dumpable.
std::optional<uid_t> user_of(pid_t pid) {
  const auto status = read_small_file(fmt::format("/proc/{}/status", pid));
  const std::size_t at = status ? status->find("\nUid:\t") : std::string::npos;
  if (at == std::string::npos) return std::nullopt;
  uid_t user = 0;
  std::from_chars(status->data() + at + 6, status->data() + status->size(), user);
  return user;
}

/// Also those that have ended and were not collected.
std::vector<pid_t> children_of(pid_t parent) {
  std::vector<pid_t> found;
  const auto listed = read_small_file(fmt::format("/proc/{0}/task/{0}/children", parent));
  if (!listed) {  // not every kernel has the list
    for (const pid_t pid : all_processes())
      if (parent_of(pid) == parent) found.push_back(pid);
    return found;
  }
  for (const char *at = listed->data(), *end = at + listed->size(); at < end; ++at) {
    pid_t pid = 0;
    const auto read = std::from_chars(at, end, pid);
    if (read.ec != std::errc()) break;
    found.push_back(pid);
    at = read.ptr;
  }
  return found;
}

}  // namespace

std::vector<pid_t> descendants(pid_t root) {
  std::multimap<pid_t, pid_t> children;
  for (const pid_t pid : all_processes()) children.emplace(parent_of(pid), pid);
  std::vector<pid_t> found, open{root};
  while (!open.empty()) {
    const auto [begin, end] = children.equal_range(open.back());
    open.pop_back();
    for (auto child = begin; child != end; ++child) {
      found.push_back(child->second);
      open.push_back(child->second);
    }
  }
  return found;
}

bool is_descendant(pid_t pid, pid_t root) {
  // A process that ends on the way up hands its children to a subreaper: bounded, in any case.
  for (int steps = 0; steps < 10'000 && pid > 1; ++steps) {
    pid = parent_of(pid);
    if (pid == root) return true;
  }
  return false;
}

bool has_living_child(pid_t parent) {
  return parent > 0 && std::ranges::any_of(children_of(parent), [](pid_t child) {
           const char state = status_of(child).state;
           return state != 'Z' && state != 'X';
         });
}

pid_t pid_of(int pidfd) {
  const auto info = read_small_file(fmt::format("/proc/self/fdinfo/{}", pidfd));
  const std::size_t at = info ? info->find("Pid:\t") : std::string::npos;
  pid_t pid = 0;
  if (at != std::string::npos)
    std::from_chars(info->data() + at + 5, info->data() + info->size(), pid);
  return pid;
}

bool has_marks(pid_t pid, const ProcessMarks& marks) {
  if (user_of(pid) != marks.user) return false;
  const auto text = read_small_file(fmt::format("/proc/{}/environ", pid));
  if (!text || text->empty()) return false;
  const std::string all = '\0' + *text + '\0';
  return std::ranges::all_of(marks.variables, [&](const std::string& variable) {
    return all.find('\0' + variable + '\0') != std::string::npos;
  });
}

std::vector<pid_t> processes_with(const ProcessMarks& marks) {
  std::vector<pid_t> found;
  for (const pid_t pid : all_processes())
    if (pid != ::getpid() && has_marks(pid, marks)) found.push_back(pid);
  return found;
}

void signal_if(pid_t pid, int number, const std::function<bool(pid_t)>& is_meant) {
  const Descriptor process(static_cast<int>(::syscall(SYS_pidfd_open, pid, 0)));
  if (process && is_meant(pid)) ::syscall(SYS_pidfd_send_signal, process.get(), number, nullptr, 0);
}

}  // namespace trainyard
