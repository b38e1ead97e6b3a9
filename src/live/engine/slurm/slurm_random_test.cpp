// The engine, a yard that knows only what is reported, and a Slurm in memory, with anything going
// wrong at any time.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <csignal>
#include <random>
#include <set>

#include "live/engine/slurm/testing.h"

namespace trainyard {
namespace {

/// Starts whatever fits, in order, and now and then pauses something; knows what the reports say.
class TinyYard : public SlurmBench {
 public:
  explicit TinyYard(unsigned seed) : SlurmBench(4, 4), random_(seed) {}

  void live_through(int jobs) {
    for (int i = 0; i < jobs; ++i) submit();
    for (int turn = 0; turn < 6000 && (turn < 600 || !all_ended()); ++turn) {
      if (turn < 600) disturb();
      if (down_until_ && clock.now >= *down_until_) slurm.restart(), down_until_.reset();
      clock.now = clock.now + microseconds(200'000);
      for (const EngineReport& report : engine->poll()) hear(report);
      decide();
    }
    EXPECT_TRUE(all_ended()) << unfinished();
    for (const auto& [serial, times] : done_after_)
      EXPECT_EQ(by_us(slurm.begun_by(serial)), times) << "it was done, and ran again";
    for (const auto& [number, job] : jobs_) {
      const bool was_repeated = slurm.begun_by(job.serial).repeats > 0;
      EXPECT_TRUE(!was_repeated || noted_.contains(job.serial))
          << job.name << " was repeated, and nobody noticed";
    }
    EXPECT_THAT(slurm.faults(), testing::IsEmpty());
  }

 private:
  struct Job {
    std::string name;
    std::uint64_t serial = 0;  // Slurm's job
    std::uint32_t runs = 0;
    std::optional<MachineId> where;  // its GPUs are held
    bool has_ended = false, is_outside = false, is_withdrawn = false;
    bool is_leaving = false;  // it was told to
    std::int32_t gpus = 1;
  };

  int chance(int n) { return static_cast<int>(random_() % static_cast<unsigned>(n)); }
  void submit() {
    ++submitted_;
    slurm.sbatch(1, 1 + chance(4),
                 {.runs_for = seconds(1 + chance(20)),
                  .leaves_after = chance(3) == 0 ? std::optional<Duration>()
                                                 : std::optional(seconds(chance(3))),
                  .exit_when_told = chance(2) == 0 ? 0 : 128 + SIGTERM});
  }
  void disturb() {
    if (chance(100) == 0) slurm.lose_next_answer();
    if (chance(100) == 0) slurm.delay_next_act();
    if (chance(150) == 0) slurm.kill(), down_until_ = clock.now + seconds(chance(20));
    const bool has_paused = !down_until_ && chance(60) == 0 && pause_one();
    if (!down_until_ && chance(has_paused ? 4 : 200) == 0) {
      clock.now = clock.now + seconds(chance(4));  // no daemon is there
      restart_daemon();
    }
    if (chance(40) == 0 && submitted_ < 60) submit();
  }
  void restart_daemon() {
    reopen();
    for (auto& [number, job] : jobs_)
      if (!job.has_ended) engine->call(job.name, number);
    for (auto& [number, job] : jobs_)
      if (job.where && !job.has_ended) {
        (void)engine->adopt({number, job.runs});
        if (job.is_leaving) tell_to_leave(number, job);
      }
  }
  void tell_to_leave(JobNumber number, Job& job) {
    job.is_leaving = true;
    (void)engine->stop({.id = {number, job.runs}, .signal = {}, .grace = seconds(3)});
  }
  bool pause_one() {
    for (auto& [number, job] : jobs_)
      if (job.where && !job.has_ended && !job.is_outside && chance(3) == 0)
        return tell_to_leave(number, job), true;
    return false;
  }
  void hear(const EngineReport& report) {
    if (const auto* birth = std::get_if<BirthReport>(&report)) return hear_birth(*birth);
    const auto* run = std::get_if<RunReport>(&report);
    if (run == nullptr || !jobs_.contains(run->id.job)) return;
    Job& job = jobs_[run->id.job];
    if (run->kind == RunReport::Kind::noted) noted_.insert(job.serial);
    if (run->kind == RunReport::Kind::withdrawn) {
      job.is_withdrawn = true;
      return job.where ? void() : finish(run->id.job);
    }
    if (run->id.run != job.runs || job.has_ended) return;
    if (run->kind == RunReport::Kind::broken) return tell_to_leave(run->id.job, job);
    if (!is_end(run->kind)) return;
    const bool was_paused = run->kind == RunReport::Kind::exited && run->exit_status != 0;
    if (run->kind == RunReport::Kind::exited && run->exit_status == 0 && !run->asked_requeue) {
      const ScriptedSlurm::Begun begun = slurm.begun(id_of(job));
      EXPECT_TRUE(job.is_withdrawn || !begun.left_when_told)
          << job.name << " is done with work left";
      done_after_[slurm.serial(id_of(job))] = by_us(begun);
    }
    job.where.reset(), job.is_leaving = false;
    const bool comes_back = run->kind == RunReport::Kind::lost || was_paused || run->asked_requeue;
    if (!comes_back || job.is_withdrawn || job.is_outside) finish(run->id.job);
  }
  void finish(JobNumber number) {
    jobs_[number].has_ended = true;
    engine->end(number);
  }
  void hear_birth(const BirthReport& birth) {
    for (const auto& [number, job] : jobs_)
      if (job.name == birth.name) {
        engine->call(birth.name, number);
        if (job.has_ended) engine->end(number);
        return;
      }
    const JobNumber number = ++last_;
    Job& job = jobs_[number];
    job.name = birth.name;
    job.serial = slurm.serial(id_of(job));
    job.gpus = birth.spec.per_worker.gpus;
    if (!birth.places.empty()) {
      job.where = birth.places.front().machine, job.runs = 1, job.is_outside = true;
      job.gpus = static_cast<std::int32_t>(birth.places.front().gpus.size());
    }
    engine->call(birth.name, number);
  }
  std::int32_t free_on(MachineId machine) const {
    std::int32_t free = 4;
    for (const auto& [number, job] : jobs_)
      if (job.where == machine) free -= job.gpus;
    return free;
  }
  void decide() {
    for (auto& [number, job] : jobs_) {
      if (job.where || job.has_ended) continue;
      for (std::uint32_t m = 0; m < 4 && !job.where; ++m) {
        if (free_on(MachineId{m}) < job.gpus) continue;
        Launch launch;
        launch.id = {number, ++job.runs};
        launch.born_as = job.name;
        launch.per_worker.gpus = job.gpus;
        launch.workers = {{MachineId{m}, {}}};
        job.where = MachineId{m};
        EXPECT_TRUE(engine->start(launch));
      }
    }
  }
  [[nodiscard]] bool all_ended() {
    return std::ranges::all_of(jobs_, [](const auto& job) { return job.second.has_ended; }) &&
           slurm.processes() == 0;
  }

  /// What Slurm itself repeats because it has forgotten it, before anybody looks, is its own.
  static int by_us(const ScriptedSlurm::Begun& begun) { return begun.times - begun.repeats; }
  static std::string id_of(const Job& job) { return job.name.substr(6, job.name.find('@') - 6); }
  std::string unfinished() {
    std::string text;
    for (const auto& [number, job] : jobs_) {
      if (job.has_ended) continue;
      const auto there = slurm.job(id_of(job));
      text += fmt::format("job {} ({}), run {}{}: {} {}\n", number, job.name, job.runs,
                          job.where ? " is to run" : "", there ? name(there->state) : "gone",
                          there ? there->mark : "");
    }
    return text;
  }

  std::mt19937 random_;
  std::map<JobNumber, Job> jobs_;
  JobNumber last_ = 0;
  int submitted_ = 0;
  std::optional<Time> down_until_;
  std::set<std::uint64_t> noted_;            // by serial: something happened behind our back
  std::map<std::uint64_t, int> done_after_;  // by serial: how often it had been begun then
};

TEST(SlurmRunsAtRandom, NothingIsLostAndNoGpuGivenTwiceWhateverHappens) {
  for (unsigned seed = 1; seed <= 100; ++seed) {
    SCOPED_TRACE(testing::Message() << "seed " << seed);
    TinyYard yard(seed);
    yard.live_through(20);
    if (testing::Test::HasFailure()) return;
  }
}

}  // namespace
}  // namespace trainyard
