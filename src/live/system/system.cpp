#include "live/system/system.h"

#include <sys/statvfs.h>
#include <unistd.h>

#include <chrono>

#include "live/system/files.h"

namespace trainyard {
namespace {

template <class Clock>
Time now() {
  const auto since = Clock::now().time_since_epoch();
  return {std::chrono::duration_cast<std::chrono::microseconds>(since).count()};
}

}  // namespace

Time RealSystem::wall_clock() const {
  return now<std::chrono::system_clock>();
}

System::Disk RealSystem::disk(const std::string& path) const {
  struct statvfs facts {};
  if (::statvfs(path.c_str(), &facts) != 0) return {};
  const std::uint64_t block = facts.f_frsize;
  return {facts.f_blocks * block, (::geteuid() == 0 ? facts.f_bfree : facts.f_bavail) * block};
}

Time RealSystem::steady_clock() const {
  return now<std::chrono::steady_clock>();
}

std::string RealSystem::boot() const {
  const auto id = read_small_file("/proc/sys/kernel/random/boot_id");
  return id ? id->substr(0, id->find('\n')) : "";
}

}  // namespace trainyard
