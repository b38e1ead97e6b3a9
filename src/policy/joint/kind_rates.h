// How fast jobs of a fixed size run on each kind of GPU, and which jobs no kind has room for: for
// policies that give a job GPUs of one kind at a time where they can.
#pragma once

#include <vector>

#include "yard/yard.h"

namespace trainyard {

class KindRates {
 public:
  explicit KindRates(const Yard& yard) : yard_(yard) {}

  /// Of job.workers workers, as close together as can be, by kind; 1 is what its duration says. 0
  /// where it may not or cannot run, or where the machines of that kind never have room for it.
  [[nodiscard]] std::vector<double> of(JobId job);
  /// Whether only machines of several kinds together have room for it.
  [[nodiscard]] bool needs_several_kinds(JobId job) { return !fits(job).any; }

 private:
  struct Fits {
    std::vector<bool> on;  // by kind, when all is up and empty
    bool any = false;
  };
  const Fits& fits(JobId job);

  const Yard& yard_;
  std::vector<Fits> fits_;  // by shape
};

}  // namespace trainyard
