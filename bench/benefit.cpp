// How long preempt=benefit takes for a decision with 10,000 running jobs: 1,600 machines of 8 GPUs,
// all but full of philly-like jobs that cost something to pause, and 1,000 waiting throughout.
// Timed is all that one instant takes: the yard is told what happened, the policy decides who
// starts, who is paused for whom, and for whom that does not pay, and its orders are carried out.
//
// The machine's limit is one look at every running job in memory, 32 bytes each.
#include "bench.h"
#include "policy/registry.h"
#include "sim/simulation.h"
#include "workload/generate/generate.h"

namespace trainyard::bench {
namespace {

constexpr std::size_t kRunning = 10'000, kWaiting = 1'000;
constexpr std::size_t kInstants = 20'000;  // instants, after as many to get into the swing

/// Counts who runs and who waits.
class Census final : public YardListener {
 public:
  void on_phase(JobId /*job*/, Phase from, Phase to) override {
    if (from == Phase::running) --running_;
    if (to == Phase::running) ++running_;
    if (from == Phase::queued) --queued_;
    if (to == Phase::queued) ++queued_;
  }
  [[nodiscard]] std::size_t running() const { return running_; }
  [[nodiscard]] std::size_t queued() const { return queued_; }

 private:
  std::size_t running_ = 0, queued_ = 0;
};

struct Decisions {
  Latency latency;
  double pauses = 0, least_running = 0;
};

/// In a process of its own.
Decisions decisions_of(const char* preset) {
  const Cluster cluster = must(parse_cluster_shorthand("1600x8xV100"));
  Workload workload =
      must(generate("philly-like:jobs=400000,pause=helios,max_gpus=64", cluster, 1));
  for (Job& job : workload.jobs) job.submit = Time::never();
  Simulation simulation(cluster, workload, must(PolicySpec::parse(preset)), {});
  Census census;
  simulation.listen(census);
  std::size_t submitted = 0;
  Histogram ticks;
  Decisions found;
  found.least_running = 1e9;
  for (std::size_t measured = 0; measured < 2 * kInstants;) {
    // Jobs come when they are wanted, one by one.
    if (simulation.yard().jobs() == submitted && census.queued() < kWaiting) {
      const Time now = submitted == 0 ? Time{} : simulation.yard().now();
      workload.jobs.at(submitted++).submit = now + microseconds(20'000);
    }
    const bool counts = census.queued() + 1 >= kWaiting && census.running() >= kRunning;
    const std::uint64_t begin = CycleClock::now();
    simulation.step();
    const std::uint64_t taken = CycleClock::now() - begin;
    if (!counts) continue;
    if (++measured <= kInstants) continue;
    ticks.add(taken);
    found.least_running = std::min(found.least_running, static_cast<double>(census.running()));
  }
  found.latency = latency_of(ticks);
  found.pauses = static_cast<double>(simulation.pause_gains().pauses().size());
  return found;
}

double look_at_all_us() {
  struct Entry {
    std::int64_t left, leave, load, gpus;
  };
  std::vector<Entry> running(kRunning);
  constexpr int kPasses = 1000;
  return 1e6 / kPasses * seconds([&] {
           for (int i = 0; i < kPasses; ++i) {
             std::int64_t best = 0;
             for (const Entry& e : running) best = std::max(best, e.left - e.leave * 2 - e.load);
             keep(best);
           }
         });
}

}  // namespace

void measure_benefit(Table& table) {
  if (!table.wants("benefit/xion")) return;
  const Decisions d = in_child([] { return decisions_of("xion"); });
  table.add({"xion: decision with 10,000 running, p99", d.latency.p99_us, "us",
             Target{Target::Is::at_most, 200}, look_at_all_us(),
             fmt::format("p50 {}, max {}; {} pauses, at least {} running; the limit is a look at "
                         "every running job",
                         number(d.latency.p50_us), number(d.latency.max_us), number(d.pauses),
                         number(d.least_running))});
}

}  // namespace trainyard::bench
