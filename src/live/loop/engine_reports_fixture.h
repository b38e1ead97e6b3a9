// For tests of what engines report: a daemon on a cluster in memory, whose processes show whether
// anything runs where another still lives.
#pragma once

#include <gmock/gmock.h>

#include <thread>

#include "live/engine/memory/memory_engine.h"
#include "live/loop/yardmaster_fixture.h"

namespace trainyard {

class EngineReports : public MasterTest {
 protected:
  using State = MachineReport::State;

  EngineReports() { begin(); }
  ~EngineReports() override {
    master.reset();  // before its engine
    EXPECT_THAT(world.faults(), testing::IsEmpty());
  }

  /// Ends the daemon and begins it again.
  void begin() {
    master.reset();
    engine = std::make_unique<MemoryEngine>(system, world);
    begin_on(*engine);
  }
  void pass(Duration time) {
    system.pass(time);
    system.set_wall_clock_by(time);
    world.wake();
    nudge();
  }
  void down(const std::string& machine) { world.set_machine({machine, State::down, "no answer"}); }
  void up(const std::string& machine) { world.set_machine({machine, State::up, ""}); }
  MachineView node(std::size_t machine) { return master->cluster(kOperator)->machines.at(machine); }
  bool node_becomes(std::size_t machine, const std::string& wanted) {
    return eventually([&] { return node(machine).state == wanted; });
  }
  JobNumber submit_that(const JobSpec& job, const MemoryScript& script) {
    world.set_script(++last, script);
    return submit(job);
  }
  /// The engine has been told to start it, and its clock runs.
  bool begins(JobNumber job, std::uint32_t run = 1) {
    return eventually([&] { return !world.places({job, run}).empty(); });
  }
  static JobSpec gang(std::int32_t workers, std::int32_t gpus) {
    JobSpec made = spec(gpus);
    made.workers = workers;
    made.grace = seconds(10);
    return made;
  }
  static Cluster cluster(const std::string& shorthand) {
    return *parse_cluster_shorthand(shorthand);
  }
  /// A machine that comes before those that there are: all of them have other ids.
  static Cluster with_one_before() {
    Cluster made = cluster("3x4xV100");
    made.machines[0].name = "new", made.machines[1].name = "r0m0", made.machines[2].name = "r0m1";
    return made;
  }
  static Cluster with_gpus(Cluster of, std::size_t machine, std::int32_t gpus) {
    of.total_gpus += gpus - of.machines[machine].capacity.gpus;
    of.machines[machine].capacity.gpus = gpus;
    return of;
  }
  bool machines_become(std::size_t count) {
    return eventually([&] { return master->cluster(kOperator)->machines.size() == count; });
  }
  /// The engine says all that happens in `what` at once.
  template <class What>
  void at_once(What what) {
    system.hold("journal.commit");
    std::thread other([&] { (void)master->submit(kAda, spec(4)); });
    ++last;
    system.wait_for_hold();
    what();
    system.go_on();
    other.join();
    nudge();
  }
  /// The yard has the job where its processes are.
  void expect_where_it_is(JobNumber job) {
    EXPECT_EQ(record(job).life.room.placement[0].machine,
              world.places(record(job).run()).at(0).machine);
  }

  MemoryWorld world{system, cluster("2x4xV100")};
  std::unique_ptr<MemoryEngine> engine;
  JobNumber last = 0;
};

}  // namespace trainyard
