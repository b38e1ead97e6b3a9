// Small trial jobs among batch jobs on a cluster that is always asked for more than it has: the
// synthetic workload of FitGpp's study (Yabuuchi et al. 2019), reconstructed from descriptions.
//
// Run times, pauses and demands are drawn from normal distributions, redrawn until they fall within
// their bounds; the means and deviations named are those before that. Every job is one worker.
//
// The load is the demand of all jobs that have not ended, waiting ones included, over what the
// cluster has, in the resource where that is most. It is held under a policy: a job is submitted as
// soon as it is below `load` in a simulation of that policy on the cluster, and these times are
// kept. Held under FIFO, every policy sees the same jobs at the same times, and how far FIFO lags
// behind is given; but a policy with more throughput than FIFO then works the queue off. Held under
// the policy that is run, the load is the same under each, for as long as the trace is.
#include <algorithm>
#include <cmath>

#include "sim/simulation.h"
#include "workload/generate/parts.h"

namespace trainyard {
namespace {

/// Normal, between bounds.
struct Law {
  double mean = 0, deviation = 0, low = 0, high = 0;

  double draw(Random& random) const {
    if (deviation == 0 || low >= high) return std::clamp(mean, low, std::max(low, high));
    // All but flat between bounds so close, which redrawing would hardly ever meet.
    if (high - low < deviation / 100) return random.uniform(low, high);
    return random.truncated_normal(mean, deviation, low, high);
  }
};

/// What tells the two classes apart.
struct ClassLaws {
  Law run_s, gpus, cpus, memory_gib;
};

struct Laws {
  ClassLaws trial, batch;
  Law pause_s;
  double trial_share = 0;
  std::int32_t trial_workers = 1;
};

/// Means lie between bounds, so that redrawing ends soon.
Law time_law(Duration mean, Duration most, double spread, Duration shortest) {
  Law law;
  law.low = shortest.seconds();
  law.high = std::max(most.seconds(), law.low);
  law.mean = std::clamp(mean.seconds(), law.low, law.high);
  law.deviation = spread * law.mean;
  return law;
}

Law read_run(Settings& settings, std::string_view mean, std::string_view most, double spread,
             Duration shortest) {
  return time_law(settings.positive_duration(mean), settings.positive_duration(most), spread,
                  shortest);
}

Law read_demand(Settings& settings, std::string_view mean, double spread, double low, double high) {
  Law law;
  law.low = std::min(low, high);  // a machine may have none of it
  law.high = high;
  law.mean = std::clamp(settings.real(mean, 1, 1e6), law.low, law.high);
  law.deviation = spread * law.mean;
  return law;
}

/// The most that any one machine has, which a job may ask for.
Resources largest_machine(const Cluster& cluster) {
  return std::max_element(
             cluster.machines.begin(), cluster.machines.end(),
             [](const Machine& a, const Machine& b) { return a.capacity.gpus < b.capacity.gpus; })
      ->capacity;
}

Laws read_laws(Settings& settings, const Cluster& cluster) {
  const Resources most = largest_machine(cluster);
  const double run_spread = settings.real("run_spread", 0, 10);
  const double demand_spread = settings.real("demand_spread", 0, 10);
  const Duration shortest = settings.positive_duration("shortest");
  const double cpus = most.milli_cpus / 1000.0, memory_gib = most.memory_mib / 1024.0;
  Laws laws;
  laws.trial.run_s = read_run(settings, "trial_run", "trial_longest", run_spread, shortest);
  laws.batch.run_s = read_run(settings, "batch_run", "batch_longest", run_spread, shortest);
  laws.trial.gpus = read_demand(settings, "trial_gpus", demand_spread, 1, most.gpus);
  laws.batch.gpus = read_demand(settings, "batch_gpus", demand_spread, 1, most.gpus);
  laws.trial.cpus = read_demand(settings, "trial_cpus", demand_spread, 1, cpus);
  laws.batch.cpus = read_demand(settings, "batch_cpus", demand_spread, 1, cpus);
  laws.trial.memory_gib = read_demand(settings, "trial_memory", demand_spread, 1, memory_gib);
  laws.batch.memory_gib = read_demand(settings, "batch_memory", demand_spread, 1, memory_gib);
  laws.pause_s = time_law(settings.duration("grace"), settings.duration("longest_grace"),
                          run_spread, Duration{});
  const double scale = settings.real("grace_scale", 0, 1000);
  laws.pause_s.mean *= scale, laws.pause_s.deviation *= scale, laws.pause_s.high *= scale;
  laws.trial_share = settings.real("trial", 0, 1);
  laws.trial_workers = static_cast<std::int32_t>(settings.whole("trial_workers", 1, 1'000'000));
  return laws;
}

/// Its streams are apart from each other, so that a job keeps its run time when its demand changes.
struct Streams {
  Random runs, demands, pauses, classes;
};

Job draw_job(const Laws& laws, Streams& random) {
  Job job;
  const bool is_trial = random.classes.uniform() < laws.trial_share;
  const ClassLaws& of = is_trial ? laws.trial : laws.batch;
  job.job_class = is_trial ? JobClass::trial : JobClass::batch;
  if (is_trial) job.workers = job.min_workers = job.max_workers = laws.trial_workers;
  job.duration = job.estimate = job_duration(of.run_s.draw(random.runs));
  job.grace = Duration{std::llround(laws.pause_s.draw(random.pauses) * 1e6)};
  job.per_worker.gpus = static_cast<std::int32_t>(std::lround(of.gpus.draw(random.demands)));
  job.per_worker.milli_cpus =
      static_cast<std::int32_t>(std::lround(of.cpus.draw(random.demands))) * 1000;
  job.per_worker.memory_mib =
      static_cast<std::int32_t>(std::lround(of.memory_gib.draw(random.demands))) * 1024;
  job.submit = Time::never();
  return job;
}

/// The demand of all jobs in the system.
class Demand final : public YardListener {
 public:
  Demand(const Workload& workload, const Cluster& cluster) : workload_(workload) {
    for (const Machine& machine : cluster.machines) add(machine.capacity, 1, capacity_);
  }

  void submit(JobId job) { add(job, 1); }
  void on_phase(JobId job, Phase /*from*/, Phase to) override {
    if (has_ended(to)) add(job, -1);
  }

  [[nodiscard]] double load() const {
    double most = 0;
    for (std::size_t r = 0; r < demand_.size(); ++r)
      if (capacity_[r] > 0)
        most = std::max(most, static_cast<double>(demand_[r]) / static_cast<double>(capacity_[r]));
    return most;
  }

 private:
  using Sums = std::array<std::int64_t, 3>;
  void add(JobId id, std::int64_t times) {
    const Job& job = workload_.jobs[index(id)];
    add(job.per_worker, times * job.workers, demand_);
  }
  static void add(const Resources& r, std::int64_t times, Sums& sums) {
    sums[0] += times * r.gpus, sums[1] += times * r.milli_cpus, sums[2] += times * r.memory_mib;
  }

  const Workload& workload_;
  Sums demand_{}, capacity_{};
};

/// Gives every job the time of its submission.
void hold_load(double load, const PolicySpec& policy, const Cluster& cluster, Workload& workload) {
  Demand demand(workload, cluster);
  Simulation simulation(cluster, workload, policy, {});
  simulation.listen(demand);
  Time now;
  for (std::size_t next = 0;;) {
    for (; next < workload.jobs.size() && demand.load() < load; ++next) {
      workload.jobs[next].submit = now;
      demand.submit(JobId{static_cast<std::uint32_t>(next)});
    }
    if (next == workload.jobs.size() || !simulation.step()) return;
    now = simulation.yard().now();
  }
}

}  // namespace

std::vector<Parameter> trial_batch_parameters() {
  return {
      {"jobs", "65536", "how many"},
      {"load", "2", "demand of all unfinished jobs over what there is"},
      {"held_under", "fifo", "the policy, a preset or a line of stages, under which it is that"},
      {"cut", "0", "of the jobs that come first, and last, this share is in no figure; below 0.5"},
      {"trial", "0.3", "share of jobs that are trial jobs, 0 to 1; the others are batch"},
      {"users", "0", "how many users submit, each as often as the others; 0: they are not named"},
      {"trial_run", "5m", "mean run time of trial jobs"},
      {"trial_longest", "30m", "and the longest"},
      {"batch_run", "30m", "mean run time of batch jobs"},
      {"batch_longest", "24h", "and the longest"},
      {"shortest", "10s", "the shortest run time of either"},
      {"run_spread", "1", "deviation of run times and grace periods over their mean"},
      {"grace", "3m", "mean time between being told to leave and leaving"},
      {"longest_grace", "20m", "and the longest"},
      {"grace_scale", "1", "times what the two say"},
      {"trial_gpus", "2", "mean GPUs of a trial job, at least 1, at most a machine's"},
      {"batch_gpus", "2", "the same of a batch job"},
      {"trial_cpus", "8", "mean CPUs of a trial job"},
      {"batch_cpus", "8", "of a batch job"},
      {"trial_memory", "64", "mean memory of a trial job in GiB"},
      {"batch_memory", "64", "of a batch job"},
      {"demand_spread", "1", "deviation of demands over their mean"},
      {"trial_workers", "1", "workers of a trial job, each with such a demand"},
  };
}

Expected<Workload> make_trial_batch(Settings& settings, const Cluster& cluster,
                                    std::uint64_t seed) {
  const auto jobs = static_cast<std::size_t>(settings.whole("jobs", 1, 50'000'000));
  const double load = settings.real("load", 0.000001, 1000);
  const double cut = settings.real("cut", 0, 0.499);
  const auto users = static_cast<std::uint64_t>(settings.whole("users", 0, 1'000'000));
  const Laws laws = read_laws(settings, cluster);
  const std::string held_under = settings.word("held_under");
  if (auto ok = settings.finish(); !ok) return tl::make_unexpected(ok.error());
  const auto policy = PolicySpec::parse(held_under);
  if (!policy)
    return fail("trial-batch: held_under={}: {}", quoted(held_under), policy.error().message);

  Streams random{stream(seed, Stream::durations), stream(seed, Stream::demands),
                 stream(seed, Stream::pauses), stream(seed, Stream::classes)};
  Workload workload;
  workload.jobs.reserve(jobs);
  for (std::size_t i = 0; i < jobs; ++i) workload.jobs.push_back(draw_job(laws, random));
  draw_users(users, seed, workload);
  if (auto ok = check_fits(workload, cluster); !ok) return tl::make_unexpected(ok.error());
  hold_load(load, *policy, cluster, workload);
  workload.uncounted = static_cast<std::size_t>(cut * static_cast<double>(jobs));
  return workload;
}

}  // namespace trainyard
