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

/// 0: it is gone.
pid_t parent_of(pid_t pid) {
  const auto stat = read_small_file(fmt::format("/proc/{}/stat", pid));
  if (!stat) return 0;
  // "12 (any name, also with ) in it) S 7 ..."
  const std::size_t close = stat->rfind(')');
  if (close == std::string::npos || close + 4 >= stat->size()) return 0;
  pid_t parent = 0;
  std::from_chars(stat->data() + close + 4, stat->data() + stat->size(), parent);
  return parent;
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

bool has_environment(pid_t pid, const std::vector<std::string>& variables) {
  const auto text = read_small_file(fmt::format("/proc/{}/environ", pid));
  if (!text || text->empty()) return false;
  const std::string all = '\0' + *text + '\0';
  return std::all_of(variables.begin(), variables.end(), [&](const std::string& variable) {
    return all.find('\0' + variable + '\0') != std::string::npos;
  });
}

std::vector<pid_t> processes_with_environment(const std::vector<std::string>& variables) {
  std::vector<pid_t> found;
  for (const pid_t pid : all_processes())
    if (pid != ::getpid() && has_environment(pid, variables)) found.push_back(pid);
  return found;
}

void signal_if(pid_t pid, int number, const std::function<bool(pid_t)>& is_meant) {
  const Descriptor process(static_cast<int>(::syscall(SYS_pidfd_open, pid, 0)));
  if (process && is_meant(pid)) ::syscall(SYS_pidfd_send_signal, process.get(), number, nullptr, 0);
}

}  // namespace trainyard
