// GPU time of jobs that change their size: what they lost and were slowed by counts for as many
// GPUs as they held then. (A job of one size needs no such books: its times are multiplied at the
// end.)
#pragma once

#include <unordered_map>

#include "yard/yard.h"

namespace trainyard {

class ElasticTime final : public YardListener {
 public:
  struct Sums {
    double lost = 0, slowed = 0;  // in GPU-microseconds
  };

  explicit ElasticTime(const Yard& yard) : yard_(yard) {}

  void on_phase(JobId job, Phase from, Phase to) override {
    if (!holds_gpus(from) || holds_gpus(to) || !yard_.job(job).is_elastic()) return;
    add(job, workers(yard_.placement(job)), ended_);
    seen_[job] = {yard_.state(job).lost, yard_.state(job).slowed};
  }

  /// Of all elastic jobs, up to now.
  [[nodiscard]] Sums sums() const {
    Sums all = ended_;
    for (std::size_t j = 0; j < yard_.jobs(); ++j) {
      const JobId job{static_cast<std::uint32_t>(j)};
      if (yard_.job(job).is_elastic() && holds_gpus(yard_.state(job).phase))
        add(job, yard_.workers(job), all);
    }
    return all;
  }

 private:
  struct Seen {
    Duration lost, slowed;
  };

  /// What has come since the job last left its GPUs.
  void add(JobId job, std::int32_t count, Sums& sums) const {
    const auto found = seen_.find(job);
    const Seen before = found == seen_.end() ? Seen{} : found->second;
    const double gpus = count * yard_.job(job).per_worker.gpus;
    sums.lost += static_cast<double>((yard_.state(job).lost - before.lost).us) * gpus;
    sums.slowed += static_cast<double>((yard_.state(job).slowed - before.slowed).us) * gpus;
  }

  const Yard& yard_;
  std::unordered_map<JobId, Seen> seen_;  // of runs that are over
  Sums ended_;
};

}  // namespace trainyard
