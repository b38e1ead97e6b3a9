// Claims on the GPUs of this machine, so that two daemons never give out the same one, wherever
// they keep their state. Two claims belong to a GPU:
//
//   daemon      of the daemon that gives it out
//   run/STATE   of a run on it. The daemon makes it and the run's supervisor inherits it, so that
//   it
//               outlives a daemon that is killed. STATE stands for the state directory: a new
//               daemon knows its own runs
//
// A daemon takes the first, and then looks for runs of others. None can come after that, as runs
// begin only under the first.
//
// Root's claims are locks that only root can take (gpu_locks.h). Users can neither hold them nor
// keep root from them, so root's daemon has every GPU that no other daemon of root's has. A user's
// daemon leaves out the GPUs that root has claimed, and gives up those that root claims later.
//
// Among users a claim is a Unix socket with an abstract name, "trainyard/GPU-.../daemon". The
// kernel lets one process have a name, tells others whose it is, and frees it with its last holder:
// there is no file for which users would have to trust each other. Root's daemon ignores these
// names. It says in its log which process of which user may still be on a GPU that it takes.
//
// Names are of a network namespace, and locks of a file system: a daemon in a container that has
// its own of both is not seen.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/error.h"
#include "live/engine/local/gpu_locks.h"
#include "live/engine/local/gpus.h"
#include "live/system/files.h"

namespace trainyard {

class GpuClaims {
 public:
  /// Takes as many of these as can be had, for the daemon of this state directory; as root where
  /// this process is root's.
  static Expected<GpuClaims> take(const std::vector<Gpu>& gpus, const std::string& state,
                                  const std::string& run = "/run");

  /// Those that are ours; the scheduler numbers them 0, 1, 2 ... in this order.
  [[nodiscard]] const std::vector<Gpu>& ours() const { return ours_; }
  /// A sentence for each of the others: "GPU 3 (...) is held by process 17 of user eve".
  [[nodiscard]] const std::vector<std::string>& left_out() const { return left_out_; }
  /// A sentence for each GPU of ours that a process of a user has claimed before.
  [[nodiscard]] const std::vector<std::string>& shared() const { return shared_; }

  /// For the supervisor of a run on these, by the scheduler's numbers. An error if root has claimed
  /// one of them since, or if our own last run there is not gone yet.
  [[nodiscard]] Expected<std::vector<Descriptor>> for_run(std::span<const std::int32_t> gpus) const;
  /// Gives up those that root has claimed since, and returns a sentence for each. Numbers of the
  /// others change. None for root's daemon.
  [[nodiscard]] std::vector<std::string> give_way_to_root();

 private:
  Expected<void> take_as_root(const std::vector<Gpu>& gpus);
  Expected<void> take_as_user(const std::vector<Gpu>& gpus);
  [[nodiscard]] Expected<Descriptor> claim_run_as_root(const Gpu& gpu) const;
  [[nodiscard]] Expected<Descriptor> claim_run_as_user(const Gpu& gpu) const;
  void add(const Gpu& gpu, Descriptor claim);

  std::vector<Gpu> ours_;
  std::vector<Descriptor> claims_;  // one for each of them
  std::vector<std::string> left_out_, shared_;
  std::string state_, run_;        // the state directory, in names; /run
  std::optional<GpuLocks> locks_;  // root's
};

}  // namespace trainyard
