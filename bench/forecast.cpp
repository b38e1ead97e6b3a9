// A forecast: what running the policy forward several times takes, with lengths drawn from jobs
// that finished and arrivals of the last week; a daemon makes one at most a tenth of the time.
#include "bench.h"
#include "forecast/job_lengths.h"
#include "forecast/look_ahead.h"
#include "study/recipe.h"
#include "workload/generate/generate.h"

namespace trainyard::bench {
namespace {

/// A yard in the midst of its work.
struct Scene {
  Cluster cluster;
  Workload workload;  // the jobs that have come
  PolicySpec policy;
  Beginning beginning;
  JobLengths lengths;
  Arrivals arrivals;
};

/// Drops all but so many of the jobs that do not fit on the cluster at once.
void keep_waiting(const Cluster& cluster, std::size_t waiting, Workload& workload) {
  std::int64_t gpus = cluster.total_gpus;
  std::size_t running = 0;
  for (; running < workload.jobs.size() && gpus > 0; ++running)
    gpus -= workload.jobs[running].gpus();
  if (running + waiting < workload.jobs.size()) workload.jobs.resize(running + waiting);
}

/// All jobs have come at once, a minute ago.
Scene make_scene(const std::string& shape, std::size_t jobs, std::size_t waiting,
                 const char* policy) {
  Scene scene{
      must(parse_cluster_shorthand(shape)), {}, must(PolicySpec::parse(policy)), {}, {}, {}};
  scene.workload =
      must(generate(fmt::format("philly-like:jobs={},load=50,max_gpus=64,declared=limits", jobs),
                    scene.cluster, 1));
  keep_waiting(scene.cluster, waiting, scene.workload);
  must(prepare(scene.cluster, Catalogue::builtin(), {}, scene.workload).map([] { return 0; }));
  for (const Job& job : scene.workload.jobs) {
    scene.lengths.add("", job.estimate, job.duration);
    if (scene.arrivals.jobs.size() < 1'000) scene.arrivals.jobs.push_back(job);
  }
  scene.arrivals.span = days(7);
  for (std::size_t i = 0; i < scene.arrivals.jobs.size(); ++i)
    scene.arrivals.jobs[i].submit = Time{} + minutes(static_cast<std::int64_t>(10 * i));
  for (Job& job : scene.workload.jobs) job.submit = {};
  Simulation simulation(scene.cluster, scene.workload, scene.policy, {});
  simulation.run_until(Time{} + minutes(1));
  scene.beginning = simulation.save();
  return scene;
}

struct Made {
  double seconds = 0;
  std::size_t draws = 0;
};

Made forecast(const Scene& scene, std::size_t draws) {
  LookAheadOptions options;
  options.draws = draws;
  options.most_steps = std::uint64_t{1} << 40;
  options.most_segments = 20'000;
  const BeginDraw lengths = [&]() -> DrawLength {
    return [draw = JobLengths::Draw(scene.lengths)](const Job& job, Duration done,
                                                    Random& random) mutable {
      return draw.length("", job.estimate, done, true, random);
    };
  };
  Made made;
  made.seconds = seconds([&] {
    made.draws = must(look_ahead(scene.cluster, scene.workload, scene.policy, scene.beginning,
                                 lengths, scene.arrivals, options))
                     .draws;
  });
  return made;
}

}  // namespace

void measure_forecasts(Table& table) {
  for (const char* policy : {"fifo", "trainyard"}) {
    const std::string name = fmt::format("forecast/{}/500 jobs, 128 GPUs, 32 draws, a day", policy);
    if (!table.wants(name)) continue;
    const Scene scene = make_scene("16x8xV100", 500, 500, policy);
    table.add({name, median_of(3, [&] { return forecast(scene, 32).seconds; }), "s",
               Target{Target::Is::at_most, 0.3}});
  }
  for (const char* policy : {"fifo", "trainyard"}) {
    const std::string name = fmt::format("forecast/{}/large: 100,000 GPUs, 1 draw, a day", policy);
    if (!table.wants(name)) continue;
    const Scene scene = make_scene("12500x8xV100", 120'000, 10'000, policy);
    const auto waiting = std::ranges::count_if(
        scene.beginning.jobs, [](const SavedJob& job) { return job.state.phase == Phase::queued; });
    table.add({name,
               forecast(scene, 1).seconds,
               "s",
               Target{Target::Is::at_most, 30},
               {},
               fmt::format("{} waiting", waiting)});
  }
}

}  // namespace trainyard::bench
