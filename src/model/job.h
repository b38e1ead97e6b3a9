// A training job as its user submitted it; nothing here changes while it runs.
//
// A job is a gang of equal workers that start together or not at all. It has `duration` of work:
// how long it runs on `workers` of them, on GPUs of the kind `measured_on`, when nothing pauses it.
// Policies never see the duration, only the `estimate` (what the user, or a predictor, says it will
// take); the engine never sees the estimate. A trace that knows only the truth sets both to it.
//
// Kept small (a million of them are common): ids instead of strings, whose texts the Workload has.
#pragma once

#include <cstdint>
#include <string_view>

#include "base/ids.h"
#include "base/resources.h"
#include "base/time.h"

namespace trainyard {

/// trial: small, a person waits for it. batch: runs when there is room.
enum class JobClass : std::uint8_t { trial, batch };

constexpr std::string_view name(JobClass c) {
  return c == JobClass::trial ? "trial" : "batch";
}

struct Job {
  Time submit;
  Duration duration;  // of work, > 0; without pauses, loading and checkpoints
  Duration estimate;  // of the duration, > 0

  // What a pause costs. The job holds its GPUs through all three and makes no progress.
  Duration grace;               // between being told to leave and beginning to save
  Duration save;                // writing the checkpoint before it leaves
  Duration declared_pause{-1};  // what its user says that grace and save take; < 0: the truth
  Duration load;                // from being placed to running

  // Checkpoints on its own account, so that a failed machine costs at most the work since the last.
  Duration checkpoint_interval;  // of work between two; 0: none
  Duration checkpoint_cost;      // time without progress for each

  std::uint64_t iterations = 0;  // 0: not known

  Resources per_worker{.gpus = 1};
  std::int32_t workers = 1;      // the size that its duration holds for, and that policies which
                                 // know nothing of sizes start it with
  std::int32_t min_workers = 1;  // the sizes that it can have, with `workers` between them;
  std::int32_t max_workers = 1;  // both equal to it for a rigid job

  UserId user{0};
  TermsId terms = kNoTerms;  // what it asks of its machines besides (machine_terms.h)
  ModelId model = kNoModel;
  // Kinds of GPU are numbered by the workload's names.
  KindId kind = kAnyKind;         // the only one that it takes
  KindId measured_on = kAnyKind;  // the one that its duration holds for; kAnyKind: it holds for all
  JobClass job_class = JobClass::batch;
  bool first_start_loads = true;  // false: the duration was recorded with that load in it

  /// What a policy may know of the time it takes to leave.
  [[nodiscard]] constexpr Duration expected_pause() const {
    return declared_pause.us < 0 ? grace + save : declared_pause;
  }
  /// Of `workers`.
  [[nodiscard]] constexpr std::int32_t gpus() const { return workers * per_worker.gpus; }
  [[nodiscard]] constexpr bool is_elastic() const { return min_workers < max_workers; }
};

/// What a job counts as it goes: its iterations; hundredths of its work where their number is not
/// known.
constexpr double steps_of(const Job& job) {
  return job.iterations > 0 ? static_cast<double>(job.iterations) : 100;
}

static_assert(sizeof(Job) <= 120, "a million jobs should stay within 256 MB with their state");

}  // namespace trainyard
