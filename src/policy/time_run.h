// How long each job has run so far, in all of its runs: time on GPUs, whether it computed in it or
// communicated, without loading and saving.
#pragma once

#include <vector>

#include "base/grow.h"
#include "policy/learnt.h"
#include "yard/yard.h"

namespace trainyard {

class TimeRun {
 public:
  void on_phase(const Yard& yard, JobId job, Phase from, Phase to) {
    if (from != Phase::running && to != Phase::running) return;
    grow_to(runs_, index(job), yard.workload().jobs.size());
    Runs& runs = runs_[index(job)];
    const bool had_loaded = to != Phase::starting;
    if (from == Phase::running && had_loaded) runs.ran += yard.now() - runs.since;
    if (to == Phase::running) runs.since = yard.now();
  }

  void save_learnt(const Yard& yard, Learnt& learnt) const {
    JobNotes notes(learnt, kName, 1);
    for (std::size_t j = 0; j < runs_.size(); ++j)
      if (const JobId job{static_cast<std::uint32_t>(j)};
          runs_[j].ran.us > 0 && !has_ended(yard.state(job).phase))
        notes.add(job, {number_of(runs_[j].ran)});
  }
  void recall_jobs(const Yard& yard, const Learnt& learnt) {
    each_note(learnt, kName, 1, yard.jobs(), [&](JobId job, std::span<const double> ran) {
      grow_to(runs_, index(job), yard.workload().jobs.size());
      runs_[index(job)].ran = duration_of(ran[0]);
    });
  }

  [[nodiscard]] Duration of(const Yard& yard, JobId job) const {
    if (index(job) >= runs_.size()) return {};
    const Runs& runs = runs_[index(job)];
    return yard.state(job).phase == Phase::running ? runs.ran + (yard.now() - runs.since)
                                                   : runs.ran;
  }

 private:
  struct Runs {
    Duration ran;  // in runs that are over
    Time since;
  };
  static constexpr const char* kName = "time run";

  std::vector<Runs> runs_;  // by job
};

}  // namespace trainyard
