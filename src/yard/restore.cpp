// The yard over the end of a process: what is saved of a job, and how a new yard takes it up.
#include <algorithm>
#include <numeric>

#include "base/grow.h"
#include "yard/share_order.h"
#include "yard/yard.h"

namespace trainyard {
namespace {

bool has_place(Phase phase) {
  return phase == Phase::reserved || holds_gpus(phase);
}

bool moves(const SavedJob& saved) {
  return saved.state.phase == Phase::draining && !saved.next.placement.empty();
}

/// What a worker of a room's i-th share has.
const Resources& each_of(const SavedRoom& room, const Shape& shape, std::size_t i) {
  return room.each.empty() ? shape.demand(room.placement[i].machine) : room.each[i];
}

/// What each worker has of a machine fits into it. Of a room that is being made it is what the
/// machine's share is now; a job that is there keeps what it was given.
Verdict check_amounts(const SavedRoom& room, bool is_made, const Shape& shape,
                      const Cluster& cluster) {
  if (!room.each.empty() && (shape.fit == nullptr || room.each.size() != room.placement.size()))
    return Verdict::wrong_gang;
  for (std::size_t i = 0; i < room.placement.size(); ++i) {
    const auto& [machine, workers] = room.placement[i];
    const Resources& each = each_of(room, shape, i);
    if (each == kForbidden || (is_made && each != shape.demand(machine))) return Verdict::forbidden;
    if (each.gpus < 0 || each.milli_cpus < 0 || each.memory_mib < 0) return Verdict::wrong_value;
    if (workers_that_fit(each, cluster.machine(machine).capacity, workers) < workers)
      return Verdict::no_room;
    constexpr Resources kNothing;
    if (is_made && !(kNothing.fits_in(room.missing[i]) && room.missing[i].fits_in(each * workers)))
      return Verdict::wrong_value;
  }
  return Verdict::ok;
}

/// The gang as the plan placed it, on machines and GPUs that exist.
Verdict check_saved_room(const SavedRoom& room, bool is_made, const Job& job, const Shape& shape,
                         const Cluster& cluster) {
  if (room.gpus.size() != room.placement.size()) return Verdict::wrong_gang;
  if (is_made && room.missing.size() != room.placement.size()) return Verdict::wrong_gang;
  std::int64_t count = 0;
  for (const Share& share : room.placement) {
    if (index(share.machine) >= cluster.machines.size()) return Verdict::no_such_subject;
    if (share.workers <= 0) return Verdict::wrong_gang;
    count += share.workers;
    if (shape.kind != kAnyKind && cluster.machine(share.machine).kind != shape.kind)
      return Verdict::wrong_kind;
  }
  const bool is_whole = job.is_elastic() ? count >= job.min_workers && count <= job.max_workers
                                         : count == shape.workers;
  return is_whole ? check_amounts(room, is_made, shape, cluster) : Verdict::wrong_gang;
}

/// What is held of a room's i-th share.
Resources held_of(const SavedRoom& room, bool is_made, const Shape& shape, std::size_t i) {
  const Resources need = each_of(room, shape, i) * room.placement[i].workers;
  return is_made ? need - room.missing[i] : need;
}

/// Clears the bits of these GPUs in the machine's words. False for one that is not free.
bool take_bits(std::span<std::uint64_t> words, const std::vector<std::int32_t>& gpus) {
  for (const std::int32_t gpu : gpus) {
    if (gpu < 0) return false;
    const std::size_t word = static_cast<std::size_t>(gpu) / 64;
    const std::uint64_t bit = 1ULL << (gpu % 64);
    if (word >= words.size() || (words[word] & bit) == 0) return false;
    words[word] &= ~bit;
  }
  return true;
}

}  // namespace

SavedJob Yard::save(JobId job) const {
  SavedJob saved;
  saved.state = state(job);
  if (has_place(saved.state.phase)) {
    const Run& run = runs_[saved.state.run];
    saved.room = save(run);
    saved.room_for = making_room_for(job);
    saved.lead = lead_of(job);
    if (run.next != kNoRun) saved.next = save(runs_[run.next]);
    saved.progress = booked(job);
    saved.brought = run.brought;
  }
  saved.estimate = revised(job);
  turns_.each(job, [&](JobId other, std::uint32_t times) {
    saved.yielded_to.insert(saved.yielded_to.end(), times, other);
  });
  return saved;
}

SavedRoom Yard::save(const Run& run) const {
  SavedRoom room{run.shares, {}, run.missing, run.flow, run.each};
  for (std::size_t i = 0; i < run.shares.size(); ++i) room.gpus.push_back(gpus_of(run, i));
  return room;
}

Verdict Yard::check_saved(std::span<const SavedJob> jobs) const {
  if (!states_.empty() || jobs.size() > workload_.jobs.size()) return Verdict::wrong_phase;
  std::vector<Resources> free;
  std::vector<std::uint64_t> free_gpus = free_gpus_;
  for (const Machine& machine : cluster_.machines) free.push_back(machine.capacity);
  Shapes shapes;
  for (std::size_t j = 0; j < jobs.size(); ++j) {
    const SavedJob& saved = jobs[j];
    if (saved.state.phase == Phase::absent) return Verdict::wrong_phase;
    if (const Verdict verdict = check_kind(JobId{static_cast<std::uint32_t>(j)});
        verdict != Verdict::ok)
      return verdict;
    if (!has_place(saved.state.phase)) continue;
    if (!(saved.progress.rate.time_per_work() > 0) || saved.progress.saved > saved.state.done)
      return Verdict::wrong_value;
    const auto has_room = [&](JobId job) {
      if (index(job) >= jobs.size()) return false;
      const SavedJob& other = jobs[index(job)];
      return other.lead == job && (other.state.phase == Phase::reserved || moves(other));
    };
    const bool is_reserved = saved.state.phase == Phase::reserved;
    const bool is_leaving = saved.state.phase == Phase::draining;
    if (is_leaving && saved.room_for != kNoJob && !has_room(saved.room_for))
      return Verdict::no_such_subject;
    if ((is_reserved || moves(saved)) && !has_room(saved.lead)) return Verdict::no_such_subject;
    const Shape& shape = shapes[shapes.of(workload_.jobs[j], workload_, cluster_)];
    const auto take_room = [&](const SavedRoom& room, bool is_made) {
      if (const Verdict verdict =
              check_saved_room(room, is_made, workload_.jobs[j], shape, cluster_);
          verdict != Verdict::ok)
        return verdict;
      for (std::size_t i = 0; i < room.placement.size(); ++i) {
        const std::size_t machine = index(room.placement[i].machine);
        const Resources amount = held_of(room, is_made, shape, i);
        const auto words = std::span(free_gpus).subspan(machine * gpu_words_, gpu_words_);
        if (!amount.fits_in(free[machine]) || std::ssize(room.gpus[i]) != amount.gpus ||
            !take_bits(words, room.gpus[i]))
          return Verdict::no_room;
        free[machine] -= amount;
      }
      return Verdict::ok;
    };
    if (const Verdict verdict = take_room(saved.room, is_reserved); verdict != Verdict::ok)
      return verdict;
    if (!moves(saved)) continue;
    if (const Verdict verdict = take_room(saved.next, true); verdict != Verdict::ok) return verdict;
  }
  return Verdict::ok;
}

/// One that the cluster has, if it names one.
Verdict Yard::check_kind(JobId job) const {
  const KindId kind = workload_.jobs[index(job)].kind;
  const bool is_known =
      kind == kAnyKind || index(cluster_kind(workload_, kind, cluster_)) < cluster_.kinds.size();
  return is_known ? Verdict::ok : Verdict::wrong_kind;
}

Verdict Yard::take_up(JobId job, const SavedJob& saved) {
  const Phase phase = saved.state.phase;
  if (index(job) >= workload_.jobs.size()) return Verdict::no_such_subject;
  if (index(job) != states_.size() || saved.room_for != kNoJob || moves(saved))
    return Verdict::wrong_phase;
  if (phase != Phase::queued && !holds_gpus(phase)) return Verdict::wrong_phase;
  if (const Verdict verdict = check_kind(job); verdict != Verdict::ok) return verdict;
  const ShapeId shape_id = shapes_.of(workload_.jobs[index(job)], workload_, cluster_);
  if (holds_gpus(phase)) {
    const Shape& shape = shapes_[shape_id];
    const SavedRoom& room = saved.room;
    if (!names_machines_once(room.placement)) return Verdict::wrong_gang;
    if (const Verdict verdict =
            check_saved_room(room, false, workload_.jobs[index(job)], shape, cluster_);
        verdict != Verdict::ok)
      return verdict;
    for (std::size_t i = 0; i < room.placement.size(); ++i) {
      const MachineId machine = room.placement[i].machine;
      const auto words = std::span(free_gpus_).subspan(index(machine) * gpu_words_, gpu_words_);
      std::vector<std::uint64_t> free(words.begin(), words.end());
      const Resources amount = held_of(room, false, shape, i);
      if (!amount.fits_in(free_.on(machine)) || std::ssize(room.gpus[i]) != amount.gpus ||
          !take_bits(free, room.gpus[i]))
        return Verdict::no_room;
    }
  }
  states_.emplace_back().shape = shape_id;
  if (saved.estimate != Estimate{}) {
    grow_to(revised_, index(job), workload_.jobs.size());
    revised_[index(job)] = saved.estimate;
  }
  for (const JobId other : saved.yielded_to) {
    turns_.note(job, other);
    turns_.expect(job, now_);
  }
  resume(job, saved);
  return Verdict::ok;
}

Verdict Yard::restore(std::span<const SavedJob> jobs) {
  if (const Verdict verdict = check_saved(jobs); verdict != Verdict::ok) return verdict;
  for (std::size_t j = 0; j < jobs.size(); ++j) {
    JobState& state = states_.emplace_back();
    state.shape = shapes_.of(workload_.jobs[j], workload_, cluster_);
    if (jobs[j].estimate != Estimate{}) {
      grow_to(revised_, j, workload_.jobs.size());
      revised_[j] = jobs[j].estimate;
    }
    for (const JobId other : jobs[j].yielded_to) {
      turns_.note(JobId{static_cast<std::uint32_t>(j)}, other);
      turns_.expect(JobId{static_cast<std::uint32_t>(j)}, now_);
    }
  }
  // In the order in which they came into their phases. Who has a room made for it came into that
  // before those who leave for it.
  std::vector<std::uint32_t> order(jobs.size());
  std::iota(order.begin(), order.end(), 0U);
  std::ranges::stable_sort(order, [&](std::uint32_t a, std::uint32_t b) {
    const JobState &first = jobs[a].state, &second = jobs[b].state;
    if (first.since != second.since) return first.since < second.since;
    return (first.phase == Phase::reserved) > (second.phase == Phase::reserved);
  });
  for (const std::uint32_t j : order) {
    now_ = std::max(now_, jobs[j].state.since);
    resume(JobId{j}, jobs[j]);
  }
  // Who leads whom, now that all rooms are there.
  for (std::size_t j = 0; j < jobs.size(); ++j) {
    const JobId job{static_cast<std::uint32_t>(j)};
    if (const JobId lead = lead_of(job); lead != kNoJob && lead != job)
      runs_[room_of(lead)].company.push_back(job);
    if (const JobId lead = making_room_for(job); lead != kNoJob) ++runs_[room_of(lead)].leaving;
  }
  return Verdict::ok;
}

/// Through the phases that lead to where the job was.
void Yard::resume(JobId job, const SavedJob& saved) {
  JobState& state = states_[index(job)];
  const JobState& was = saved.state;
  state.pauses = was.pauses, state.first_start = was.first_start;
  state.done = was.done, state.waited = was.waited, state.lost = was.lost;
  state.slowed = was.slowed, state.lost_by_pause = was.lost_by_pause;
  state.since = was.since;
  if (trainyard::has_ended(was.phase)) {
    state.phase = was.phase;
    return;
  }
  ++unfinished_;
  enter(job, Phase::queued);
  if (was.phase == Phase::queued) return;
  const bool is_reserved = was.phase == Phase::reserved;
  arrive(job, occupy(job, saved.room, is_reserved));
  Run& run = runs_[state.run];
  run.at = saved.progress.at;
  run.saved = saved.progress.saved, run.writing = saved.progress.writing;
  run.rate = saved.progress.rate;
  run.brought = saved.brought;
  if (is_reserved) {
    run.lead = saved.lead;
    return enter(job, Phase::reserved);
  }
  if (moves(saved)) {
    const std::uint32_t room = occupy(job, saved.next, true);
    runs_[room].lead = saved.lead;
    runs_[state.run].next = room;
    moving_.push_back(job);
  }
  if (was.phase == Phase::draining) runs_[state.run].room_for = saved.room_for;
  for (const Phase next : {Phase::starting, Phase::running, Phase::draining}) {
    enter(job, next);
    if (next == was.phase) return;
  }
}

/// As they were when the job got its room, whatever its machines would give it now.
void Yard::keep_amounts(Run& run, const std::vector<Resources>& each) {
  run.each = each;
  run.gpus = 0;
  for (std::size_t i = 0; i < each.size(); ++i) run.gpus += each[i].gpus * run.shares[i].workers;
}

std::uint32_t Yard::occupy(JobId job, const SavedRoom& saved, bool is_made) {
  const std::uint32_t id = new_run(job, saved.placement);
  Run& run = runs_[id];
  run.flow = saved.flow;
  if (!saved.each.empty()) keep_amounts(run, saved.each);
  if (is_made) {
    run.missing = saved.missing;
    run.by_machine = share_order(run.shares);
    run.lacking = static_cast<std::uint32_t>(
        std::ranges::count_if(run.missing, [](const Resources& r) { return r != Resources{}; }));
  }
  for (std::size_t i = 0; i < saved.placement.size(); ++i) {
    const MachineId machine = saved.placement[i].machine;
    take_bits(std::span(free_gpus_).subspan(index(machine) * gpu_words_, gpu_words_),
              saved.gpus[i]);
    for (const std::int32_t gpu : saved.gpus[i])
      run.gpu_masks[i * gpu_words_ + static_cast<std::size_t>(gpu) / 64] |= 1ULL << (gpu % 64);
    free_.take(machine, held_of(saved, is_made, shape(job), i));
  }
  return id;
}

}  // namespace trainyard
