#include "live/loop/loads.h"

#include <algorithm>
#include <nlohmann/json.hpp>

namespace trainyard {
namespace {

constexpr std::int64_t kKnownTimes = 4;
constexpr Duration kLongestLoad = hours(1);
constexpr Duration kWorthCorrecting = seconds(1);
constexpr std::size_t kFewWatched = 64;

/// What the job did in its present run that counts as work so far.
Duration done_in_run(const JobRecord& job) {
  return std::max(job.life.state.done - job.life.brought, Duration{});
}

/// True if what was done in runs that nobody heard of was load: each was shorter than one load.
bool was_all_load(const JobLoad& load, Duration took) {
  return load.unseen > 0 && load.unseen_work <= took * load.unseen;
}

}  // namespace

std::optional<Duration> Loads::known(const JobRecord& job) const {
  if (job.load.took) return job.load.took;
  return state_.yard.pause_costs().of(job.owner.user, job.spec.model).load;
}

Duration Loads::presumed(const JobRecord& job) const {
  const Duration least =
      std::min(state_.options.load_time, kLongestLoad) * (1 + std::int64_t{job.load.unseen});
  const Duration most = std::min(known(job).value_or(Duration{}), kLongestLoad) * kKnownTimes;
  return std::min(std::max(least, most), kLongestLoad);
}

Duration Loads::work_time(const JobRecord& job, Duration ran) const {
  const Duration load = std::min(known(job).value_or(Duration{}), job.load.presumed);
  return std::max(ran - load, Duration{});
}

Loads::Watch* Loads::watch_of(const JobRecord& job) {
  const auto found = watched_.find(job.number);
  return found == watched_.end() || found->second.run != job.runs ? nullptr : &found->second;
}

void Loads::expect(JobNumber number) {
  if (watched_.size() > kFewWatched + 2 * state_.book.holding().size())
    std::erase_if(watched_,
                  [&](const auto& each) { return !state_.book.holding().contains(each.first); });
  Watch watch;
  watch.run = state_.book.at(number).runs;
  watched_[number] = watch;
}

void Loads::begin(JobNumber number, Time began) {
  JobRecord& job = state_.book.edit(number);
  const bool is_just_now = watch_of(job) != nullptr;
  job.load.began =
      is_just_now ? state_.now() : std::clamp(began, job.life.state.since, state_.now());
  job.load.has_progressed = false;
  job.load.presumed = job.runs_outside ? Duration{} : presumed(job);
}

void Loads::settle() {
  for (const JobNumber number :
       std::vector<JobNumber>(state_.book.holding().begin(), state_.book.holding().end())) {
    const JobRecord& job = state_.book.at(number);
    if (!job.is_loading() || ends(job) > state_.now()) continue;
    const Duration worked = work_time(job, state_.now() - job.load.began);
    state_.tell_loaded(number, job.life.state.done + state_.yard.work_in(number, worked));
  }
}

Time Loads::next() const {
  Time next = Time::never();
  for (const JobNumber number : state_.book.holding())
    if (const JobRecord& job = state_.book.at(number); job.is_loading())
      next = std::min(next, ends(job));
  return next;
}

Duration Loads::end(JobNumber number, Time ended, Duration took) {
  const JobRecord& job = state_.book.at(number);
  const auto work_in = [&](Duration time) { return state_.yard.work_in(number, time); };
  if (job.is_loading()) {
    const Duration worked = std::clamp(took, Duration{}, state_.now() - job.life.state.since);
    state_.tell_loaded(number, job.life.state.done + work_in(worked));
    return state_.yard.ran(number, ended) + work_in(took - worked);
  }
  if (job.phase() != Phase::running) return state_.yard.ran(number, ended);
  const bool had_ended = ended < job.life.state.since;
  const Duration work =
      had_ended ? job.life.brought + work_in(work_time(job, took))
                : state_.yard.ran(number, ended) + work_in(took) - work_in(ended - job.run_began());
  if (work < job.life.state.done) state_.tell_loaded(number, work);
  return work;
}

void Loads::leave(JobNumber number, bool saved) {
  JobRecord& job = state_.book.edit(number);
  if (saved || job.load.has_progressed) return forget_unseen(job);
  ++job.load.unseen;
  job.load.unseen_work += done_in_run(job);
}

/// A step that was known before the run is where the job goes on: it has not done it now.
void Loads::hear(JobNumber number, const JobProgress& told) {
  JobRecord& job = state_.book.edit(number);
  const bool runs = job.is_loading() || job.phase() == Phase::running;
  if (!runs || job.runs_outside || job.load.began == Time::never()) return;
  const std::int64_t before = job.progress ? job.progress->step : 0;
  if (!job.load.has_progressed) {
    if (told.step > 0 && told.step != before) hear_first(job, told.step);
    return;
  }
  Watch* watch = watch_of(job);
  if (watch != nullptr && !watch->is_measured && told.step > watch->first_step)
    measure(job, *watch, told.step);
}

void Loads::hear_first(JobRecord& job, std::int64_t step) {
  job.load.has_progressed = true;
  const Duration elapsed = state_.now() - job.load.began;
  Watch* watch = watch_of(job);
  if (watch != nullptr) {
    const std::int64_t before = job.progress ? job.progress->step : 0;
    watch->first_after = elapsed, watch->first_step = step;
    watch->steps_before = std::max(step - before, std::int64_t{1});
  }
  if (!job.is_loading()) {  // the next report tells how much of that was load
    if (watch != nullptr) watch->is_late = true;
    return state_.tell_loaded(job.number, state_.yard.ran(job.number, state_.now()));
  }
  const Duration took = watch != nullptr ? elapsed : std::min(elapsed, job.load.presumed);
  Duration work = job.life.state.done + state_.yard.work_in(job.number, elapsed - took);
  if (was_all_load(job.load, took)) work = std::max(work - job.load.unseen_work, Duration{});
  forget_unseen(job);
  if (watch != nullptr) keep(job, took), tell(job, took);
  state_.tell_loaded(job.number, work);
}

/// By what its steps take since the first, of which some were done before that was told.
void Loads::measure(JobRecord& job, Watch& watch, std::int64_t step) {
  watch.is_measured = true;
  const Duration elapsed = state_.now() - job.load.began;
  const double per_step =
      (elapsed - watch.first_after).seconds() / static_cast<double>(step - watch.first_step);
  const double took_s =
      watch.first_after.seconds() - per_step * static_cast<double>(watch.steps_before);
  const Duration took = duration_from_seconds(std::max(took_s, 0.0)).value_or(watch.first_after);
  keep(job, took);
  if (!watch.is_late || job.phase() != Phase::running) return;
  Duration work = job.life.brought + state_.yard.work_in(job.number, elapsed - took);
  if (was_all_load(job.load, took)) work = std::max(work - job.load.unseen_work, Duration{});
  forget_unseen(job);
  tell(job, took);
  if (state_.yard.ran(job.number, state_.now()) - work > kWorthCorrecting)
    state_.tell_loaded(job.number, work);
}

void Loads::keep(JobRecord& job, Duration took) {
  job.load.took = took;
  state_.yard.note_load(job, took);
}

/// And what the pause before it cost, if there was one.
void Loads::tell(const JobRecord& job, Duration took) {
  nlohmann::json details{{"run", job.runs}, {"load_s", took.seconds()}};
  if (job.last_pause.run != 0 && job.last_pause.run + 1 == job.runs && job.pause_took)
    details["pause_cost_s"] = (took + *job.pause_took).seconds();
  state_.note(job, Happening::loaded, details);
}

}  // namespace trainyard
