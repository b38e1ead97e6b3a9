// The reference's jobs and machines, and what happens to them. The books that yard/ keeps step by
// step are summed up here whenever they are asked for.
#pragma once

#include <optional>
#include <set>
#include <vector>

#include "model/cluster.h"
#include "model/workload.h"
#include "reference_place.h"
#include "reference_simulator.h"

namespace trainyard::reference {

enum class Stage { absent, queued, reserved, starting, running, draining, done };

struct Train {  // a job in the yard
  Stage stage = Stage::absent;
  Time since;  // of the stage
  Time first_start = Time::never();
  Duration done;     // work that counts; while running, of earlier runs
  Duration unsaved;  // while draining: work that a failure loses
  Duration estimate;
  double pace = 1;  // time for a unit of work; while starting or running
  /// While running: at which pace since when, all through the run.
  std::vector<std::pair<Time, double>> stretches;
  std::int64_t pauses = 0;
  Spots spots;                  // while reserved or later: where its workers are or will be
  std::vector<Resources> held;  // of each machine
  std::optional<std::size_t> leaves_for;
  std::multiset<std::size_t> gave_way_to;  // those it was paused for, once for each pause

  // What 2D-LAS knows of it.
  std::size_t level = 0;
  std::int64_t forgiven = 0;  // GPU-microseconds
  Time promotion = Time::never();
};

class State {
 public:
  State(const Cluster& cluster, const Workload& workload);

  [[nodiscard]] const Job& job(std::size_t j) const { return workload_.jobs[j]; }
  [[nodiscard]] Gang gang(std::size_t j) const { return {job(j).per_worker, job(j).workers}; }
  [[nodiscard]] bool holds(std::size_t j) const;
  [[nodiscard]] std::vector<std::size_t> in(Stage stage) const;

  [[nodiscard]] Resources free_on(std::size_t machine) const;
  [[nodiscard]] bool suits(std::size_t j, std::size_t machine) const;
  /// Where job j may go, and what is free there.
  [[nodiscard]] Free free_for(std::size_t j) const;

  [[nodiscard]] Duration expected_remaining(std::size_t j) const;
  [[nodiscard]] Time expected_end(std::size_t j) const;
  [[nodiscard]] std::int64_t service(std::size_t j) const;
  /// When it will have loaded, finished or drained by itself.
  [[nodiscard]] Time next_of(std::size_t j) const;

  void submit(std::size_t j) { queue(j); }
  void start(std::size_t j, const Spots& spots);
  void reserve(std::size_t j, const Spots& spots, const std::vector<std::size_t>& victims);
  /// What next_of() announced happens.
  void progress(std::size_t j);
  void fail_machine(std::size_t machine);
  void repair_machine(std::size_t machine) { up[machine] = true; }
  /// What is on the machine goes so many times as fast as usual.
  void set_speed(std::size_t machine, double speed);

  Time now;
  std::vector<Train> trains;
  std::vector<bool> up;
  std::vector<double> speeds;           // of machines
  std::vector<std::size_t> queued_now;  // entered the queue since the policy last looked
  const Cluster& cluster;

 private:
  void enter(std::size_t j, Stage stage);
  void queue(std::size_t j);
  void begin_start(std::size_t j);
  void pause(std::size_t j, std::size_t heir);
  void vacate(std::size_t j);
  void void_reservation(std::size_t j);
  void fall_back(std::size_t j);
  [[nodiscard]] bool takes(std::size_t j, const std::string& kind) const;
  [[nodiscard]] double pace_on(std::size_t j, const Spots& spots) const;
  [[nodiscard]] Time end_of(std::size_t j, Duration work) const;

  const Workload& workload_;
};

}  // namespace trainyard::reference
