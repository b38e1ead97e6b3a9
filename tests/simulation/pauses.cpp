#include "pauses.h"

#include <algorithm>

#include "base/random.h"
#include "machine.h"

namespace trainyard {
namespace {

constexpr Duration kMinRun = seconds(10), kLoadTime = seconds(15), kHour = hours(1);
constexpr Duration kTolerance = seconds(1);  // of turns of the daemon
const Identity kAda{"ada", 1001, 1001, Role::user};
const Identity kOperator{"root", 0, 0, Role::operator_};

JobSpec spec(std::int32_t gpus, JobClass job_class, Duration time) {
  JobSpec made;
  made.command = {"train"};
  made.name = job_class == JobClass::trial ? "short" : "long";
  made.per_worker.gpus = gpus;
  made.job_class = job_class;
  made.time = time;
  made.grace = seconds(5);
  return made;
}

class Starvation {
 public:
  Starvation(const std::string& policy, std::uint64_t seed)
      : lots_(seed, 31), machine_(make(policy, seed)) {
    load_ = seconds(static_cast<std::int64_t>(1 + lots_.below(lots_.below(2) == 0 ? 20 : 200)));
    reports_ = lots_.below(4) != 0;
    machine_->world().set_scripts([this](const Launch& launch) { return script_of(launch); });
  }

  StarvationResult run() {
    if (auto why = machine_->begin(); !why.empty()) return {why, 0};
    const auto job = machine_->master().submit(kAda, spec(2, JobClass::batch, hours(20)));
    if (!job) return {job.error().message, 0};
    long_ = job->number;
    const Time end = machine_->now() + kHour;
    while (machine_->now() < end) {
      const bool is_trial = lots_.below(2) == 0;
      JobSpec next = spec(1, JobClass::trial, seconds(30));
      if (!is_trial) next.job_class = JobClass::batch;
      if (auto done = machine_->master().submit(kAda, next); !done)
        return {done.error().message, 0};
      machine_->pass(seconds(static_cast<std::int64_t>(1 + lots_.below(8))));
      if (lots_.below(100) == 0) restart();
      if (lots_.below(10) == 0) machine_->journal().checkpoint();
      if (auto wrong = look(); !wrong.empty()) return {wrong, 0};
    }
    return {"", pauses_};
  }

 private:
  static std::unique_ptr<SimulatedMachine> make(const std::string& policy, std::uint64_t seed) {
    SchedulingOptions options;
    options.policy = {policy, {fmt::format("yard.min_run={}s", kMinRun.us / 1'000'000)}};
    options.load_time = kLoadTime;
    return std::make_unique<SimulatedMachine>(seed, SimulatedMachine::Jobs::in_memory,
                                              *parse_cluster_shorthand("1x2xV100"), options);
  }

  void restart() {
    machine_->end();
    (void)machine_->begin();
    has_restarted_ = true;
  }

  [[nodiscard]] MemoryScript script_of(const Launch& launch) const {
    MemoryScript script;
    if (launch.spec->name == "short") {
      script.runs_for = seconds(1);
      return script;
    }
    script.leaves_after = seconds(2);
    if (reports_) script.tells.emplace().step = 1;
    script.tells_after = load_, script.tells_every = seconds(1);
    return script;
  }

  /// The job says nothing before a report, so its runs without one are taken for load for longer
  /// each time: 15 s, 30 s ...
  std::string look() {
    std::uint64_t unseen = 0, pauses = 0;
    Duration worked;
    for (const MemoryWorld::Seen& run : machine_->runs()) {
      if (run.id.job != long_ || !run.has_run) continue;
      const bool was_told = run.told_to_leave != Time::never();
      const Time until = run.has_ended ? run.end.at : machine_->now();
      if (!reports_) worked += until - run.began_to_run;
      if (run.first_told <= until) worked += until - run.first_told;
      if (!was_told) continue;
      ++pauses;
      const bool has_told = run.first_told <= run.told_to_leave;
      const Time loaded = has_told ? run.first_told : run.began_to_run + kLoadTime;
      if (run.told_to_leave < loaded + kMinRun - kTolerance)
        return fmt::format(
            "run {} was told to leave {} after it {}", run.id.run,
            format(run.told_to_leave - (has_told ? run.first_told : run.began_to_run)),
            has_told ? "made progress" : "began, without progress");
      if (!has_told) ++unseen;
    }
    pauses_ = pauses;
    const auto most = static_cast<std::uint64_t>(load_.us / kLoadTime.us + 1);
    if (reports_ && unseen > most)
      return fmt::format(
          "{} runs were told to leave before their first progress, of {}, which "
          "takes {}",
          unseen, pauses, format(load_));
    const auto job = machine_->master().job(kOperator, long_);
    if (!job) return job.error().message;
    // Before the first report nobody knows.
    const bool is_known = !reports_ || job->load.took.has_value();
    if (is_known && !has_restarted_ &&
        job->life.state.done > worked + kTolerance * std::int64_t(pauses + 1))
      return fmt::format("{} of work are booked, and it worked for {}",
                         format(job->life.state.done), format(worked));
    return {};
  }

  Random lots_;
  Duration load_;
  bool reports_ = true, has_restarted_ = false;
  JobNumber long_ = 0;
  std::uint64_t pauses_ = 0;
  std::unique_ptr<SimulatedMachine> machine_;
};

}  // namespace

StarvationResult keep_pausing(const std::string& policy, std::uint64_t seed) {
  return Starvation(policy, seed).run();
}

}  // namespace trainyard
