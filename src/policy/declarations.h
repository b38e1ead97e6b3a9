// What jobs declare of their whole work, or is believed of it since; with an error e every job's is
// multiplied by its own factor from [1 - e, 1 + e], drawn once when it is submitted.
#pragma once

#include <algorithm>
#include <cmath>
#include <vector>

#include "base/grow.h"
#include "base/random.h"
#include "policy/learnt.h"
#include "yard/yard.h"

namespace trainyard {

class Declarations {
 public:
  Declarations(const Yard& yard, double error, std::uint64_t seed)
      : yard_(yard), error_(error), start_(seed, kStream), random_(start_) {}

  /// Jobs are submitted in the order of their numbers.
  void on_submission(JobId job) {
    if (error_ == 0) return;
    grow_to(factors_, index(job), yard_.workload().jobs.size());
    factors_[index(job)] = std::max(random_.uniform(1 - error_, 1 + error_), 0.0);
  }

  void save_learnt(Learnt& learnt) const {
    if (error_ == 0) return;
    learnt[kName] = {static_cast<double>(random_.drawn_since(start_))};
    JobNotes notes(learnt, kName, 1);
    for (std::size_t j = 0; j < factors_.size(); ++j)
      if (const JobId job{static_cast<std::uint32_t>(j)}; !has_ended(yard_.state(job).phase))
        notes.add(job, {factors_[j]});
  }
  void recall_jobs(const Learnt& learnt) {
    if (error_ == 0) return;
    each_note(learnt, kName, 1, factors_.size(), [&](JobId job, std::span<const double> factor) {
      factors_[index(job)] = std::min(factor[0], 1 + error_);
    });
    each_learnt(learnt, kName, [&](std::string_view rest, std::span<const double> drawn) {
      if (!rest.empty() || drawn.size() != 1) return;
      random_ = start_;
      random_.skip(static_cast<std::uint64_t>(std::min(drawn[0], 9e15)));
    });
  }

  [[nodiscard]] Duration of(JobId job) const {
    if (error_ == 0) return std::max(yard_.estimate(job), microseconds(1));
    const double us = static_cast<double>(yard_.estimate(job).us) * factors_[index(job)];
    return Duration{std::llround(std::clamp(us, 1.0, static_cast<double>(kLongestDuration.us)))};
  }

 private:
  static constexpr std::uint64_t kStream = 102;
  static constexpr const char* kName = "errors of declarations";

  const Yard& yard_;
  double error_;
  Random start_, random_;
  std::vector<double> factors_;  // by job
};

}  // namespace trainyard
