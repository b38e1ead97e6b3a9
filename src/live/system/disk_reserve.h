// Space on the state directory's disk that is kept aside (the file STATE/reserve), so that a disk
// which others have filled stops neither a start of the daemon nor what ends jobs. It is given back
// to the file system bit by bit, each just before the write that needs it: others fill the disk
// meanwhile. When there is room again it is taken again.
#pragma once

#include <cstdint>
#include <string>

#include "live/system/system.h"

namespace trainyard {

class DiskReserve {
 public:
  /// `directory` empty: there is none, and nothing to give.
  DiskReserve(System& system, std::string directory);

  /// Before anything else is done in the directory: has room for a start, if there is none.
  void give_for_start();
  /// A bit more room. False: the disk is not full, or all but what starts need has been given.
  bool give();
  /// Takes it again if the disk has room for it, and as much beside.
  void refill();
  /// Nothing of it has been given; also where it could never be taken.
  [[nodiscard]] bool is_whole() const { return size_ >= wanted_; }

 private:
  void shrink_to(std::uint64_t size);

  System& system_;
  std::string directory_, path_;
  std::uint64_t size_ = 0, wanted_ = 0;
};

}  // namespace trainyard
