// Claims on the GPUs of this machine, so that two daemons never give out the same one, whoever runs
// them and wherever they keep their state.
//
// A claim is a Unix socket with an abstract name. The kernel lets one process have a name, tells
// others whose it is, and frees it when nobody holds the socket any more: there is no file that
// could be planted, removed or left behind. Two names belong to a GPU:
//
//   trainyard/GPU-.../daemon        of the daemon that gives it out
//   trainyard/GPU-.../run/STATE     of a run on it; the daemon makes it, and the run's supervisor
//                                   inherits it, so that it outlives a daemon that is killed. STATE
//                                   stands for the state directory: a new daemon knows its own runs
//
// A daemon takes the first, and then looks for runs of others. None can come after that, as runs
// begin only under the first. A GPU that somebody else holds is left out, by name; also root's
// daemon takes none away.
//
// Names are of a network namespace: a daemon in a container that has its own is not seen.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "base/error.h"
#include "live/engine/local/gpus.h"
#include "live/system/files.h"

namespace trainyard {

class GpuClaims {
 public:
  /// As many of these as can be had, for the daemon of this state directory.
  static GpuClaims take(const std::vector<Gpu>& gpus, const std::string& state);

  /// Those that are ours; the scheduler numbers them 0, 1, 2 ... in this order.
  [[nodiscard]] const std::vector<Gpu>& ours() const { return ours_; }
  /// A sentence for each of the others: "GPU 3 (...) is held by process 17 of user eve".
  [[nodiscard]] const std::vector<std::string>& left_out() const { return left_out_; }
  /// What tells the same set of GPUs from another, after a restart.
  [[nodiscard]] std::string names() const;

  /// For the supervisor of a run on these, by the scheduler's numbers.
  [[nodiscard]] Expected<std::vector<Descriptor>> for_run(std::span<const std::int32_t> gpus) const;

 private:
  std::vector<Gpu> ours_;
  std::vector<Descriptor> claims_;  // one for each of them
  std::vector<std::string> left_out_;
  std::string state_;  // in names
};

}  // namespace trainyard
