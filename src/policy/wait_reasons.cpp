#include "policy/wait_reasons.h"

#include <algorithm>

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

/// " of kind V100", " on machines with 'ib'", or of one machine " with 'ib'".
std::string whereabouts(const Yard& yard, const Shape& shape) {
  std::string text =
      shape.kind == kAnyKind ? "" : " of kind " + yard.cluster().kinds[index(shape.kind)];
  if (shape.terms == kNoTerms) return text;
  const Constraint& constraint = yard.workload().terms[shape.terms].constraint;
  if (constraint.empty()) return text;
  const bool names_machine = shape.workers == 1 && shape.per_worker.gpus != 1;
  return fmt::format("{} {} {}", text, names_machine ? "with" : "on machines with",
                     quoted(describe(constraint)));
}

/// The free GPUs of the machines where the job may run: all of them, and the most on one.
struct FreeGpus {
  std::int64_t all = 0;
  std::int32_t most = 0;
  MachineId where = kNoMachine;
};

FreeGpus free_for(const Yard& yard, const Shape& shape) {
  FreeGpus free;
  const CountIndex& machines = yard.free().of(shape.kind).machines;
  for (std::size_t m = machines.next(0, 1); m != CountIndex::kNone; m = machines.next(m + 1, 1)) {
    const MachineId machine{static_cast<std::uint32_t>(m)};
    if (shape.demand(machine) == kForbidden) continue;
    const std::int32_t here = yard.free().on(machine).gpus;
    free.all += here;
    if (here > free.most) free.most = here, free.where = machine;
  }
  return free;
}

/// How many of its workers would find room on what is free, on so many machines at most.
std::int32_t workers_with_room(const Yard& yard, const Shape& shape, std::int32_t max_machines) {
  std::vector<std::int32_t> slots;
  const CountIndex& machines = yard.free().of(shape.kind).machines;
  const auto gpus = static_cast<std::size_t>(shape.per_worker.gpus);
  for (std::size_t m = machines.next(0, gpus); m != CountIndex::kNone;
       m = machines.next(m + 1, gpus)) {
    const MachineId machine{static_cast<std::uint32_t>(m)};
    slots.push_back(shape.fitting(machine, yard.free().on(machine), shape.workers));
  }
  const auto most = std::min<std::size_t>(slots.size(), static_cast<std::size_t>(max_machines));
  std::partial_sort(slots.begin(), slots.begin() + static_cast<std::ptrdiff_t>(most), slots.end(),
                    std::greater<>());
  std::int64_t sum = 0;
  for (std::size_t i = 0; i < most; ++i) sum += slots[i];
  return static_cast<std::int32_t>(std::min<std::int64_t>(sum, shape.workers));
}

}  // namespace

std::string shortage(const Yard& yard, const Shape& shape, std::int32_t max_machines,
                     std::string_view verb) {
  const FreeGpus free = free_for(yard, shape);
  const std::string need = fmt::format("{} {}{}", verb, demand(shape), whereabouts(yard, shape));
  if (free.all < shape.gpus()) return fmt::format("{}; {} free", need, free.all);
  if (shape.workers == 1 && free.most < shape.per_worker.gpus)
    return fmt::format("{}; the most free is {} on {}", need, free.most,
                       yard.cluster().machine(free.where).name);
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

WaitReason does_not_wait(const Yard& yard, JobId job) {
  return {"",
          fmt::format("job {} does not wait: it is {}", yard.workload().job_name(job),
                      name(yard.state(job).phase)),
          0,
          {}};
}

WaitReason room_being_made(const Yard& yard, JobId job) {
  std::size_t leaving = 0;
  Time last = yard.now();
  for (const Share& share : yard.placement(job))
    for (const JobId other : yard.jobs_on(share.machine))
      if (yard.making_room_for(other) == yard.lead_of(job)) {
        ++leaving;
        last = std::max(last, yard.expected_end(other));
      }
  return {"room-being-made",
          fmt::format("its room on {} is being made: {} to save and leave",
                      plural(static_cast<std::int64_t>(yard.placement(job).size()), "machine"),
                      plural(static_cast<std::int64_t>(leaving), "job") +
                          (leaving == 1 ? " has" : " have")),
          0, last};
}

}  // namespace trainyard
