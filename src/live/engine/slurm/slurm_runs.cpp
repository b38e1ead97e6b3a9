#include "live/engine/slurm/slurm_runs.h"

#include <algorithm>
#include <csignal>
#include <tuple>

namespace trainyard {
namespace {

constexpr Duration kMostBetweenLooks = seconds(2);
constexpr Duration kLongLook = seconds(2);  // libslurm itself has waited for slurmctld to come back
constexpr Duration kFresh = microseconds(250'000);
constexpr int kMarksAtOnce = 50;  // so that starts do not wait for them

bool is_on_nodes(const SlurmJob& job) {
  return job.state != SlurmState::pending || job.is_completing;
}

}  // namespace

std::string_view name(SlurmState state) {
  constexpr std::string_view kNames[] = {"PENDING",   "RUNNING",   "SUSPENDED", "COMPLETED",
                                         "CANCELLED", "FAILED",    "TIMEOUT",   "NODE_FAIL",
                                         "PREEMPTED", "BOOT_FAIL", "DEADLINE",  "OUT_OF_MEMORY"};
  return kNames[static_cast<std::size_t>(state)];
}

SlurmRuns::SlurmRuns(System& system, SlurmController& slurm, SlurmRunsOptions options)
    : system_(system), slurm_(slurm), options_(std::move(options)) {}

bool SlurmRuns::ById::operator()(const std::string& a, const std::string& b) const {
  const auto key = [](const std::string& id) {
    const std::size_t end = std::min(id.find('_'), id.size());
    return std::tuple(end, std::string_view(id).substr(0, end), id.size(),
                      std::string_view(id).substr(end));
  };
  return key(a) < key(b);
}

// --- Orders --------------------------------------------------------------------------------------

void SlurmRuns::start(Start start) {
  Run run;
  run.order = std::move(start);
  const JobNumber number = run.order.id.job;
  if (run.is_own()) {
    unsubmitted_.insert_or_assign(number, std::move(run));
    return submit_own();
  }
  Followed* job = find(number);
  if (job == nullptr) {
    RunReport report;
    report.kind = RunReport::Kind::refused, report.id = run.order.id;
    report.at = system_.wall_clock();
    report.why = "Slurm does not have this job any more";
    return say(std::move(report));
  }
  job->run = std::move(run);
  tend(*job);
}

void SlurmRuns::stop(const Stop& stop) {
  if (const auto waiting = unsubmitted_.find(stop.id.job);
      waiting != unsubmitted_.end() && waiting->second.id() == stop.id) {
    Followed nothing;
    nothing.run = std::move(waiting->second);
    unsubmitted_.erase(waiting);
    return finish(nothing, report_of(nothing, RunReport::Kind::exited));
  }
  Followed* job = find(stop.id.job);
  if (job == nullptr || !job->run || job->run->id() != stop.id) return;
  Run& run = *job->run;
  const Time now = system_.steady_clock();
  if (run.leave_by) run.leave_by = std::min(*run.leave_by, now + stop.grace);
  run.stop = stop;
  // It was to leave before the restart already, so the daemon before this one has cancelled it.
  if (!is_open_ && run.is_own() && job->job.state == SlurmState::cancelled) run.was_requeued = true;
  if (run.stage == Run::Stage::placing)
    return finish(*job, report_of(*job, RunReport::Kind::exited));
  run.stage = Run::Stage::leaving;
  tend(*job);
}

void SlurmRuns::adopt(RunId id) {
  Followed* job = find(id.job);
  if (job == nullptr) {
    const auto own = std::ranges::find_if(jobs_, [&](const auto& entry) {
      const SlurmMark& mark = entry.second.mark;
      return is_mine(mark) && mark.job == id.job && mark.run == id.run && entry.second.is_own;
    });
    if (own != jobs_.end()) {
      job = &own->second;
      job->number = id.job;
      ids_[id.job] = own->first;
    }
  }
  if (job != nullptr && job->run && job->run->id() == id) {  // outside of our control
    if (job->run->is_told) say(report_of(*job, RunReport::Kind::started));
    return;
  }
  const bool was_ordered = job != nullptr && is_mine(job->mark) && job->mark.run == id.run;
  if (!was_ordered) {
    RunReport report;
    report.kind = RunReport::Kind::lost, report.id = id, report.at = system_.wall_clock();
    report.why = "it had not been started when the daemon ended";
    return say(std::move(report));
  }
  Run run;
  run.order.id = id;
  run.stage = Run::Stage::starting;
  run.restarts = job->mark.restarts;
  for (const SlurmPlace& place : job->job.places) run.order.nodes.push_back(place.node);
  if (job->is_own) run.order.submission = SlurmSubmission{};
  job->run = std::move(run);
  tend(*job);
}

void SlurmRuns::call(const std::string& born_as, JobNumber number) {
  const auto found = find_born(born_as);
  if (found == jobs_.end()) return say_withdrawn(number, "Slurm does not have this job any more");
  Followed& job = found->second;
  const bool is_new = job.number != number;
  job.number = number;
  job.is_reported = true;
  ids_[number] = found->first;
  if (is_new && !job.told_spec) {
    job.told = job.job.request, job.told_comment = job.job.comment;
    if (auto now = spec(job)) job.told_spec = *std::move(now);
  }
  const bool runs = job.job.state == SlurmState::running || job.job.state == SlurmState::suspended;
  const bool is_ordered = is_mine(job.mark) && job.mark.run > 0;
  if (runs && !is_ordered && !job.run) {
    Run run;
    run.order.id = {number, 1};
    run.stage = Run::Stage::running;
    run.is_outside = run.is_told = true;
    run.restarts = job.job.restarts, run.started = job.job.started, run.places = job.job.places;
    job.run = std::move(run);
  }
  const bool has_mark = is_mine(job.mark) && job.mark.job == number;
  job.needs_mark = !has_mark && job.job.state == SlurmState::pending;
}

void SlurmRuns::end(JobNumber number) {
  unsubmitted_.erase(number);
  Followed* job = find(number);
  if (job == nullptr) return;
  ids_.erase(std::exchange(job->number, 0));
  job->is_over = true;
  job->run.reset();
  sweep(*job);
}

// --- What Slurm says -----------------------------------------------------------------------------

bool SlurmRuns::look() {
  const Time begun = system_.steady_clock();
  auto nodes = slurm_.nodes();
  if (!nodes) return note_away(nodes.error()), false;
  auto jobs = slurm_.jobs();
  if (!jobs) return note_away(jobs.error()), false;
  const Time now = system_.steady_clock();
  if (std::exchange(is_away_, false) || now - begun > kLongLook) {
    back_since_ = now;
    system_.log().write(
        LogLevel::info,
        fmt::format("slurmctld was away and answers again; nothing is started for {}",
                    format(options_.settle)));
  }
  passed_ = std::min(now - last_look_, kMostBetweenLooks);
  last_look_ = now;
  if (*nodes) take_nodes(std::move(**nodes));
  if (*jobs) take_jobs(std::move(**jobs));
  tend();
  passed_ = {};
  return true;
}

bool SlurmRuns::is_fresh() const {
  return !is_away_ && system_.steady_clock() - last_look_ < kFresh;
}

bool SlurmRuns::is_in_transit() const {
  return std::ranges::any_of(jobs_, [](const auto& entry) {
    return entry.second.run && entry.second.run->stage != Run::Stage::running;
  });
}

void SlurmRuns::note_away(const SlurmFailure& failure) {
  if (!std::exchange(is_away_, true))
    system_.log().write(
        LogLevel::warning,
        fmt::format("slurmctld does not answer ({}): what runs runs on, and nothing is changed",
                    failure.message));
}

void SlurmRuns::note_other(const SlurmJob& job, const std::string& daemon) {
  if (!others_.insert(daemon).second) return;
  system_.log().write(
      LogLevel::warning,
      fmt::format("another Trainyard ({}) has started job {} of this partition before: if it still "
                  "runs, end it; one partition is steered by one daemon, with one state directory",
                  daemon, job.id));
}

void SlurmRuns::take_nodes(std::vector<SlurmNode> nodes) {
  SlurmNodes::Change change = nodes_.take(std::move(nodes));
  if (change.is_other_cluster) reports_.emplace_back(ClusterReport{});
  for (MachineReport& state : change.states) reports_.emplace_back(std::move(state));
}

bool SlurmRuns::concerns_us(const SlurmJob& job) const {
  if (job.partition == options_.partition) return true;
  return std::ranges::any_of(
      job.places, [&](const SlurmPlace& place) { return nodes_.find(place.node).has_value(); });
}

void SlurmRuns::take_jobs(std::vector<SlurmJob> jobs) {
  for (auto& [id, job] : jobs_) job.is_there = false;
  for (SlurmJob& seen : jobs) {
    auto found = jobs_.find(seen.id);
    if (found == jobs_.end() && !concerns_us(seen)) continue;
    if (found != jobs_.end() && !is_same(found->second, seen)) {
      vanish(found->second);
      jobs_.erase(found);
      found = jobs_.end();
    }
    if (found == jobs_.end()) found = jobs_.emplace(seen.id, Followed{}).first;
    see(found->second, std::move(seen));
  }
  for (auto job = jobs_.begin(); job != jobs_.end();) {
    if (job->second.is_there) {
      ++job;
      continue;
    }
    vanish(job->second);
    job = jobs_.erase(job);
  }
}

/// One that bears our mark is; else what was submitted at the same time, or requeued since.
bool SlurmRuns::is_same(const Followed& job, const SlurmJob& seen) {
  if (seen.submitted == job.job.submitted) return true;
  if (job.mark.job != 0) {
    const SlurmMark mark = parse_mark(seen.mark).value_or(SlurmMark{});
    return mark.daemon == job.mark.daemon && mark.job == job.mark.job &&
           mark.since == job.mark.since;
  }
  return seen.restarts > 0 && seen.restarts >= job.job.restarts &&
         seen.owner.uid == job.job.owner.uid && seen.name == job.job.name;
}

void SlurmRuns::see(Followed& job, SlurmJob seen) {
  const bool has_run_unseen = seen.restarts != job.job.restarts;
  if (has_run_unseen || is_on_nodes(job.job) || is_on_nodes(seen))
    job.last_ran = system_.steady_clock();
  job.job = std::move(seen);
  job.is_there = true;
  job.mark = parse_mark(job.job.mark).value_or(SlurmMark{});
  if (!is_mine(job.mark)) {
    job.has_others_pin = job.mark.run > 0;
    if (job.has_others_pin) note_other(job.job, job.mark.daemon);
    job.mark = {};
  }
  if (const auto own = parse_mark(job.job.comment); own && is_mine(*own)) {
    job.is_own = true;
    if (job.mark.job == 0) job.mark.job = own->job;
  }
}

/// Finished jobs leave Slurm's memory after a while, when their end has long been seen. Others are
/// gone because slurmctld was killed before it had saved them, or because nobody looked for long.
void SlurmRuns::vanish(Followed& job) {
  const JobNumber number = job.number;
  if (number == 0) return;
  const std::string why = fmt::format(
      "Slurm does not know its job {} any more: slurmctld has lost it, or it ended while nobody "
      "watched (sacct may tell)",
      job.job.id);
  if (job.run) {
    RunReport report =
        report_of(job, job.is_own ? RunReport::Kind::lost : RunReport::Kind::refused);
    report.why = why;
    settling_.emplace_back(system_.steady_clock() + options_.settle, std::move(report));
  } else if (!job.is_over && !job.is_own) {
    say_withdrawn(number, why);
  }
  ids_.erase(number);
}

void SlurmRuns::tend() {
  marks_left_ = kMarksAtOnce;
  busy_.clear();
  for (const auto& [id, job] : jobs_)
    if (!job.job.array.empty() && job.is_reported && !job.is_over) ++busy_[job.job.array];
  std::erase_if(settling_, [&](auto& entry) {
    const bool is_due = entry.first <= system_.steady_clock();
    if (is_due) say(std::move(entry.second));
    return is_due;
  });
  if (!unsubmitted_.empty()) submit_own();
  for (auto& [id, job] : jobs_) tend(job);
}

Time SlurmRuns::next() const {
  Time next = Time::never();
  for (const auto& [number, id] : ids_) {
    const auto job = jobs_.find(id);
    if (job == jobs_.end() || !job->second.run) continue;
    const Run& run = *job->second.run;
    if (run.stage == Run::Stage::leaving && run.leave_by && !run.was_requeued)
      next = std::min(next, *run.leave_by);
  }
  return next;
}

// --- Acts ----------------------------------------------------------------------------------------

bool SlurmRuns::refresh(Followed& job) {
  auto now = slurm_.job(job.job.id);
  if (!now) return note_away(now.error()), false;
  if (!*now || !is_same(job, **now)) return false;  // the next look finds it gone
  see(job, std::move(**now));
  return true;
}

bool SlurmRuns::done(const Followed& job, const char* what, const SlurmAnswer<void>& answer) {
  if (answer) return true;
  if (answer.error().is_away) return note_away(answer.error()), false;
  std::string line =
      fmt::format("Slurm refuses to {} its job {}: {}", what, job.job.id, answer.error().message);
  if (line != last_refusal_) system_.log().write(LogLevel::warning, line);
  last_refusal_ = std::move(line);
  return false;
}

/// Against its user too, who could release a job that is held otherwise.
bool SlurmRuns::hold(Followed& job) {
  if (!refresh(job)) return false;
  if (job.job.state != SlurmState::pending || job.job.is_held) return true;
  SlurmUpdate update;
  update.id = job.job.id;
  update.hold = SlurmUpdate::Hold::hold;
  if (!done(job, "hold", slurm_.update(update))) return false;
  return refresh(job);
}

// --- Reports -------------------------------------------------------------------------------------

void SlurmRuns::say(RunReport report) {
  reports_.emplace_back(std::move(report));
}

void SlurmRuns::say_withdrawn(JobNumber job, const std::string& why) {
  RunReport report;
  report.kind = RunReport::Kind::withdrawn;
  report.id = {job, 0};
  report.at = system_.wall_clock();
  report.why = why;
  say(std::move(report));
}

void SlurmRuns::note(const Followed& job, const std::string& why) {
  if (job.number == 0)
    return system_.log().write(LogLevel::warning,
                               fmt::format("Slurm's job {}: {}", job.job.id, why));
  RunReport report;
  report.kind = RunReport::Kind::noted;
  report.id = job.run ? job.run->id() : RunId{job.number, 0};
  report.at = system_.wall_clock();
  report.why = why;
  say(std::move(report));
}

RunReport SlurmRuns::report_of(const Followed& job, RunReport::Kind kind) const {
  RunReport report;
  report.kind = kind;
  report.id = job.run->id();
  report.at = system_.wall_clock();
  if (is_end(kind)) report.exit_status = job.run->exit_status.value_or(128 + SIGTERM);
  if (kind == RunReport::Kind::started)
    report.places =
        job.run->is_outside ? places_by_node(job.job) : places_by_rank(*job.run, job.job);
  return report;
}

/// Each worker has its part of what Slurm gave the job on its node. Empty: Slurm does not say.
std::vector<WorkerPlace> SlurmRuns::places_by_rank(const Run& run, const SlurmJob& job) const {
  std::map<std::string, std::vector<std::int32_t>> left;
  std::map<std::string, std::size_t> workers;
  for (const std::string& node : run.order.nodes) ++workers[node];
  for (const SlurmPlace& place : job.places) left[place.node] = place.gpus;
  std::vector<WorkerPlace> places;
  for (const std::string& node : run.order.nodes) {
    const auto machine = nodes_.find(node);
    std::vector<std::int32_t>& gpus = left[node];
    if (!machine || gpus.empty()) return {};
    const std::size_t part = gpus.size() / workers[node]--;
    const auto end = gpus.begin() + static_cast<std::ptrdiff_t>(part);
    places.push_back({*machine, {gpus.begin(), end}});
    gpus.erase(gpus.begin(), end);
  }
  return places;
}

std::vector<WorkerPlace> SlurmRuns::places_by_node(const SlurmJob& job) const {
  std::vector<WorkerPlace> places;
  for (const SlurmPlace& place : job.places)
    if (const auto machine = nodes_.find(place.node); machine && !place.gpus.empty())
      places.push_back({*machine, place.gpus});
  return places;
}

SlurmRuns::Followed* SlurmRuns::find(JobNumber number) {
  const auto id = ids_.find(number);
  if (id == ids_.end()) return nullptr;
  const auto job = jobs_.find(id->second);
  return job == jobs_.end() ? nullptr : &job->second;
}

std::optional<std::pair<std::string, std::string>> SlurmRuns::output_of(JobNumber number) const {
  const auto id = ids_.find(number);
  if (id == ids_.end()) return {};
  const auto job = jobs_.find(id->second);
  if (job == jobs_.end()) return {};
  return std::pair{job->first, job->second.job.output};
}

}  // namespace trainyard
