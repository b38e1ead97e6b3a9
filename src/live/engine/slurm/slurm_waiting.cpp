// Jobs that wait: which of Slurm's are taken, under which name, and what happens to them behind our
// back.
#include <algorithm>

#include "live/engine/slurm/request.h"
#include "live/engine/slurm/slurm_runs.h"
#include "live/job/utf8.h"

namespace trainyard {
namespace {

constexpr std::string_view kNameBegins = "slurm-";

/// As its user made it: once we have pinned a job, its list of nodes is ours.
SlurmJob without_pin(SlurmJob job, bool is_pinned) {
  if (is_pinned) job.request.nodes_wanted.clear();
  return job;
}

}  // namespace

std::string slurm_id(std::string_view born_as) {
  if (!born_as.starts_with(kNameBegins)) return {};
  const std::size_t begin = kNameBegins.size();
  return std::string(born_as.substr(begin, born_as.find('@') - begin));
}

/// Slurm may give the id of a job that it has lost to another, which was submitted at another time.
std::string SlurmRuns::name_of(const Followed& job) const {
  const std::string name = fmt::format("{}{}@{}", kNameBegins, job.job.id, job.since());
  return job.mark.birth > 1 ? fmt::format("{}.{}", name, job.mark.birth) : name;
}

std::map<std::string, SlurmRuns::Followed>::iterator SlurmRuns::find_born(const std::string& name) {
  const auto found = jobs_.find(slurm_id(name));
  return found != jobs_.end() && name_of(found->second) == name ? found : jobs_.end();
}

Expected<JobSpec> SlurmRuns::spec(const Followed& job) const {
  return spec_of(without_pin(job.job, job.mark.run > 0 || job.has_others_pin), nodes_.nodes());
}

void SlurmRuns::tend_waiting(Followed& job) {
  if (job.is_own) {  // submitted for a run that nobody waits for
    if (job.number == 0) job.is_over = true, sweep(job);
    return;
  }
  switch (job.job.state) {
    case SlurmState::pending:
      return tend_pending(job);
    case SlurmState::running:
    case SlurmState::suspended:
      if (job.job.is_configuring) return;
      if (job.number == 0) return bear_running(job);
      if (is_ghost(job)) return lay(job);
      return bear_anew(job, "Slurm has started it without being asked to");
    default:
      return tend_ended(job);
  }
}

/// It was cancelled there, or has run behind our back.
void SlurmRuns::tend_ended(Followed& job) {
  if (job.number == 0 || job.job.is_completing || job.end_is_told) return;
  say_withdrawn(job.number, job.job.state == SlurmState::cancelled
                                ? "cancelled in Slurm"
                                : fmt::format("{} in Slurm", name(job.job.state)));
  ids_.erase(std::exchange(job.number, 0));
  job.is_over = true;
}

void SlurmRuns::tend_pending(Followed& job) {
  if (job.job.is_completing) return;
  job.end_is_told = false;
  if (job.number == 0) {
    if (!job.is_reported && is_candidate(job.job)) bear(job);
    return;
  }
  if (!job.job.is_held && !options_.takes_unheld) {
    note(job, "somebody has released it in Slurm; it is held again");
    return void(hold(job));
  }
  if (job.job.request != job.told || job.job.comment != job.told_comment) {
    if (!still_asks_the_same(job)) return bear_anew(job, "it was changed in Slurm");
    job.told = job.job.request, job.told_comment = job.job.comment;
  }
  if (job.needs_mark && marks_left_ > 0) write_mark(job);
}

/// Of a job that has run Slurm itself changes some numbers (tasks, CPUs): they stay as they were
/// told.
bool SlurmRuns::still_asks_the_same(const Followed& job) const {
  auto now = spec(job);
  if (!now || !job.told_spec) return false;
  if (job.mark.run > 0) {
    const std::int32_t gpus = now->per_worker.gpus;
    now->per_worker = job.told_spec->per_worker;
    now->per_worker.gpus = gpus;
  }
  return *now == *job.told_spec;
}

bool SlurmRuns::is_candidate(const SlurmJob& job) const {
  if (job.partition != options_.partition) return false;
  if (job.is_held ? !is_ours(job.mark) : !options_.takes_unheld) return false;
  if (!job.dependency.empty() || job.eligible > system_.wall_clock()) return false;
  const auto busy = busy_.find(job.array);
  return job.at_once == 0 || busy == busy_.end() || busy->second < job.at_once;
}

void SlurmRuns::bear(Followed& job) {
  auto spec = this->spec(job);
  if (!spec) return refuse(job, spec.error().message);
  job.not_taken.clear();
  job.is_reported = true;
  if (!job.job.array.empty()) ++busy_[job.job.array];
  job.told = job.job.request, job.told_comment = job.job.comment, job.told_spec = *spec;
  reports_.emplace_back(BirthReport{name_of(job), job.job.owner, *std::move(spec), {}});
}

/// Its user finds the reason with `scontrol show job`, and may change the job.
void SlurmRuns::refuse(Followed& job, const std::string& why) {
  if (job.not_taken == why) return;
  const std::string text = not_taken(why);
  if (job.job.mark != text) {
    SlurmUpdate update;
    update.id = job.job.id;
    update.mark = text;
    if (!refresh(job) || !done(job, "mark", slurm_.update(update))) return;
    system_.log().write(LogLevel::warning,
                        fmt::format("Slurm's job {} is not taken: {}", job.job.id, why));
  }
  job.not_taken = why;
}

void SlurmRuns::bear_running(Followed& job) {
  if (job.is_reported) return;
  std::vector<WorkerPlace> places = places_by_node(job.job);
  if (places.empty()) return;
  job.is_reported = true;
  JobSpec told = spec(job).value_or(JobSpec{});
  if (told.name.empty()) told.name = as_utf8(job.job.name);
  if (job.job.time_limit) told.time = *job.job.time_limit;
  reports_.emplace_back(
      BirthReport{name_of(job), job.job.owner, std::move(told), std::move(places)});
}

/// What the yard knows of it is not true any more: that job ends for the yard, and this is another
/// one. The new name stands in Slurm before the old one is given up.
void SlurmRuns::bear_anew(Followed& job, const std::string& why) {
  if (!refresh(job)) return;
  SlurmMark mark = job.mark;
  mark.daemon = options_.daemon;
  mark.job = std::max<JobNumber>({job.number, job.mark.job, 1});
  mark.run = 0, ++mark.birth, mark.since = job.since();
  SlurmUpdate update;
  update.id = job.job.id;
  update.mark = format(mark);
  if (job.mark.run > 0 && job.job.state == SlurmState::pending)
    update.nodes = std::vector<std::string>();
  if (!done(job, "mark", slurm_.update(update))) return;
  note(job, why + ": to Trainyard it is a new job from now on");
  if (job.number != 0) {
    say_withdrawn(job.number, why);
    ids_.erase(std::exchange(job.number, 0));
  }
  job.run.reset();
  job.is_reported = job.is_over = job.end_is_told = job.needs_mark = false;
  job.job.mark = *update.mark;
  job.mark = std::move(mark);
}

/// A slurmctld that was killed may have forgotten that a run is over.
bool SlurmRuns::is_ghost(const Followed& job) const {
  return is_mine(job.mark) && job.mark.run > 0 && job.job.restarts <= job.mark.restarts;
}

/// It waits again, as it did before slurmctld forgot that.
void SlurmRuns::lay(Followed& job) {
  if (!refresh(job) || job.job.is_completing || job.job.state != SlurmState::running) return;
  note(job, "slurmctld has forgotten that its run is over; it is requeued again");
  if (done(job, "requeue", slurm_.requeue_held(job.job.id))) job.job.is_completing = true;
}

void SlurmRuns::write_mark(Followed& job) {
  --marks_left_;
  if (!refresh(job) || job.job.state != SlurmState::pending) return;
  const SlurmMark mark{
      .daemon = options_.daemon, .job = job.number, .birth = job.mark.birth, .since = job.since()};
  SlurmUpdate update;
  update.id = job.job.id;
  update.mark = format(mark);
  if (job.job.is_held) update.hold = SlurmUpdate::Hold::hold;  // also against its user
  if (!done(job, "mark", slurm_.update(update))) return;
  job.mark = mark;
  job.job.mark = *update.mark;
  job.needs_mark = false;
}

/// Nothing of it is to run any more.
void SlurmRuns::sweep(Followed& job) {
  const bool runs = job.job.state == SlurmState::running;
  if (job.job.is_completing || (job.job.state != SlurmState::pending && !runs)) return;
  if (runs && !job.is_own && !is_ghost(job))
    return bear_anew(job, "it runs in Slurm though it has ended here");
  if (runs && !job.is_own) note(job, "slurmctld has forgotten that it has ended; it is cancelled");
  if (!refresh(job) || has_ended(job.job.state) || job.job.is_completing) return;
  if (done(job, "cancel", slurm_.cancel(job.job.id))) job.job.state = SlurmState::cancelled;
}

}  // namespace trainyard
