#include "live/supervisor/cgroup.h"

#include <fmt/format.h>
#include <sys/stat.h>
#include <sys/xattr.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <charconv>
#include <csignal>
#include <cstring>
#include <sstream>

#include "live/system/files.h"
#include "live/system/process_tree.h"

namespace trainyard {
namespace {

constexpr std::int64_t kPeriodUs = 100'000;
constexpr const char* kUnitOfRuns = "trainyard-runs.service";

bool has_word(std::string_view text, std::string_view word, std::string_view separators) {
  while (!text.empty()) {
    const std::size_t end = std::min(text.find_first_of(separators), text.size());
    if (text.substr(0, end) == word) return true;
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return false;
}

/// The kernel writes a blank in a path as \040, and so on.
std::string unescaped(std::string_view text) {
  std::string plain;
  for (std::size_t i = 0; i < text.size(); ++i) {
    int code = 0;
    if (text[i] == '\\' && i + 3 < text.size() &&
        std::from_chars(&text[i + 1], &text[i + 4], code, 8).ptr == &text[i + 4]) {
      plain += static_cast<char>(code);
      i += 3;
    } else {
      plain += text[i];
    }
  }
  return plain;
}

std::string read_or_empty(const std::string& path) {
  return read_small_file(path).value_or("");
}

/// systemd marks the groups whose inside it leaves alone.
bool is_delegated(const std::string& group) {
  char value = 0;
  return std::ranges::any_of(
      std::array{"trusted.delegate", "user.delegate"}, [&](const char* name) {
        return ::getxattr(group.c_str(), name, &value, 1) == 1 && value == '1';
      });
}

/// Each folder on the way to `name` below `root`; false if one cannot be made.
bool make_folders(const std::string& root, const std::string& name, std::string_view controllers) {
  std::size_t end = 0;
  while (end != std::string::npos) {
    // v2 hands controllers down one level at a time.
    const std::string above = end == 0 ? root : root + "/" + name.substr(0, end);
    if (!controllers.empty() && !hand_down(above, controllers)) return false;
    end = name.find('/', end + 1);
    const std::string folder = root + "/" + name.substr(0, end);
    if (::mkdir(folder.c_str(), 0755) != 0 && errno != EEXIST) return false;
  }
  return true;
}

std::string controllers_of(const CgroupPlaces& places) {
  std::string text;
  if (places.unified_cpu) text += " +cpu";
  if (places.unified_memory) text += " +memory";
  if (places.unified_pids) text += " +pids";
  return text;
}

/// Whether a group made below `root` is as it should be.
template <class IsUsable>
bool can_be_used(const std::string& root, const std::string& parent, std::string_view controllers,
                 IsUsable is_usable) {
  const std::string name = fmt::format("{}/probe.{}", parent, ::getpid());
  if (root.empty() || !make_folders(root, name, controllers)) return false;
  const std::string group = root + "/" + name;
  const bool usable = is_usable(group);
  ::rmdir(group.c_str());
  return usable;
}

/// For the above: whether it has this file and lets it be written to.
auto has_file(const char* file) {
  return [file](const std::string& group) {
    return ::access((group + "/" + file).c_str(), W_OK) == 0;
  };
}

}  // namespace

CgroupPlaces mounted_cgroups(std::string_view mountinfo) {
  CgroupPlaces places;
  std::istringstream lines{std::string(mountinfo)};
  // 36 35 98:0 /root /mount/point rw,noatime master:1 - type source options
  for (std::string line; std::getline(lines, line);) {
    const std::size_t dash = line.find(" - ");
    if (dash == std::string::npos) continue;
    std::istringstream front(line.substr(0, dash)), back(line.substr(dash + 3));
    std::string id, parent, device, root, point, type, source, options;
    front >> id >> parent >> device >> root >> point;
    back >> type >> source >> options;
    point = unescaped(point);
    if (type == "cgroup2") places.unified = point;
    if (type == "cgroup" && has_word(options, "cpu", ",")) places.cpu = point;
    if (type == "cgroup" && has_word(options, "memory", ",")) places.memory = point;
    if (type == "cgroup" && has_word(options, "pids", ",")) places.pids = point;
    if (type == "cgroup" && has_word(options, "devices", ",")) places.devices = point;
  }
  if (places.unified.empty()) return places;
  const std::string controllers = read_or_empty(places.unified + "/cgroup.controllers");
  places.unified_cpu = has_word(controllers, "cpu", " \n");
  places.unified_memory = has_word(controllers, "memory", " \n");
  places.unified_pids = has_word(controllers, "pids", " \n");
  return places;
}

std::string group_for_runs(const std::string& top, std::string_view own_groups) {
  std::istringstream lines{std::string(own_groups)};
  for (std::string line; std::getline(lines, line);) {
    if (!line.starts_with("0::/")) continue;
    const std::string own = top + (line == "0::/" ? "" : line.substr(3));
    const std::string beside = own.substr(0, own.rfind('/') + 1) + kUnitOfRuns;
    if (own != top && is_delegated(beside)) return beside;
    if (is_delegated(own)) return own;
  }
  return top;
}

bool hand_down(const std::string& group, std::string_view controllers) {
  const std::string control = group + "/cgroup.subtree_control", leaf = group + "/processes";
  if (write_to(control, controllers)) return true;
  if (errno != EBUSY) return false;
  if (::mkdir(leaf.c_str(), 0755) != 0 && errno != EEXIST) return false;
  // Those that are born meanwhile are moved in the next round.
  for (int round = 0; round < 10; ++round) {
    std::istringstream members(read_or_empty(group + "/cgroup.procs"));
    for (std::string pid; members >> pid;) write_to(leaf + "/cgroup.procs", pid);
    if (write_to(control, controllers)) return true;
  }
  return false;
}

bool limit_all_processes(const CgroupPlaces& places, const std::string& top, std::int64_t most) {
  const std::string group = places.of_processes() + "/" + top;
  return places.limits_processes() && write_to(group + "/pids.max", std::to_string(most));
}

CgroupPlaces usable_cgroups(const std::string& parent) {
  CgroupPlaces places = mounted_cgroups(read_or_empty("/proc/self/mountinfo"));
  if (!places.unified.empty())
    places.unified = group_for_runs(places.unified, read_or_empty("/proc/self/cgroup"));
  if (!can_be_used(places.unified, parent, "", has_file("cgroup.procs"))) places.unified.clear();
  // Handing controllers down fails where the top of what we see is not the top of the machine.
  const char* limit = places.unified_cpu      ? "cpu.max"
                      : places.unified_memory ? "memory.max"
                                              : "pids.max";
  if (!can_be_used(places.unified, parent, controllers_of(places), has_file(limit)))
    places.unified_cpu = places.unified_memory = places.unified_pids = false;
  places.unified_devices = can_be_used(places.unified, parent, "", [](const std::string& group) {
    return deny_devices_in(group, {}).has_value();
  });
  const auto keep_if = [&](std::string& place, bool is_needed, const char* file) {
    if (!is_needed || !can_be_used(place, parent, "", has_file(file))) place.clear();
  };
  keep_if(places.cpu, !places.unified_cpu, "cpu.cfs_quota_us");
  keep_if(places.memory, !places.unified_memory, "memory.limit_in_bytes");
  keep_if(places.pids, !places.unified_pids, "pids.max");
  keep_if(places.devices, !places.unified_devices, "devices.deny");
  return places;
}

RunCgroup::RunCgroup(CgroupPlaces places, std::string name)
    : places_(std::move(places)), name_(std::move(name)) {
  for (const std::string* root :
       {&places_.unified, &places_.cpu, &places_.memory, &places_.pids, &places_.devices})
    if (!root->empty()) directories_.push_back(group(*root));
}

Expected<void> RunCgroup::make(const RunLimits& limits) {
  directories_.clear();
  for (std::string* root :
       {&places_.unified, &places_.cpu, &places_.memory, &places_.pids, &places_.devices}) {
    if (root->empty()) continue;
    const bool is_unified = root == &places_.unified;
    if (make_folders(*root, name_, is_unified ? controllers_of(places_) : ""))
      directories_.push_back(group(*root));
    else
      root->clear();
  }
  if (places_.unified.empty())
    places_.unified_cpu = places_.unified_memory = places_.unified_pids = places_.unified_devices =
        false;
  limit_cpu(limits.resources.milli_cpus);
  limit_memory(limits.resources.memory_mib);
  if (limits.processes > 0 && !limit_processes(limits.processes))
    return fail("control group {}: the limit of {} processes cannot be set: {}", name_,
                limits.processes, std::strerror(errno));
  return deny_devices(limits.denied);
}

void RunCgroup::limit_cpu(std::int32_t milli_cpus) const {
  if (milli_cpus <= 0) return;
  const std::int64_t quota = milli_cpus * kPeriodUs / 1000;
  if (places_.unified_cpu)
    write_to(group(places_.unified) + "/cpu.max", fmt::format("{} {}", quota, kPeriodUs));
  if (places_.cpu.empty()) return;
  write_to(group(places_.cpu) + "/cpu.cfs_period_us", std::to_string(kPeriodUs));
  write_to(group(places_.cpu) + "/cpu.cfs_quota_us", std::to_string(quota));
}

void RunCgroup::limit_memory(std::int32_t mib) const {
  if (mib <= 0) return;
  const std::string bytes = std::to_string(std::int64_t{mib} << 20);
  if (places_.unified_memory) write_to(group(places_.unified) + "/memory.max", bytes);
  if (!places_.memory.empty()) write_to(group(places_.memory) + "/memory.limit_in_bytes", bytes);
}

bool RunCgroup::limit_processes(std::int64_t most) const {
  return places_.limits_processes() &&
         write_to(group(places_.of_processes()) + "/pids.max", std::to_string(most));
}

Expected<void> RunCgroup::deny_devices(const std::vector<DeviceRange>& devices) const {
  if (devices.empty()) return {};
  if (places_.unified_devices) return deny_devices_in(group(places_.unified), devices);
  if (!places_.devices.empty()) return deny_devices_in_v1(group(places_.devices), devices);
  return fail("control group {}: it cannot keep the run from other GPUs' devices", name_);
}

bool RunCgroup::exists() const {
  return std::ranges::any_of(directories_, [](const std::string& directory) {
    return ::access(directory.c_str(), F_OK) == 0;
  });
}

std::vector<pid_t> RunCgroup::members() const {
  std::vector<pid_t> pids;
  for (const std::string& directory : directories_) {
    std::istringstream text(read_or_empty(directory + "/cgroup.procs"));
    for (pid_t pid = 0; text >> pid;) pids.push_back(pid);
  }
  std::sort(pids.begin(), pids.end());
  pids.erase(std::unique(pids.begin(), pids.end()), pids.end());
  return pids;
}

void RunCgroup::kill() const {
  if (!places_.unified.empty() && write_to(group(places_.unified) + "/cgroup.kill", "1")) return;
  if (places_.limits_processes()) std::ignore = limit_processes(0);
  // A number that was just given to another process must not be struck: asked again when held.
  const auto is_member = [this](pid_t pid) {
    const std::vector<pid_t> pids = members();
    return std::binary_search(pids.begin(), pids.end(), pid);
  };
  for (const pid_t pid : members()) signal_if(pid, SIGKILL, is_member);
}

bool RunCgroup::ran_out_of_memory() const {
  std::string text;
  if (places_.unified_memory)
    text = read_or_empty(group(places_.unified) + "/memory.events");
  else if (!places_.memory.empty())
    text = read_or_empty(group(places_.memory) + "/memory.oom_control");
  std::istringstream words(text);
  std::string word;
  for (std::int64_t count = 0; words >> word >> count;)
    if (word == "oom_kill") return count > 0;
  return false;
}

void RunCgroup::remove() const {
  for (const std::string& directory : directories_) ::rmdir(directory.c_str());
}

}  // namespace trainyard
