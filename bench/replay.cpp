// Whole replays, for every preset: philly-like jobs at load 0.9 on 2,048 GPUs, from an empty yard
// to the result. How many jobs a second, how much slower each gets when there are four times as
// many, and how much memory. And jobs of Philly, on 512 GPUs, which cannot run them as they come,
// and on 2,048, where hardly any waits.
//
// The machine's limit of speed is a bare event loop: the same submissions and ends, at the times
// they had in the replay, through a binary heap that does nothing else. That of memory is what a
// job and its state are in themselves.
#include <sys/resource.h>

#include <cstdlib>
#include <memory>
#include <queue>

#include "bench.h"
#include "policy/registry.h"
#include "sim/simulation.h"
#include "workload/generate/generate.h"

namespace trainyard::bench {
namespace {

constexpr std::string_view kReplayCluster = "256x8xV100";
constexpr std::string_view kDefault = "trainyard";  // what serve runs
constexpr std::size_t kMillion = 1'000'000;

struct Cost {
  double jobs = 0;
  double seconds = 0;       // of a replay
  double bare_seconds = 0;  // of its event loop alone
  double peak_bytes = 0;    // of the process
};

double peak_bytes() {
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  return static_cast<double>(usage.ru_maxrss) * 1024;
}

/// When each job began to run, and when it ended.
struct Stay {
  Time begin, end;
};

std::vector<Stay> stays_by_begin(const Yard& yard) {
  std::vector<Stay> stays;
  for (std::size_t i = 0; i < yard.jobs(); ++i) {
    const JobState& state = yard.state(JobId{static_cast<std::uint32_t>(i)});
    stays.push_back({state.first_start, state.end()});
  }
  std::sort(stays.begin(), stays.end(),
            [](const Stay& a, const Stay& b) { return a.begin < b.begin; });
  return stays;
}

void bare_event_loop(const std::vector<Job>& jobs, const std::vector<Stay>& stays) {
  struct Event {
    Time at;
    bool is_submission;
    bool operator>(const Event& other) const { return at > other.at; }
  };
  std::priority_queue<Event, std::vector<Event>, std::greater<>> events;
  std::size_t next_job = 0, next_stay = 0;
  events.push({jobs[next_job++].submit, true});
  while (!events.empty()) {
    const Event event = events.top();
    events.pop();
    if (event.is_submission && next_job < jobs.size()) events.push({jobs[next_job++].submit, true});
    while (next_stay < stays.size() && stays[next_stay].begin <= event.at)
      events.push({stays[next_stay++].end, false});
  }
  keep(next_stay);
}

/// In a process of its own. An empty spec stands for no jobs.
Cost replay(const std::string& preset, std::string_view machines, const std::string& spec) {
  const Cluster cluster = must(parse_cluster_shorthand(machines));
  const PolicySpec policy = must(PolicySpec::parse(preset));
  Workload workload;
  if (!spec.empty()) workload = must(generate(spec, cluster, 1));
  Cost cost;
  std::unique_ptr<Simulation> simulation;
  cost.seconds = median_of(3, [&] {
    simulation.reset();
    const double taken = seconds([&] {
      simulation = std::make_unique<Simulation>(cluster, workload, policy, SimOptions{});
      simulation->run();
      keep(simulation->result().finished);
    });
    if (cost.peak_bytes == 0) cost.peak_bytes = peak_bytes();
    return taken;
  });
  if (spec.empty()) return cost;
  cost.jobs = static_cast<double>(workload.jobs.size());
  const std::vector<Stay> stays = stays_by_begin(simulation->yard());
  cost.bare_seconds =
      median_of(3, [&] { return seconds([&] { bare_event_loop(workload.jobs, stays); }); });
  return cost;
}

std::optional<Target> speed_target(const std::string& preset) {
  if (preset == "fifo") return Target{Target::Is::at_least, 1'000'000};
  if (preset == "srtf" || preset == "las" || preset == kDefault)
    return Target{Target::Is::at_least, 250'000};
  return {};
}

/// The log of Philly if TRAINYARD_PHILLY names its file, else jobs like its.
void measure_philly(Table& table, const std::string& preset, std::string_view machines, double load,
                    std::string_view title, std::optional<Target> target) {
  const char* log = std::getenv("TRAINYARD_PHILLY");
  const std::string spec = log != nullptr
                               ? fmt::format("trace:file={},pause=helios", log)
                               : fmt::format("philly-like:jobs=100000,load={},pause=helios", load);
  const Cost cost = in_child([&] { return replay(preset, machines, spec); });
  table.add({fmt::format("{}: {}", preset, title), cost.jobs / cost.seconds, "jobs/s", target,
             cost.jobs / cost.bare_seconds});
}

/// Far more is asked for than there is: tens of thousands of jobs wait.
void measure_overload(Table& table, const std::string& preset) {
  const double least = preset == kDefault ? 250'000 : 200'000;
  measure_philly(table, preset, "64x8xV100", 1.5, "overload", Target{Target::Is::at_least, least});
}

/// Hardly a job waits: what a policy costs while it has nothing to decide.
void measure_idle(Table& table, const std::string& preset) {
  std::optional<Target> target;
  if (preset == kDefault) target = Target{Target::Is::at_least, 1'000'000};
  measure_philly(table, preset, kReplayCluster, 0.4, "idle", target);
}

}  // namespace

void measure_replays(Table& table) {
  for (const Preset& preset : presets())
    if (table.wants("overload/" + preset.name)) measure_overload(table, preset.name);
  for (const Preset& preset : presets())
    if (table.wants("idle/" + preset.name)) measure_idle(table, preset.name);
  constexpr double kBare = sizeof(Job) + sizeof(JobState);
  for (const Preset& preset : presets()) {
    const std::string& name = preset.name;
    if (!table.wants("replay/" + name)) continue;
    const auto jobs = [](std::size_t count) {
      return fmt::format("philly-like:jobs={},load=0.9", count);
    };
    const Cost none = in_child([&] { return replay(name, kReplayCluster, ""); });
    const Cost one = in_child([&] { return replay(name, kReplayCluster, jobs(kMillion)); });
    const Cost four = in_child([&] { return replay(name, kReplayCluster, jobs(4 * kMillion)); });
    table.add({name + ": 1M jobs", kMillion / one.seconds, "jobs/s", speed_target(name),
               kMillion / one.bare_seconds});
    table.add({name + ": time a job, 4M against 1M", four.seconds / 4 / one.seconds, "times",
               Target{Target::Is::at_most, 1.15}, four.bare_seconds / 4 / one.bare_seconds});
    table.add({name + ": peak memory, 1M jobs", (one.peak_bytes - none.peak_bytes) / kMillion,
               "bytes/job", Target{Target::Is::at_most, 256}, kBare});
    table.add({name + ": peak memory, 4M jobs", (four.peak_bytes - none.peak_bytes) / 4 / kMillion,
               "bytes/job", Target{Target::Is::at_most, 256}, kBare});
  }
}

}  // namespace trainyard::bench
