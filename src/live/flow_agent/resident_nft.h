// An nft that stays: it owns the table that marks packets, which is gone with it, and takes changes
// in a millisecond where a new process takes tens. (libnftables would do the same without a child,
// but its licence is not ours.)
//
// If we are killed its input ends, it ends, and the kernel removes the table.
#pragma once

#include <sys/types.h>

#include <chrono>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"
#include "live/system/files.h"

namespace trainyard {

class ResidentNft {
 public:
  ResidentNft() = default;
  ~ResidentNft() { end(); }
  ResidentNft(const ResidentNft&) = delete;
  ResidentNft& operator=(const ResidentNft&) = delete;

  Expected<void> start();
  /// Carries out one line: a transaction. Returns what it lists, as JSON; an error says what nft
  /// said. One that does not answer is ended.
  Expected<std::string> run(std::string_view line);
  /// Its table goes with it.
  void end();
  [[nodiscard]] bool is_alive();

 private:
  Expected<std::string> answer(std::chrono::steady_clock::time_point until);

  pid_t child_ = -1;
  Descriptor input_, output_;
  std::string unread_;
};

/// Runs a program to its end; its output, and an error if it does not end with 0. `input` is what
/// it reads.
Expected<std::string> run_program(const std::vector<std::string>& command, std::string_view input);

}  // namespace trainyard
