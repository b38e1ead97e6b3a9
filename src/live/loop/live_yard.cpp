#include "live/loop/live_yard.h"

#include <algorithm>
#include <limits>

#include "policy/estimator.h"
#include "yard/plan.h"

namespace trainyard {
namespace {

constexpr std::uint64_t kSeed = 1;
/// As if it had been paused as often as rules allow: the yard never pauses it (rule 4).
constexpr std::uint32_t kNeverPaused = std::numeric_limits<std::uint32_t>::max();
/// Speed is measured over a minute at least, so that an evaluation or a checkpoint in between is
/// not taken for another speed; a tenth more or less is none.
constexpr Duration kMeasuredOver = minutes(1);
constexpr double kNoticed = 1.1;
/// As flow stages bound them.
constexpr std::int64_t kMostClasses = 256;
constexpr double kMostFloor = 0.99;

/// `--time` is the limit of one run, and what a job is expected to take in all. One that asks to be
/// run again, as scripts do that save before the limit, is expected to need as much once more.
Duration expected_work(const JobRecord& record) {
  const Duration time = record.spec.time.us > 0 ? record.spec.time : kAssumedTime;
  return record.done_when_returned + time;
}

FlowTerms terms_of_flows(const PolicySpec& policy, FlowClasses flows) {
  if (flows == FlowClasses::ignored || !policy.orders_flows()) return {};
  const Params params = policy.params("flow");
  return {.carried_out = true,
          .classes = static_cast<std::size_t>(
              std::clamp<std::int64_t>(params.whole("classes"), 1, kMostClasses)),
          .floor = std::min(params.real("floor"), kMostFloor),
          .by = policy.member("flow")};
}

Duration in_seconds(double s) {
  return duration_from_seconds(s).value_or(Duration{});
}

}  // namespace

Expected<void> LiveYard::begin(std::shared_ptr<const Cluster> cluster, const PolicySpec& policy,
                               const std::vector<const JobRecord*>& jobs,
                               const std::set<MachineId>& closed, Time now) {
  learnt_ = learnt();
  policy_.reset(), yard_.reset(), speed_.reset();
  cluster_ = std::move(cluster);
  workload_ = {};
  numbers_.clear(), ids_.clear(), estimated_.clear();
  marks_.clear(), told_.clear(), all_work_.clear(), changed_.clear(), queued_.clear();
  speed_ = std::make_unique<CatalogueSpeed>(*cluster_, workload_, Catalogue::builtin(),
                                            CatalogueSpeed::DurationIs::in_one_machine);
  yard_ = std::make_unique<Yard>(*cluster_, workload_, policy.rules(), speed_.get());
  policy_ = policy.build(*yard_, kSeed, flows_);
  flow_terms_ = terms_of_flows(policy, flows_);
  policy_->recall(learnt_, now);
  std::vector<const JobRecord*> known;
  for (const JobRecord* job : jobs)
    if (!job->is_held() && !job->has_ended()) known.push_back(job);
  std::ranges::stable_sort(known, {}, [](const JobRecord* job) { return job->eligible; });
  for (const JobRecord* job : known) add(*job, job->eligible);
  std::vector<SavedJob> lives;
  for (const JobRecord* job : known) lives.push_back(to_ids(*job));
  if (const Verdict verdict = yard_->restore(lives); verdict != Verdict::ok)
    return fail("the jobs of the journal cannot be taken up on this machine: {}",
                describe(verdict));
  (void)yard_->apply({std::max(now, yard_->now()), EventKind::clock});
  yard_->listen(*this);
  for (const MachineId machine : closed)
    (void)yard_->apply(Event::of(yard_->now(), EventKind::machine_closed, machine));
  for (const JobRecord* job : known)
    if (job->progress) learn(*job, yard_->now());
  return {};
}

/// Without what is known of single jobs, which has other numbers in the next yard.
Learnt LiveYard::learnt() const {
  Learnt all = learnt_;
  if (policy_) policy_->save_learnt(all);
  std::erase_if(all, [](const auto& each) { return each.first.starts_with(kOfJobs); });
  return all;
}

/// As it was measured, of the job or of its user's jobs of the same model; else as the job said
/// that reading its checkpoint took.
Duration LiveYard::expected_load(const JobRecord& record) const {
  if (record.load.took) return *record.load.took;
  if (const auto known = costs_.of(record.owner.user, record.spec.model).load) return *known;
  const bool has_told = record.progress && record.progress->load_s;
  return has_told ? in_seconds(*record.progress->load_s) : load_time_;
}

void LiveYard::note_load(const JobRecord& record, Duration load) {
  costs_.note_load(record.owner.user, record.spec.model, load);
}

Job LiveYard::make_job(const JobRecord& record, Time eligible) {
  const JobSpec& spec = record.spec;
  Job job;
  job.submit = eligible;
  job.duration = job.estimate = expected_work(record);
  job.grace = spec.grace;
  if (record.pause_took) job.declared_pause = *record.pause_took;
  job.save = costs_.of(record.owner.user, spec.model).save.value_or(Duration{});
  job.load = expected_load(record);
  set_demand(job, spec, workload_);
  // A run keeps what it has, whatever has become of the machines (and see to_ids).
  const bool has_run = holds_gpus(record.phase()) && record.granted != Resources{};
  if (has_run && job.terms == kNoTerms) job.per_worker = record.granted;
  job.user = UserId{workload_.users.add(record.owner.user)};
  job.job_class = spec.job_class;
  if (!spec.model.empty() && workload_.models.size() < index(kNoModel))
    job.model = ModelId{static_cast<std::uint16_t>(workload_.models.add(spec.model))};
  if (workload_.kinds.size() + 1 < index(kAnyKind)) set_kinds(job, spec, *cluster_, workload_);
  speed_->look_up_names();
  return job;
}

void LiveYard::add(const JobRecord& record, Time eligible) {
  const JobId id{static_cast<std::uint32_t>(workload_.jobs.size())};
  workload_.jobs.push_back(make_job(record, eligible));
  workload_.names.push_back(std::to_string(record.number));
  numbers_.push_back(record.number);
  ids_[record.number] = id;
  if (record.spec.time.us > 0) estimated_.insert(id);
}

Verdict LiveYard::submit(const JobRecord& record, Time now) {
  JobRecord queued = record;
  queued.life.state.phase = Phase::queued;
  return take_up(queued, now);
}

Verdict LiveYard::take_up(const JobRecord& record, Time now) {
  if (ids_.contains(record.number)) return Verdict::wrong_phase;
  (void)yard_->apply({std::max(now, yard_->now()), EventKind::clock});
  add(record, record.eligible == Time::never() ? now : record.eligible);
  const Verdict verdict = yard_->take_up(id(record.number), to_ids(record));
  if (verdict == Verdict::ok) return verdict;
  workload_.jobs.pop_back(), workload_.names.pop_back(), numbers_.pop_back();
  estimated_.erase(id(record.number));
  ids_.erase(record.number);
  return verdict;
}

void LiveYard::withdraw(JobNumber number, Time now) {
  (void)apply(EventKind::cancelled, number, now);
  changed_.erase(number);
  ids_.erase(number);
}

Verdict LiveYard::choose(JobNumber number, const std::vector<WorkerPlace>& places) {
  const Placement& placement = yard_->placement(id(number));
  std::vector<std::vector<std::int32_t>> gpus(placement.size());
  for (const WorkerPlace& worker : places) {
    const auto share = std::ranges::find(placement, worker.machine, &Share::machine);
    if (share == placement.end()) return Verdict::wrong_gang;
    auto& there = gpus[static_cast<std::size_t>(share - placement.begin())];
    there.insert(there.end(), worker.gpus.begin(), worker.gpus.end());
  }
  changed_.insert(number);
  return yard_->renumber(id(number), gpus);
}

Verdict LiveYard::apply(EventKind kind, JobNumber number, Time now) {
  const JobId job = id(number);
  if (kind != EventKind::finished) return yard_->apply(Event::of(now, kind, job));
  const auto noted = all_work_.extract(job);
  return yard_->apply(
      Event::finished_after(now, job, noted ? noted.mapped() : yard_->work_done(job, now)));
}

Verdict LiveYard::apply(EventKind kind, MachineId machine, Time now) {
  return yard_->apply(Event::of(now, kind, machine));
}

Verdict LiveYard::loaded(JobNumber number, Duration work, Time now) {
  return yard_->apply(Event::loaded_with(std::max(now, yard_->now()), id(number), work));
}

void LiveYard::note_end(JobNumber number, Duration work) {
  all_work_[id(number)] = std::max(work, microseconds(1));
}

Duration LiveYard::ran(JobNumber number, Time now) const {
  return yard_->work_done(id(number), now);
}

void LiveYard::learn(const JobRecord& record, Time now) {
  const auto found = ids_.find(record.number);
  if (found == ids_.end()) return;
  const JobId job = found->second;
  Estimate estimate{.work = expected_work(record)};
  if (record.progress) {
    const JobProgress& progress = *record.progress;
    if (progress.save_s) {
      const Duration save = in_seconds(*progress.save_s);
      estimate.pause = record.spec.grace + save;
      costs_.note_save(record.owner.user, record.spec.model, save);
    }
    if (record.load.took || progress.load_s) estimate.load = expected_load(record);
    const Duration so_far = ran(record.number, now);
    if (progress.total > 0 && progress.step > 0 && progress.step <= progress.total &&
        so_far.us > 0) {
      const double whole = so_far.seconds() * static_cast<double>(progress.total) /
                           static_cast<double>(progress.step);
      estimate.work = std::max(in_seconds(whole), microseconds(1));
      estimated_.insert(job);
    }
    measure(job, progress, now);
    tell_curve(job, record.curve, now);
  }
  if (record.pause_took) estimate.pause = *record.pause_took;
  (void)yard_->apply(Event::estimate_of(std::max(now, yard_->now()), job, estimate));
}

/// How fast the job runs now: the steps that it did of late, each of which is as much work as its
/// steps were so far.
void LiveYard::measure(JobId job, const JobProgress& progress, Time now) {
  if (yard_->state(job).phase != Phase::running) return;
  const auto [mark, is_new] = marks_.try_emplace(job, Mark{now, progress.step});
  const Duration since = now - mark->second.at;
  const std::int64_t steps = progress.step - mark->second.step;
  if (is_new || (steps >= 0 && since < kMeasuredOver)) return;
  mark->second = {now, progress.step};
  const double done_s = yard_->work_done(job, now).seconds();
  if (steps <= 0 || done_s <= 0) return;
  const double work_s = done_s * static_cast<double>(steps) / static_cast<double>(progress.step);
  const double time_per_work = since.seconds() / work_s;
  const double was = yard_->rate(job).time_per_work();
  if (time_per_work > was * kNoticed || time_per_work < was / kNoticed)
    (void)yard_->apply(
        Event::rate_of(std::max(now, yard_->now()), job, Rate::taking(time_per_work)));
}

/// All that the yard has not heard yet; after a return to a checkpoint, where the job is now.
void LiveYard::tell_curve(JobId job, const ReportedCurve& curve, Time now) {
  if (yard_->state(job).phase != Phase::running) return;
  const std::vector<LearningPoint> points = learning_points(curve);
  if (points.empty()) return;
  const auto told = told_.try_emplace(job, -1).first;
  if (points.back().step < told->second)
    told->second = points.size() < 2 ? -1 : points[points.size() - 2].step;
  for (const LearningPoint& point : points)
    if (point.step > told->second)
      (void)yard_->apply(Event::learnt_by(std::max(now, yard_->now()), job, point));
  told->second = points.back().step;
}

WaitReason LiveYard::explain(JobNumber job) const {
  WaitReason reason = policy_->explain(id(job));
  const bool is_known = reason.expected_start > yard_->now() &&
                        std::ranges::all_of(reason.relies_on, [&](JobId other) {
                          return estimated_.contains(other);
                        });
  if (!is_known) reason.expected_start.reset();
  return reason;
}

Beginning LiveYard::beginning() const {
  Beginning saved{.now = yard_->now(), .jobs = {}, .learnt = learnt()};
  for (std::uint32_t j = 0; j < yard_->jobs(); ++j) saved.jobs.push_back(yard_->save(JobId{j}));
  for (std::uint32_t m = 0; m < cluster_->machines.size(); ++m)
    if (!yard_->free().is_up(MachineId{m})) saved.closed.push_back(MachineId{m});
  return saved;
}

Job LiveYard::job_like(const JobRecord& record) {
  JobRecord fresh;
  fresh.owner = record.owner, fresh.spec = record.spec;
  fresh.pause_took = record.pause_took, fresh.load = record.load;
  return make_job(fresh, record.submitted);
}

Time LiveYard::decide(Time now) {
  (void)yard_->apply({std::max(now, yard_->now()), EventKind::clock});
  Plan plan(*yard_);
  policy_->decide(plan);
  refused_ += plan.refused();
  return plan.wake();
}

std::vector<LiveYard::Order> LiveYard::take_orders() {
  std::vector<Order> orders;
  for (const trainyard::Order& order : yard_->orders())
    orders.push_back({order.kind, number(order.job)});
  yard_->clear_orders();
  return orders;
}

void LiveYard::take_changed(const std::function<void(JobNumber, JobLife)>& visit) {
  for (const JobNumber number : changed_) visit(number, to_numbers(yard_->save(id(number))));
  changed_.clear();
}

void LiveYard::on_phase(JobId job, Phase from, Phase to) {
  changed_.insert(number(job));
  if (from == Phase::queued) queued_.erase(number(job));
  if (to == Phase::queued) queued_.insert(number(job));
  if (from == Phase::running) marks_.erase(job);
  if (has_ended(to)) all_work_.erase(job), told_.erase(job);
}

/// As flow stages see it: those on several machines, or all where there is but one machine.
std::vector<JobNumber> LiveYard::senders_on(MachineId machine) const {
  std::vector<JobNumber> senders;
  if (!flow_terms_.carried_out) return senders;
  for (const JobId job : yard_->jobs_on(machine))
    if (yard_->placement(job).size() > 1 || cluster_->machines.size() == 1)
      senders.push_back(number(job));
  std::ranges::sort(senders);
  return senders;
}

std::vector<WorkerPlace> LiveYard::places(JobNumber number) const {
  const JobId job = id(number);
  const Placement& placement = yard_->placement(job);
  std::vector<WorkerPlace> workers;
  for (std::size_t i = 0; i < placement.size(); ++i) {
    const std::vector<std::int32_t> gpus = yard_->gpus(job, i);
    const std::int32_t each = yard_->each(job, i).gpus / parts(job);
    auto next = gpus.begin();
    for (std::int32_t w = 0; w < placement[i].workers * parts(job); ++w) {
      WorkerPlace& worker = workers.emplace_back();
      worker.machine = placement[i].machine;
      worker.gpus.assign(next, next + each);
      next += each;
    }
  }
  return workers;
}

bool LiveYard::is_as_asked(JobNumber number) const {
  const JobId job = id(number);
  const Placement& placement = yard_->placement(job);
  for (std::size_t i = 0; i < placement.size(); ++i)
    if (yard_->each(job, i) != yard_->shape(job).demand(placement[i].machine)) return false;
  return true;
}

std::vector<Resources> LiveYard::grants(JobNumber number) const {
  const JobId job = id(number);
  const Placement& placement = yard_->placement(job);
  std::vector<Resources> grants;
  for (std::size_t i = 0; i < placement.size(); ++i) {
    Resources each = yard_->each(job, i);
    each.gpus /= parts(job), each.milli_cpus /= parts(job), each.memory_mib /= parts(job);
    grants.insert(grants.end(), static_cast<std::size_t>(placement[i].workers * parts(job)), each);
  }
  return grants;
}

namespace {

/// A room as the yard takes it. Journals of earlier versions have one amount for all workers of a
/// run, and several workers of a job that is alone on its machine.
SavedRoom as_yard_has_it(SavedRoom room, const JobRecord& record, bool has_terms) {
  const JobSpec& spec = record.spec;
  if (!has_terms) room.each.clear();
  if (!has_terms || room.placement.empty()) return room;
  const bool is_divided = spec.exclusive && room.placement.size() == 1;
  if (is_divided) room.placement.front().workers = 1;
  if (room.each.empty() && record.granted != Resources{})
    room.each.assign(room.placement.size(), record.granted * (is_divided ? spec.workers : 1));
  return room;
}

}  // namespace

/// Whom it gave way to may have ended: then it does not matter any more.
SavedJob LiveYard::to_ids(const JobRecord& record) const {
  const JobLife& life = record.life;
  const auto id_of = [&](JobNumber number) {
    const auto found = ids_.find(number);
    return found == ids_.end() ? kNoJob : found->second;
  };
  const bool has_terms = workload_.jobs[index(ids_.at(record.number))].terms != kNoTerms;
  SavedJob saved{life.state,
                 as_yard_has_it(find_room(life.room, *cluster_), record, has_terms),
                 id_of(life.room_for),
                 find_room(life.next, *cluster_),
                 id_of(life.lead),
                 life.progress,
                 life.brought,
                 life.estimate,
                 {}};
  for (const JobNumber number : life.yielded_to)
    if (const JobId other = id_of(number); other != kNoJob) saved.yielded_to.push_back(other);
  if (record.runs_outside) saved.state.pauses = kNeverPaused;
  return saved;
}

JobLife LiveYard::to_numbers(SavedJob saved) const {
  JobLife life{saved.state,
               keep_room(std::move(saved.room), *cluster_),
               saved.room_for == kNoJob ? 0 : number(saved.room_for),
               keep_room(std::move(saved.next), *cluster_),
               saved.lead == kNoJob ? 0 : number(saved.lead),
               saved.progress,
               saved.brought,
               saved.estimate,
               {}};
  if (life.state.pauses == kNeverPaused) life.state.pauses = 0;
  for (const JobId other : saved.yielded_to) life.yielded_to.push_back(number(other));
  return life;
}

}  // namespace trainyard
