// Why a job waits, in words: what it lacks, who is ahead of it, and what is known of when.
#include <algorithm>

#include "policy/staged_policy.h"

namespace trainyard {
namespace {

std::string plural(std::int64_t n, std::string_view what) {
  return fmt::format("{} {}{}", n, what, n == 1 ? "" : "s");
}

/// "2 workers of 4 GPUs", or "8 GPUs" where a worker is one GPU.
std::string demand(const Shape& shape) {
  if (shape.per_worker.gpus == 1) return plural(shape.workers, "GPU");
  if (shape.workers == 1) return plural(shape.per_worker.gpus, "GPU") + " on one machine";
  return fmt::format("{} of {}", plural(shape.workers, "worker"),
                     plural(shape.per_worker.gpus, "GPU"));
}

std::string kind_name(const Yard& yard, const Shape& shape) {
  return shape.kind == kAnyKind ? "" : " of kind " + yard.cluster().kinds[index(shape.kind)];
}

/// How many of its workers would find room on what is free, on so many machines at most.
std::int32_t workers_with_room(const Yard& yard, const Shape& shape, std::int32_t max_machines) {
  std::vector<std::int32_t> slots;
  const CountIndex& machines = yard.free().of(shape.kind).machines;
  const auto gpus = static_cast<std::size_t>(shape.per_worker.gpus);
  for (std::size_t m = machines.next(0, gpus); m != CountIndex::kNone;
       m = machines.next(m + 1, gpus))
    slots.push_back(workers_that_fit(
        shape.per_worker, yard.free().on(MachineId{static_cast<std::uint32_t>(m)}), shape.workers));
  const auto most = std::min<std::size_t>(slots.size(), static_cast<std::size_t>(max_machines));
  std::partial_sort(slots.begin(), slots.begin() + static_cast<std::ptrdiff_t>(most), slots.end(),
                    std::greater<>());
  std::int64_t sum = 0;
  for (std::size_t i = 0; i < most; ++i) sum += slots[i];
  return static_cast<std::int32_t>(std::min<std::int64_t>(sum, shape.workers));
}

std::string shortage(const Yard& yard, const Shape& shape, std::int32_t max_machines) {
  const FreeIndex::OfKind& of = yard.free().of(shape.kind);
  const std::string need = fmt::format("needs {}{}", demand(shape), kind_name(yard, shape));
  if (of.free_gpus < shape.gpus()) return fmt::format("{}; {} free", need, of.free_gpus);
  if (shape.workers == 1) {
    const std::size_t most = of.machines.largest_count();
    if (most != CountIndex::kNone && static_cast<std::int32_t>(most) < shape.per_worker.gpus) {
      const std::size_t where = of.machines.first_with(most);
      return fmt::format("{}; the most free is {} on {}", need, most,
                         yard.cluster().machines[where].name);
    }
  }
  const std::int32_t room = workers_with_room(yard, shape, max_machines);
  if (max_machines < shape.workers && room < shape.workers)
    return fmt::format("{} on at most {}; there is room for {} there", need,
                       plural(max_machines, "machine"), plural(room, "worker"));
  if (room < shape.workers)
    return fmt::format("{}, with {:g} CPUs and {} each; there is room for {}", need,
                       shape.per_worker.milli_cpus / 1000.0,
                       format_memory(shape.per_worker.memory_mib), plural(room, "worker"));
  return {};
}

}  // namespace

WaitReason StagedPolicy::explain(JobId job) const {
  const JobState& state = yard_.state(job);
  const std::string who = yard_.workload().job_name(job);
  if (state.phase == Phase::reserved) return explain_reserved(job);
  if (state.phase != Phase::queued)
    return {"", fmt::format("job {} does not wait: it is {}", who, name(state.phase)), 0, {}};

  const Shape& shape = yard_.shape(job);
  const Reach reach = stages_.place->reach(job);
  const JobId late = overdue();
  const JobId head = late != kNoJob ? late : queue_.front().job;
  const std::size_t place = queue_.place(job);
  // Who runs longer than estimated makes a reservation late: then it is now, as soon as they end.
  std::optional<Time> reserved = keeper(late != kNoJob).reserved_start(head);
  if (reserved) reserved = std::max(*reserved, yard_.now());
  std::string lacks = shortage(yard_, shape, reach.machines);
  if (regards().classes && yard_.job(job).job_class == JobClass::trial &&
      !context_.rights().acts_as_trial(job))
    lacks += std::string(lacks.empty() ? "" : "; ") +
             "waits like a batch job until its user's share of trial jobs is paid back";
  // It may have room, and decline it.
  if (const std::string close = stages_.place->holds_out_for(job);
      !close.empty() && yard_.free().of(shape.kind).free_gpus >= shape.gpus())
    return {"placement", close, place, {}};
  WaitReason reason{"resources", lacks, place, {}};
  if (const auto expected = forecast_of(job, head))
    reason.expected_start = expected->start, reason.relies_on = expected->relies_on;
  if (job == head) {
    if (reserved) reason.expected_start = reserved;
    if (lacks.empty()) reason.sentence = "is next, and waits for the decision";
    return reason;
  }
  const std::string head_lacks =
      shortage(yard_, yard_.shape(head), stages_.place->reach(head).machines);
  const std::string behind =
      fmt::format("behind job {}{}", yard_.workload().job_name(head),
                  head_lacks.empty() ? "" : fmt::format(" ({})", head_lacks));
  if (!lacks.empty()) {
    reason.sentence = fmt::format("{}; {}", lacks, behind);
  } else if (reserved) {
    reason.token = "reservation";
    reason.sentence = fmt::format("would delay job {}, which is to start in {} at the latest",
                                  yard_.workload().job_name(head), format(*reserved - yard_.now()));
  } else {
    reason.token = "priority";
    reason.sentence = behind;
  }
  return reason;
}

/// Of a job that is not too far back in the queue to tell.
std::optional<Forecast> StagedPolicy::forecast_of(JobId job, JobId head) const {
  constexpr std::size_t kDepth = 64;
  const std::size_t place = queue_.place(job);
  if (place > kDepth) return {};
  std::vector<Queue::Entry> entries;
  queue_.collect(
      place, [](LaneId) { return false; }, entries);
  std::vector<JobId> waiting{head};
  for (const Queue::Entry& entry : entries)
    if (job != head && entry.job != head) waiting.push_back(entry.job);
  return forecast(
      yard_, waiting, [this](JobId other) { return stages_.place->reach(other).machines; },
      stages_.backfill->can_starve());
}

WaitReason StagedPolicy::explain_reserved(JobId job) const {
  std::size_t leaving = 0;
  Time last = yard_.now();
  for (const Share& share : yard_.placement(job))
    for (const JobId other : yard_.jobs_on(share.machine))
      if (yard_.making_room_for(other) == yard_.lead_of(job)) {
        ++leaving;
        last = std::max(last, yard_.expected_end(other));
      }
  return {"room-being-made",
          fmt::format("its room on {} is being made: {} to save and leave",
                      plural(static_cast<std::int64_t>(yard_.placement(job).size()), "machine"),
                      plural(static_cast<std::int64_t>(leaving), "job") +
                          (leaving == 1 ? " has" : " have")),
          0, last};
}

}  // namespace trainyard
