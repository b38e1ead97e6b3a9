// What all importers share: a job's demand from the totals a trace gives, the jobs that cannot be
// taken over, and the order and origin of time of the finished workload.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/error.h"
#include "model/workload.h"

namespace trainyard {

struct Import {
  Workload workload;
  std::vector<std::string> notes;    // "17 jobs left out: never started"
  std::vector<Duration> waits = {};  // each job's, from submission to start; empty: not told
};

// Why a job of a trace is not in the workload.
constexpr std::string_view kNeverStarted = "never started";
constexpr std::string_view kStillRunning = "still running when the trace was taken";
constexpr std::string_view kRanNoTime = "ran for 0 seconds";
constexpr std::string_view kAskedNoGpu = "asked for no GPU";

/// A worker for each GPU, with its share of the job's CPUs and memory, rounded up.
void set_gang(Job& job, std::int64_t gpus, std::int64_t milli_cpus = 0,
              std::int64_t memory_mib = 0);

/// Refuses a gang whose GPUs, CPUs or memory, all workers together, do not fit our 32-bit counts.
Expected<void> check_demand(const Job& job);

/// Names have 16-bit numbers, of which the last means "none".
Expected<ModelId> add_model(Workload& workload, std::string_view name);
Expected<KindId> add_kind(Workload& workload, std::string_view name);

/// Puts the jobs into the order of submission; those of one instant stay as they were.
void sort_by_submission(Workload& workload);

class ImportBuilder {
 public:
  explicit ImportBuilder(std::string_view origin) { workload.source = origin; }

  /// Takes the job over, or leaves it out and counts it when it asked for no GPU or ran no time.
  /// Its submit time may count from anywhere. Sets its estimate to the duration where it has none,
  /// and makes it rigid. `wait`: how long it waited, where the trace tells of every job.
  Expected<void> add(Job job, std::string_view name, std::optional<Duration> wait = {});
  void leave_out(std::string_view reason);
  void note(std::string text) { notes_.push_back(std::move(text)); }

  /// Sorted, with the first job at time 0.
  Import finish() &&;

  Workload workload;  // for its users, models and kinds

 private:
  /// In the order of the workload's jobs, once they are sorted.
  [[nodiscard]] std::vector<Duration> sorted_waits() const;

  std::vector<std::pair<std::string_view, std::size_t>> left_out_;
  std::vector<Duration> waits_;
  std::vector<std::string> notes_;
};

/// The most jobs a workload can number.
constexpr std::size_t kMostJobs = 0xffff'fffe;

}  // namespace trainyard
