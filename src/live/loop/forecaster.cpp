#include "live/loop/forecaster.h"

#include <sys/resource.h>

#include <algorithm>
#include <chrono>
#include <exception>
#include <nlohmann/json.hpp>

#include "forecast/look_ahead.h"
#include "policy/estimator.h"

namespace trainyard {
namespace {

constexpr Duration kHorizon = days(2);
constexpr Duration kBetween = seconds(2);     // two forecasts, at least
constexpr Duration kOldestIdle = minutes(1);  // nothing has changed, but time goes on
constexpr std::int64_t kShareOfCore = 10;     // one in so many
constexpr std::size_t kMostAsked = 8;
constexpr int kNice = 10;
/// All instants of a forecast, where there is no clock to go by.
constexpr std::uint64_t kMostSteps = 20'000'000;

/// The yard of a snapshot, with a job more and machines less.
Expected<void> begin_yard(const Snapshot& snapshot, const PolicySpec& spec,
                          const std::vector<const JobRecord*>& jobs,
                          const std::vector<std::string>& without, Time now, LiveYard& yard) try {
  yard.recall(nlohmann::json::parse(snapshot.kept->learnt).get<Learnt>());
  MeasuredPauses costs;
  if (auto ok = costs.read(snapshot.kept->costs); ok) yard.recall(std::move(costs));
  std::set<MachineId> closed;
  for (std::uint32_t m = 0; m < snapshot.machines->size(); ++m) {
    const MachineView& machine = *(*snapshot.machines)[m];
    if (machine.state != "up" || std::ranges::find(without, machine.name) != without.end())
      closed.insert(MachineId{m});
  }
  return yard.begin(snapshot.cluster, spec, jobs, closed, now);
} catch (const nlohmann::json::exception& problem) {
  return fail("what the policy has learnt cannot be read: {}", problem.what());
}

std::vector<const JobRecord*> open_jobs(const JobTable& table) {
  std::vector<const JobRecord*> jobs;
  for (const JobNumber number : table.numbers()) jobs.push_back(table.find(number));
  return jobs;
}

/// A job that tells how far it is, is believed; the others' lengths are drawn: they have none.
void forget_lengths(const std::vector<SavedJob>& saved, const JobTable& table, const LiveYard& yard,
                    Workload& workload) {
  for (std::uint32_t j = 0; j < workload.jobs.size(); ++j) {
    const JobRecord* record = table.find(yard.number(JobId{j}));
    const bool tells = record != nullptr && record->progress && record->progress->total > 0 &&
                       record->progress->step > 0 && saved[j].estimate.work.us > 0;
    workload.jobs[j].duration = tells ? saved[j].estimate.work : Duration{};
  }
}

/// A user who declares nothing has no limit, and one who declares exactly as much as is then
/// assumed is taken for one of them.
BeginDraw drawn_lengths(const JobLengths& lengths, const Names& users) {
  return [&]() -> DrawLength {
    return [&, draw = JobLengths::Draw(lengths)](const Job& job, Duration done,
                                                 Random& random) mutable {
      if (job.duration.us > 0) return job.duration;
      return draw.length(users[index(job.user)], job.estimate, done, job.estimate != kAssumedTime,
                         random);
    };
  };
}

Arrivals arrivals_of(const std::vector<const JobRecord*>& came, Time now, LiveYard& yard) {
  Arrivals arrivals;
  if (came.empty()) return arrivals;
  const Time first = std::ranges::min(came, {}, &JobRecord::submitted)->submitted;
  arrivals.span = std::max(now - first, Arrivals::kLeastSpan);
  for (const JobRecord* record : came) {
    Job job = yard.job_like(*record);
    job.submit = Time{} + (record->submitted - first);
    job.duration = {};
    arrivals.jobs.push_back(job);
  }
  std::ranges::stable_sort(arrivals.jobs, {}, &Job::submit);
  return arrivals;
}

/// Jobs and segments by the daemon's numbers; jobs that wait are promised what the record says.
void take_over(const Outlook& ahead, const Beginning& beginning, const LiveYard& yard,
               const BandScale& scale, LiveOutlook& made) {
  for (std::uint32_t j = 0; j < ahead.starts.size(); ++j) {
    const bool waits = !holds_gpus(beginning.jobs[j].state.phase);
    const TimeBand& start = ahead.starts[j];
    made.jobs.push_back({yard.number(JobId{j}), waits, start,
                         waits ? scale.promised(start, made.made_at) : start, ahead.ends[j]});
  }
  std::ranges::sort(made.jobs, {}, &JobOutlook::job);
  for (const Segment& segment : ahead.segments)
    if (index(segment.job) < ahead.starts.size())
      made.segments.push_back(
          {yard.number(segment.job), segment.machine, segment.from, segment.to});
}

}  // namespace

Forecaster::Forecaster(LiveState& state, const Loop& loop)
    : state_(state), loop_(loop), past_(state.journal) {}

Forecaster::~Forecaster() {
  thread_.request_stop();
  if (thread_.joinable()) thread_.join();
  for (Asked& asked : asked_)
    asked.answer.set_value(
        tl::make_unexpected(Refusal{Refusal::Kind::unavailable, "the daemon is ending"}));
}

void Forecaster::begin() {
  if (state_.system.has_threads())
    thread_ = std::jthread([this](const std::stop_token& stop) { run(stop); });
}

std::shared_ptr<const LiveOutlook> Forecaster::last() const {
  const std::lock_guard lock(mutex_);
  return last_;
}

void Forecaster::run(const std::stop_token& stop) {
  (void)::setpriority(PRIO_PROCESS, 0, kNice);  // on Linux, of this thread alone
  std::shared_ptr<const Snapshot> seen;
  Time next = state_.system.steady_clock();
  while (!stop.stop_requested()) {
    {
      std::unique_lock lock(mutex_);
      (void)asked_or_ending_.wait_for(lock, stop, std::chrono::milliseconds(500),
                                      [this] { return !asked_.empty(); });
    }
    if (stop.stop_requested()) return;
    answer_one();
    const Time now = state_.system.steady_clock();
    const auto snapshot = loop_.snapshot();
    if (now < next || (snapshot == seen && now < next + kOldestIdle)) continue;
    make();
    seen = snapshot;
    const Duration took = state_.system.steady_clock() - now;
    next = now + std::max(kBetween, took * kShareOfCore);
  }
}

void Forecaster::make() {
  const auto snapshot = loop_.snapshot();
  auto made = look(*snapshot, {}, {.draws = 32, .time = seconds(20), .segments = 20'000});
  if (!made) return note_failure(made.error().message);
  promise(*snapshot, *made);
  auto next = std::make_shared<const LiveOutlook>(*std::move(made));
  const std::lock_guard lock(mutex_);
  last_ = std::move(next);
}

/// Once for each reason.
void Forecaster::note_failure(const std::string& why) {
  {
    const std::lock_guard lock(mutex_);
    if (std::exchange(last_failure_, why) == why) return;
  }
  state_.system.log().write(LogLevel::warning,
                            fmt::format("no forecast can be made, and the last stays: {}", why));
}

/// The first forecast that sees a job wait promises it what the record makes of the draws.
void Forecaster::promise(const Snapshot& snapshot, const LiveOutlook& made) {
  PromiseBox::Promises promises;
  for (const JobOutlook& job : made.jobs) {
    const JobRecord* record = snapshot.jobs.find(job.job);
    if (record == nullptr || !job.waits || record->promise.made != Time::never() ||
        record->life.state.first_start != Time::never())
      continue;
    promises.emplace_back(job.job, StartPromise{made.made_at, job.drawn, job.start});
  }
  if (!promises.empty()) state_.promises.put(std::move(promises));
}

Answer<LiveOutlook> Forecaster::what_if(OutlookQuestion question) {
  std::future<Answer<LiveOutlook>> answer;
  {
    const std::lock_guard lock(mutex_);
    if (asked_.size() >= kMostAsked)
      return tl::make_unexpected(
          Refusal{Refusal::Kind::unavailable,
                  "others ask what would be as well; try again in some seconds"});
    answer = asked_.emplace_back(Asked{std::move(question), {}}).answer.get_future();
  }
  asked_or_ending_.notify_one();
  if (!state_.system.has_threads()) answer_one();
  return answer.get();
}

void Forecaster::answer_one() {
  Asked asked;
  {
    const std::lock_guard lock(mutex_);
    if (asked_.empty()) return;
    asked = std::move(asked_.front());
    asked_.pop_front();
  }
  auto made =
      look(*loop_.snapshot(), asked.question, {.draws = 16, .time = seconds(5), .segments = 0});
  if (made)
    asked.answer.set_value(*std::move(made));
  else
    asked.answer.set_value(
        tl::make_unexpected(Refusal{Refusal::Kind::invalid, made.error().message}));
}

/// Exceptions are those of a policy or yard at fault: then there is no forecast.
Expected<LiveOutlook> Forecaster::look(const Snapshot& snapshot, const OutlookQuestion& question,
                                       const Bounds& bounds) try {
  const std::lock_guard lock(looking_);
  const Time began = state_.system.steady_clock();
  const Time now = snapshot.at + std::max(began - snapshot.at_steady, Duration{});
  if (auto ok = past_.follow(snapshot.jobs); !ok) return tl::make_unexpected(ok.error());
  const PolicyView policy =
      question.policy.empty() ? *snapshot.policy : PolicyView{question.policy, question.settings};
  const auto spec = parse(policy);
  if (!spec) return tl::make_unexpected(spec.error());

  std::vector<const JobRecord*> jobs = open_jobs(snapshot.jobs);
  JobRecord more;
  if (question.job) {
    more.spec = *question.job, more.owner = question.owner;
    more.submitted = more.eligible = more.life.state.since = now;
    more.life.state.phase = Phase::queued;
    jobs.push_back(&more);
  }
  LiveYard yard(snapshot.cluster, FlowClasses::ignored, state_.options.load_time);
  if (auto ok = begin_yard(snapshot, *spec, jobs, question.without, now, yard); !ok)
    return tl::make_unexpected(ok.error());
  const Beginning beginning = yard.beginning();
  const Arrivals arrivals = arrivals_of(past_.came(snapshot.jobs, now), now, yard);
  Workload known = yard.workload();
  forget_lengths(beginning.jobs, snapshot.jobs, yard, known);
  const LookAheadOptions options{
      .draws = bounds.draws,
      .seed = ++seed_,
      .horizon = kHorizon,
      .most_steps = kMostSteps,
      .is_late = [&] { return state_.system.steady_clock() - began > bounds.time; },
      .most_segments = bounds.segments};
  auto ahead = look_ahead(*snapshot.cluster, known, *spec, beginning,
                          drawn_lengths(past_.lengths(), known.users), arrivals, options);
  if (!ahead) return tl::make_unexpected(ahead.error());

  LiveOutlook made{.made_at = ahead->made_at,
                   .horizon = kHorizon,
                   .took = state_.system.steady_clock() - began,
                   .draws = ahead->draws,
                   .policy = policy.policy,
                   .jobs = {},
                   .segments = {},
                   .cluster = snapshot.cluster,
                   .record = past_.tally(snapshot.jobs)};
  take_over(*ahead, beginning, yard, past_.record(snapshot.jobs).scale(made.made_at), made);
  return made;
} catch (const std::exception& problem) {
  return fail("{}", problem.what());
}

}  // namespace trainyard
