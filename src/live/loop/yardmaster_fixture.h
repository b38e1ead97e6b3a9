// For tests of the yardmaster: a daemon without network and processes, that can be ended and begun
// again, and people who ask it for something.
#pragma once

#include <gtest/gtest.h>

#include "live/engine/testing.h"
#include "live/loop/yardmaster.h"
#include "live/system/testing.h"

namespace trainyard {

inline Identity person(const std::string& name, uid_t uid, Role role = Role::user) {
  return {name, uid, uid, role};
}

inline const Identity kAda = person("ada", 1001), kBob = person("bob", 1002);
inline const Identity kOperator = person("root", 0, Role::operator_);

inline JobSpec spec(std::int32_t gpus = 1, JobClass job_class = JobClass::batch) {
  JobSpec made;
  made.command = {"train"};
  made.per_worker.gpus = gpus;
  made.job_class = job_class;
  return made;
}

/// On whatever engine.
class MasterTest : public testing::Test {
 protected:
  using Kind = RunReport::Kind;

  void begin_on(Engine& on, bool private_jobs = false) {
    master.reset();
    journal.reset();
    auto opened = Journal::open(system, directory.path() + "/journal.db");
    ASSERT_TRUE(opened) << opened.error().message;
    journal = std::move(*opened);
    SchedulingOptions options;
    options.policy = given;
    options.private_jobs = private_jobs;
    options.memory = memory;
    options.keep_checkpoints = keep_checkpoints;
    options.least_erased_a_day = least_erased_a_day;
    options.disk = disk;
    options.admitted_at_once = admitted_at_once;
    options.load_time = load_time;
    auto started = Yardmaster::start(system, *journal, on, options);
    ASSERT_TRUE(started) << started.error().message;
    master = std::move(*started);
  }

  JobNumber submit(const JobSpec& job, const Identity& who = kAda) {
    const auto done = master->submit(who, job);
    EXPECT_TRUE(done) << done.error().message;
    return done ? done->number : 0;
  }

  std::string state(JobNumber job) {
    const auto record = master->job(kOperator, job);
    return record ? std::string(state_name(record->shown_phase())) : record.error().message;
  }
  JobRecord record(JobNumber job) { return *master->job(kOperator, job); }
  bool becomes(JobNumber job, const std::string& wanted) {
    return eventually([&] { return state(job) == wanted; });
  }
  /// All of it.
  std::string history(const Identity& who) {
    std::string csv;
    for (Service::HistoryPart part; !part.is_last; csv += part.csv) {
      auto next = master->history(who, part);
      EXPECT_TRUE(next) << next.error().message;
      part = next ? *std::move(next) : Service::HistoryPart{{}, 0, {}, true};
    }
    return csv;
  }
  /// Something happens, so that the daemon looks at the clock that the test has moved.
  void nudge() { (void)master->cancel(kOperator, {1'000'000}); }

  PolicyView given{"fitgpp", {"yard.min_run=0"}};
  std::size_t memory = SchedulingOptions{}.memory;
  std::optional<Duration> keep_checkpoints;
  std::size_t least_erased_a_day = SchedulingOptions{}.least_erased_a_day;
  std::int64_t disk = SchedulingOptions{}.disk;
  std::size_t admitted_at_once = SchedulingOptions{}.admitted_at_once;
  Duration load_time{};
  TemporaryDirectory directory;
  HandSystem system;
  std::unique_ptr<Journal> journal;
  std::unique_ptr<Yardmaster> master;
};

class YardmasterTest : public MasterTest {
 protected:
  YardmasterTest() { begin(); }
  ~YardmasterTest() override { master.reset(); }  // before its engine

  void begin(const std::string& cluster = "1x4xV100", bool private_jobs = false) {
    master.reset();
    engine = std::make_unique<HandEngine>(cluster);
    begin_on(*engine, private_jobs);
  }

  bool told(const std::string& line) {
    return eventually([&] { return engine->was_told(line); });
  }
  /// Has the job running.
  void run(JobNumber job, std::uint32_t number = 1) {
    ASSERT_TRUE(told(fmt::format("start {}.{}", job, number)));
    engine->report(Kind::started, {job, number});
    ASSERT_TRUE(becomes(job, "running"));
  }

  /// It ran `scontrol requeue` and ended.
  static RunReport asks_again(RunId id) {
    RunReport report;
    report.kind = Kind::exited, report.id = id, report.asked_requeue = true;
    report.at = Time::never();
    return report;
  }

  std::unique_ptr<HandEngine> engine;
};

}  // namespace trainyard
