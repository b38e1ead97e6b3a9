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

/// The gang as the plan placed it, on machines and GPUs that exist.
Verdict check_place(const SavedJob& saved, const Shape& shape, const Cluster& cluster) {
  const bool is_reserved = saved.state.phase == Phase::reserved;
  if (saved.gpus.size() != saved.placement.size()) return Verdict::wrong_gang;
  if (is_reserved && saved.missing.size() != saved.placement.size()) return Verdict::wrong_gang;
  std::int64_t left = shape.workers;
  for (const Share& share : saved.placement) {
    if (index(share.machine) >= cluster.machines.size()) return Verdict::no_such_subject;
    if (share.workers <= 0 || (left -= share.workers) < 0) return Verdict::wrong_gang;
    if (shape.kind != kAnyKind && cluster.machine(share.machine).kind != shape.kind)
      return Verdict::wrong_kind;
  }
  return left == 0 ? Verdict::ok : Verdict::wrong_gang;
}

/// What a saved job holds of its i-th share.
Resources held(const SavedJob& saved, const Shape& shape, std::size_t i) {
  const Resources need = shape.per_worker * saved.placement[i].workers;
  return saved.state.phase == Phase::reserved ? need - saved.missing[i] : need;
}

/// Clears the bits of these GPUs in the machine's words. False for one that is not free.
bool take_bits(std::span<std::uint64_t> words, const std::vector<std::int32_t>& gpus) {
  for (const std::int32_t gpu : gpus) {
    const std::size_t word = static_cast<std::size_t>(gpu) / 64;
    const std::uint64_t bit = 1ULL << (gpu % 64);
    if (gpu < 0 || word >= words.size() || (words[word] & bit) == 0) return false;
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
    saved.placement = run.shares;
    for (std::size_t i = 0; i < run.shares.size(); ++i) saved.gpus.push_back(gpus(job, i));
    saved.missing = run.missing;
    saved.room_for = making_room_for(job);
    saved.progress = booked(job);
    saved.brought = run.brought;
    saved.flow = run.flow;
  }
  saved.estimate = revised(job);
  turns_.each(job, [&](JobId other, std::uint32_t times) {
    saved.yielded_to.insert(saved.yielded_to.end(), times, other);
  });
  return saved;
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
    const Shape& shape = shapes[shapes.of(workload_.jobs[j], workload_, cluster_)];
    if (const Verdict verdict = check_place(saved, shape, cluster_); verdict != Verdict::ok)
      return verdict;
    const bool leaves_for_somebody =
        saved.state.phase == Phase::draining && saved.room_for != kNoJob;
    if (leaves_for_somebody && (index(saved.room_for) >= jobs.size() ||
                                jobs[index(saved.room_for)].state.phase != Phase::reserved))
      return Verdict::no_such_subject;
    for (std::size_t i = 0; i < saved.placement.size(); ++i) {
      const std::size_t machine = index(saved.placement[i].machine);
      const Resources amount = held(saved, shape, i);
      const auto words = std::span(free_gpus).subspan(machine * gpu_words_, gpu_words_);
      if (!amount.fits_in(free[machine]) || std::ssize(saved.gpus[i]) != amount.gpus ||
          !take_bits(words, saved.gpus[i]))
        return Verdict::no_room;
      free[machine] -= amount;
    }
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
  if (index(job) != states_.size() || saved.room_for != kNoJob) return Verdict::wrong_phase;
  if (phase != Phase::queued && !holds_gpus(phase)) return Verdict::wrong_phase;
  if (const Verdict verdict = check_kind(job); verdict != Verdict::ok) return verdict;
  const ShapeId shape_id = shapes_.of(workload_.jobs[index(job)], workload_, cluster_);
  if (holds_gpus(phase)) {
    const Shape& shape = shapes_[shape_id];
    if (!names_machines_once(saved.placement)) return Verdict::wrong_gang;
    if (const Verdict verdict = check_place(saved, shape, cluster_); verdict != Verdict::ok)
      return verdict;
    for (std::size_t i = 0; i < saved.placement.size(); ++i) {
      const MachineId machine = saved.placement[i].machine;
      const auto words = std::span(free_gpus_).subspan(index(machine) * gpu_words_, gpu_words_);
      std::vector<std::uint64_t> free(words.begin(), words.end());
      const Resources amount = held(saved, shape, i);
      if (!amount.fits_in(free_.on(machine)) || std::ssize(saved.gpus[i]) != amount.gpus ||
          !take_bits(free, saved.gpus[i]))
        return Verdict::no_room;
    }
  }
  states_.emplace_back().shape = shape_id;
  if (saved.estimate != Estimate{}) {
    grow_to(revised_, index(job), workload_.jobs.size());
    revised_[index(job)] = saved.estimate;
  }
  for (const JobId other : saved.yielded_to) turns_.note(job, other);
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
    for (const JobId other : jobs[j].yielded_to)
      turns_.note(JobId{static_cast<std::uint32_t>(j)}, other);
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
  return Verdict::ok;
}

/// Through the phases that lead to where the job was.
void Yard::resume(JobId job, const SavedJob& saved) {
  JobState& state = states_[index(job)];
  const JobState& was = saved.state;
  state.pauses = was.pauses, state.first_start = was.first_start;
  state.done = was.done, state.waited = was.waited, state.lost = was.lost;
  state.slowed = was.slowed;
  state.since = was.since;
  if (trainyard::has_ended(was.phase)) {
    state.phase = was.phase;
    return;
  }
  ++unfinished_;
  enter(job, Phase::queued);
  if (was.phase == Phase::queued) return;
  occupy(job, saved);
  if (was.phase == Phase::reserved) return enter(job, Phase::reserved);
  for (const Phase next : {Phase::starting, Phase::running, Phase::draining}) {
    if (next == Phase::draining && saved.room_for != kNoJob) {
      runs_[state.run].room_for = saved.room_for;
      ++runs_[this->state(saved.room_for).run].leaving;
    }
    enter(job, next);
    if (next == was.phase) return;
  }
}

void Yard::occupy(JobId job, const SavedJob& saved) {
  Run& run = open_run(job, saved.placement);
  run.missing = saved.missing;
  if (!run.missing.empty()) run.by_machine = share_order(run.shares);
  run.at = saved.progress.at;
  run.saved = saved.progress.saved, run.writing = saved.progress.writing;
  run.rate = saved.progress.rate;
  run.brought = saved.brought;
  run.flow = saved.flow;
  for (std::size_t i = 0; i < saved.placement.size(); ++i) {
    const MachineId machine = saved.placement[i].machine;
    take_bits(std::span(free_gpus_).subspan(index(machine) * gpu_words_, gpu_words_),
              saved.gpus[i]);
    for (const std::int32_t gpu : saved.gpus[i])
      run.gpu_masks[i * gpu_words_ + static_cast<std::size_t>(gpu) / 64] |= 1ULL << (gpu % 64);
    free_.take(machine, held(saved, shape(job), i));
  }
}

}  // namespace trainyard
