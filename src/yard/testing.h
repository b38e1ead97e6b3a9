// A yard moved by hand, for the unit tests of yard/ and policy/: jobs are made up and submitted one
// by one, and what a scene needs to be the case is brought about or the test ends.
#pragma once

#include <algorithm>
#include <stdexcept>
#include <string>
#include <vector>

#include "model/cluster.h"
#include "model/workload.h"
#include "yard/plan.h"
#include "yard/yard.h"

namespace trainyard {

inline Job gang(std::int32_t workers, std::int32_t gpus_each = 1, Duration duration = hours(1)) {
  Job job;
  job.workers = job.min_workers = job.max_workers = workers;
  job.per_worker = {.gpus = gpus_each};
  job.duration = job.estimate = duration;
  return job;
}

inline Job trial(Job job) {
  job.job_class = JobClass::trial;
  return job;
}

/// A pause costs grace + save, every start costs load.
inline Job costly(Job job, Duration grace, Duration save, Duration load) {
  job.grace = grace, job.save = save, job.load = load;
  return job;
}

/// All of the gang on one machine.
inline Placement on(std::uint32_t machine, std::int32_t workers) {
  return {{MachineId{machine}, workers}};
}

class HandYard {
 public:
  explicit HandYard(Cluster c, YardRules rules = {.min_run = {}, .max_pauses = 64})
      : cluster(std::move(c)), yard(cluster, workload, rules) {
    must(yard.apply({Time{}, EventKind::clock}));
  }
  explicit HandYard(const std::string& shorthand) : HandYard(*parse_cluster_shorthand(shorthand)) {}

  /// Moves the clock to this long after the beginning.
  void at(Duration since_start) { must(yard.apply({Time{} + since_start, EventKind::clock})); }

  JobId submit(Job job) {
    job.submit = yard.now();
    workload.jobs.push_back(job);
    const JobId id{static_cast<std::uint32_t>(workload.jobs.size() - 1)};
    tell(EventKind::submitted, id);
    return id;
  }

  Verdict hear(EventKind kind, JobId job) { return yard.apply(Event::of(yard.now(), kind, job)); }
  Verdict hear(EventKind kind, MachineId m) { return yard.apply(Event::of(yard.now(), kind, m)); }
  template <class Subject>
  void tell(EventKind kind, Subject subject) {
    must(hear(kind, subject));
  }

  Verdict start(JobId job, const Placement& placement) { return Plan(yard).start(job, placement); }
  Verdict make_room(JobId job, const Placement& room, const std::vector<JobId>& victims) {
    return Plan(yard).make_room(job, room, victims);
  }

  /// Submits the job and has it running there.
  JobId running(const Job& job, const Placement& placement) {
    const JobId id = submit(job);
    must(start(id, placement));
    tell(EventKind::loaded, id);
    return id;
  }
  JobId running(const Job& job, std::uint32_t machine) {
    return running(job, on(machine, job.workers));
  }

  [[nodiscard]] Phase phase(JobId job) const { return yard.state(job).phase; }
  [[nodiscard]] std::int32_t free_gpus(std::uint32_t machine) const {
    return yard.free().on(MachineId{machine}).gpus;
  }

  /// The orders since last asked, as "start 0, pause 2, flow 1 in class 3".
  std::string orders() {
    std::string text;
    for (const Order& order : yard.orders()) {
      constexpr std::string_view kNames[] = {"start", "pause", "stop", "flow"};
      text += fmt::format("{}{} {}", text.empty() ? "" : ", ",
                          kNames[static_cast<std::size_t>(order.kind)], index(order.job));
      if (order.kind == Order::Kind::flow || order.flow != kFirstFlow)
        text += fmt::format(" in class {}", static_cast<int>(order.flow));
    }
    yard.clear_orders();
    return text;
  }

  static void must(Verdict verdict) {
    if (verdict != Verdict::ok) throw std::logic_error(std::string(describe(verdict)));
  }

  Cluster cluster;
  Workload workload;
  Yard yard;
};

}  // namespace trainyard
