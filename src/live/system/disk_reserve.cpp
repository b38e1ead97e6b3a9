#include "live/system/disk_reserve.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>

#include "live/system/files.h"

namespace trainyard {
namespace {

constexpr std::uint64_t kWhole = 64 << 20;
constexpr std::uint64_t kPartOfDisk = 8;        // at most, of a small one
constexpr std::uint64_t kFull = 1 << 20;        // less than this is free
constexpr std::uint64_t kLeastBit = 128 << 10;  // given at once: a transaction's worth,
constexpr std::uint64_t kBits = 32;             // ... or this part of the whole
constexpr std::uint64_t kStartBit = 128 << 10;  // given at once for a start
constexpr std::uint64_t kForStarts = 4;         // this part of the whole is the last, for starts

}  // namespace

DiskReserve::DiskReserve(System& system, std::string directory)
    : system_(system), directory_(std::move(directory)), path_(directory_ + "/reserve") {
  if (directory_.empty()) return;
  struct stat facts {};
  if (::stat(path_.c_str(), &facts) == 0) size_ = static_cast<std::uint64_t>(facts.st_size);
  wanted_ = std::min(kWhole, system_.disk(directory_).size / kPartOfDisk);
}

void DiskReserve::shrink_to(std::uint64_t size) {
  if (::truncate(path_.c_str(), static_cast<off_t>(size)) == 0) size_ = size;
}

void DiskReserve::give_for_start() {
  if (size_ > 0 && system_.disk(directory_).free < kFull)
    shrink_to(size_ - std::min(kStartBit, size_));
}

bool DiskReserve::give() {
  const std::uint64_t least = wanted_ / kForStarts;
  if (size_ <= least || system_.disk(directory_).free >= kFull) return false;
  shrink_to(size_ - std::min(std::max(kLeastBit, wanted_ / kBits), size_ - least));
  return true;
}

void DiskReserve::refill() {
  if (is_whole()) return;
  const std::uint64_t missing = wanted_ - size_;
  if (system_.disk(directory_).free < missing + std::max(wanted_, kFull)) return;
  const Descriptor file(::open(path_.c_str(), O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600));
  if (file && ::posix_fallocate(file.get(), 0, static_cast<off_t>(wanted_)) == 0) size_ = wanted_;
  // What a try that failed has taken is not ours to hold.
  if (file && !is_whole()) (void)!::ftruncate(file.get(), static_cast<off_t>(size_));
}

}  // namespace trainyard
