// One gang over a whole cluster of machines with a GPU each: how much longer it takes for each
// machine when there are four times as many. It is placed on an empty cluster; or a job runs on
// every machine, and all of them are paused for it.
#include "bench.h"
#include "policy/registry.h"
#include "sim/simulation.h"

namespace trainyard::bench {
namespace {

constexpr std::int32_t kMachines = 62'500;

Job gang(std::int32_t workers, Duration duration, JobClass job_class, Time submit) {
  Job job;
  job.submit = submit;
  job.duration = job.estimate = duration;
  job.workers = job.min_workers = job.max_workers = workers;
  job.job_class = job_class;
  return job;
}

/// Seconds of a run with a gang as wide as the cluster, after a job on every machine if `paused`.
double run(std::int32_t machines, const char* policy, bool paused) {
  const Cluster cluster = must(parse_cluster_shorthand(fmt::format("{}x1xV100", machines)));
  const PolicySpec spec = must(PolicySpec::parse(policy));
  Workload workload;
  if (paused)
    for (std::int32_t i = 0; i < machines; ++i)
      workload.jobs.push_back(gang(1, hours(10), JobClass::batch, Time{}));
  workload.jobs.push_back(gang(machines, hours(1), JobClass::trial, Time{} + hours(1)));
  return median_of(3, [&] {
    return seconds([&] {
      Simulation simulation(cluster, workload, spec, {});
      simulation.run();
      if (simulation.result().finished != workload.jobs.size()) std::abort();
    });
  });
}

void add(Table& table, const std::string& name, const char* policy, bool paused) {
  const double small = run(kMachines, policy, paused), large = run(4 * kMachines, policy, paused);
  table.add({fmt::format("{}: a machine, 250,000 to 62,500", name),
             large / 4 / small,
             "times",
             Target{Target::Is::at_most, 2},
             {},
             fmt::format("{} s with 250,000", number(large))});
}

}  // namespace

void measure_gangs(Table& table) {
  if (table.wants("gang/start")) add(table, "gang", "fifo", false);
  if (table.wants("gang/room")) add(table, "room", "srtf", true);
}

}  // namespace trainyard::bench
