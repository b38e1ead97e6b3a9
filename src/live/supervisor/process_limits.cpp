#include "live/supervisor/process_limits.h"

#include <algorithm>
#include <charconv>

#include "live/system/files.h"

namespace trainyard {
namespace {

constexpr std::int64_t kLeastReserve = 1024;

/// "max", or a file that is not there, is no limit.
std::int64_t limit_in(const std::string& path) {
  const std::string text = read_small_file(path).value_or("");
  std::int64_t limit = 0;
  const auto [at, wrong] = std::from_chars(text.data(), text.data() + text.size(), limit);
  return wrong == std::errc() ? limit : ProcessBounds::kNone;
}

}  // namespace

ProcessBounds read_process_bounds(const std::string& group) {
  ProcessBounds bounds{.pid_max = limit_in("/proc/sys/kernel/pid_max"),
                       .threads_max = limit_in("/proc/sys/kernel/threads-max")};
  // Above the hierarchy's root no directory has such a file.
  for (std::string at = group; at.size() > 1; at.erase(std::min(at.rfind('/'), at.size() - 1)))
    bounds.groups_above = std::min(bounds.groups_above, limit_in(at + "/pids.max"));
  return bounds;
}

std::int64_t processes_of_all_runs(const ProcessBounds& bounds) {
  const std::int64_t ceiling = std::min({bounds.pid_max, bounds.threads_max, bounds.groups_above});
  return ceiling - std::min(std::max(ceiling / 8, kLeastReserve), ceiling / 2);
}

std::int64_t processes_of_run(std::int64_t of_all_runs, std::int64_t gpus, std::int64_t capacity) {
  if (gpus >= capacity) return of_all_runs;
  return std::max<std::int64_t>(1, of_all_runs / capacity * gpus);
}

std::int64_t processes_of_user(std::int64_t of_all_runs) {
  return std::max<std::int64_t>(1, of_all_runs / 2);
}

}  // namespace trainyard
