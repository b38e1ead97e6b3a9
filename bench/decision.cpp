// How long a decision takes on a large cluster with a long queue: 12,500 machines of 8 GPUs, all
// but full, and 10,000 jobs waiting throughout, for every preset. Timed is all that one instant
// takes: the yard is told what happened, the policy decides, its orders are carried out.
//
// Twice: with philly-like jobs, which have some ten shapes, and with the same jobs asking for CPUs
// and memory at random, so that hardly two jobs are alike. Where a market decides beside stages, a
// third time: every second job can have half to twice its size. And trainyard as `serve` runs it,
// where a job may be paused after ten seconds: few have run for the preset's own min_run within the
// seconds that are measured, so that otherwise hardly any could be.
//
// Under Dally's presets and trainyard the jobs have models and the machines stand in racks of ten.
// The target is 1 ms then, and where no two jobs are alike; trainyard's is 100 us in all.
//
// The machine's limit is one pass over a queue of this length in memory, an entry of 16 bytes each.
#include "base/random.h"
#include "bench.h"
#include "policy/registry.h"
#include "sim/simulation.h"
#include "workload/generate/generate.h"

namespace trainyard::bench {
namespace {

constexpr std::string_view kFlatCluster = "12500x8xV100";  // in one rack
constexpr std::string_view kRackedCluster = "1250x10x8xV100";
constexpr std::string_view kServed = "trainyard";  // by default
constexpr const char* kServedWith = "yard.min_run=10s";
constexpr std::size_t kQueued = 10'000;
constexpr std::size_t kMeasured = 50'000;  // instants, after as many to get into the swing

/// Counts who waits.
class QueueLength final : public YardListener {
 public:
  void on_phase(JobId /*job*/, Phase from, Phase to) override {
    if (from == Phase::queued) --length_;
    if (to == Phase::queued) ++length_;
  }
  [[nodiscard]] std::size_t now() const { return length_; }

 private:
  std::size_t length_ = 0;
};

enum class Jobs : std::uint8_t { of_few_shapes, no_two_alike, half_elastic };

struct Instants {
  Latency latency;
  double shortest_queue = 0, longest_queue = 0;
};

/// Up to the CPUs and memory that go with a GPU, so that GPUs stay what runs out.
void ask_for_cpus_and_memory(Job& job, Random& random) {
  job.per_worker.milli_cpus = static_cast<std::int32_t>(500 * (1 + random.below(24)));
  job.per_worker.memory_mib = static_cast<std::int32_t>(1024 * (1 + random.below(96)));
}

void let_some_be_resized(Job& job, Random& random) {
  if (random.below(2) == 0) return;
  job.min_workers = std::max(1, job.workers / 2);
  job.max_workers = job.workers * 2;
}

/// So that it matters where they are placed; an iteration computes for 50 ms.
void give_models(Workload& workload, Random& random) {
  for (const char* model : {"ResNet-50", "VGG-16", "MobileNetV3", "BERT-large"})
    workload.models.add(model);
  for (Job& job : workload.jobs) {
    job.model = ModelId{static_cast<std::uint16_t>(random.below(4))};
    job.iterations = static_cast<std::uint64_t>(job.duration.seconds() / 0.05) + 1;
  }
}

bool goes_by_closeness(const std::string& preset) {
  return preset.starts_with("dally") || preset == "trainyard";
}

double target_us(const std::string& preset, Jobs jobs) {
  if (preset == "trainyard") return 100;
  return jobs == Jobs::no_two_alike || goes_by_closeness(preset) ? 1000 : 100;
}

/// Not submitted yet. Durations are whole seconds in the log; as they are, jobs that started
/// together would end at the same instants.
Workload jobs_for(const Cluster& cluster, Jobs jobs, bool with_models) {
  Workload workload = must(generate("philly-like:jobs=400000", cluster, 1));
  Random random(1, 1);
  for (Job& job : workload.jobs) {
    job.submit = Time::never();
    job.duration += microseconds(static_cast<std::int64_t>(random.below(1'000'000)));
    job.estimate = job.duration;
    if (jobs == Jobs::no_two_alike) ask_for_cpus_and_memory(job, random);
    if (jobs == Jobs::half_elastic) let_some_be_resized(job, random);
  }
  if (with_models) give_models(workload, random);
  return workload;
}

/// Replays jobs that come when they are wanted: soon after the queue got too short.
class Crowd {
 public:
  Crowd(const Cluster& cluster, Workload workload, const PolicySpec& policy)
      : workload_(std::move(workload)), simulation_(cluster, workload_, policy, {}) {
    simulation_.listen(queue_);
  }

  /// Goes on until so many instants began with a full queue, and gives each one's ticks and the
  /// queue's length to see(ticks, length).
  template <class See>
  void run(std::size_t instants, See see) {
    while (instants > 0) {
      const std::size_t length = queue_.now();
      const bool none_on_the_way = simulation_.yard().jobs() == submitted_;
      if (none_on_the_way && length <= kQueued) submit(std::min(kQueued + 1 - length, kMostAtOnce));
      const std::uint64_t begin = CycleClock::now();
      simulation_.step();
      const std::uint64_t end = CycleClock::now();
      if (length < kQueued) continue;
      see(end - begin, length);
      --instants;
    }
  }

 private:
  static constexpr std::size_t kMostAtOnce = 1000;

  /// Soon, but at a pace at which filling the empty cluster takes some minutes: most jobs have run
  /// for so long by then that they may be paused.
  void submit(std::size_t count) {
    const auto wait = microseconds(2'000) * static_cast<std::int64_t>(count);
    const Time at = (submitted_ == 0 ? Time{} : simulation_.yard().now()) + wait;
    for (; count > 0; --count) workload_.jobs.at(submitted_++).submit = at;
  }

  Workload workload_;  // those not submitted yet are submitted never
  QueueLength queue_;
  Simulation simulation_;
  std::size_t submitted_ = 0;
};

/// In a process of its own.
Instants instants_of(const std::string& preset, Jobs jobs,
                     const std::vector<std::string>& settings) {
  const Cluster cluster =
      must(parse_cluster_shorthand(goes_by_closeness(preset) ? kRackedCluster : kFlatCluster));
  Crowd crowd(cluster, jobs_for(cluster, jobs, goes_by_closeness(preset)),
              must(PolicySpec::parse(preset, settings)));
  const std::size_t instants = jobs == Jobs::no_two_alike ? kMeasured / 10 : kMeasured;
  crowd.run(instants, [](std::uint64_t, std::size_t) {});
  Histogram ticks;
  std::size_t shortest = static_cast<std::size_t>(-1), longest = 0;
  crowd.run(instants, [&](std::uint64_t taken, std::size_t length) {
    ticks.add(taken);
    shortest = std::min(shortest, length);
    longest = std::max(longest, length);
  });
  return {latency_of(ticks), static_cast<double>(shortest), static_cast<double>(longest)};
}

double pass_over_queue_us() {
  struct Entry {
    std::int64_t key;
    std::uint32_t job, lane;
  };
  std::vector<Entry> queue(kQueued);
  constexpr int kPasses = 1000;
  return 1e6 / kPasses * seconds([&] {
           for (int i = 0; i < kPasses; ++i) {
             std::int64_t least = 0;
             for (const Entry& entry : queue) least = std::min(least, entry.key);
             keep(least);
           }
         });
}

std::string_view title(Jobs jobs) {
  if (jobs == Jobs::no_two_alike) return ": decision p99, no two alike";
  return jobs == Jobs::half_elastic ? ": decision p99, half elastic" : ": decision p99";
}

void measure(Table& table, const std::string& preset, Jobs jobs,
             const std::vector<std::string>& settings = {}) {
  const Instants i = in_child([&] { return instants_of(preset, jobs, settings); });
  table.add(
      {fmt::format("{}{}{}", preset, title(jobs), settings.empty() ? "" : ", as serve runs it"),
       i.latency.p99_us, "us", Target{Target::Is::at_most, target_us(preset, jobs)},
       pass_over_queue_us(),
       fmt::format("p50 {}, max {}; {} to {} waiting", number(i.latency.p50_us),
                   number(i.latency.max_us), number(i.shortest_queue), number(i.longest_queue))});
}

}  // namespace

void measure_decisions(Table& table) {
  for (const Preset& preset : presets()) {
    if (table.wants("decision/" + preset.name)) measure(table, preset.name, Jobs::of_few_shapes);
    if (table.wants("decision-shapes/" + preset.name))
      measure(table, preset.name, Jobs::no_two_alike);
    const PolicySpec spec = must(PolicySpec::parse(preset.name));
    const bool has_both = spec.member("joint") != "none" && !spec.decides_jointly();
    if (has_both && table.wants("decision-elastic/" + preset.name))
      measure(table, preset.name, Jobs::half_elastic);
    if (preset.name != kServed) continue;
    if (table.wants("decision-served/" + preset.name))
      measure(table, preset.name, Jobs::of_few_shapes, {kServedWith});
    if (table.wants("decision-served-shapes/" + preset.name))
      measure(table, preset.name, Jobs::no_two_alike, {kServedWith});
  }
}

}  // namespace trainyard::bench
