// How long FitGpp takes to choose a victim among 100,000 running batch jobs, on machines of 8 GPUs,
// 32 CPUs and 256 GiB filled with the demands of its study. Timed is the choice alone: the preempt
// stage finds the victim and the room. Between two choices the victim leaves, the trial job runs
// and ends, and the victim comes back, so that the index has something to keep up with.
//
// Beside it what a look at every job takes, without scoring it.
#include "base/random.h"
#include "bench.h"
#include "policy/members.h"
#include "yard/plan.h"

namespace trainyard::bench {
namespace {

constexpr std::size_t kBatchJobs = 100'000;
constexpr std::size_t kChoices = 20'000;

Resources draw_demand(Random& random) {
  const auto whole = [&](double mean, double most) {
    return static_cast<std::int32_t>(std::lround(random.truncated_normal(mean, mean, 1, most)));
  };
  return {whole(2, 8), whole(8, 32) * 1000, whole(64, 256) * 1024};
}

Cluster machines() {
  Cluster cluster;
  cluster.add_rack(0);
  Machine machine;
  machine.capacity = {8, 32'000, 256 * 1024};
  if (!cluster.add_machines(60'000, machine, "V100")) std::abort();
  return cluster;
}

/// The yard full of batch jobs, and the stage listening to it.
class Field final : public YardListener {
 public:
  Field()
      : cluster_(machines()),
        yard_(cluster_, workload_, {.min_run = {}, .max_pauses = 1'000'000'000}),
        context_(yard_),
        finder_(yard_) {
    Params params;
    for (const ParamSpec& spec : preempt_fitgpp().info.params)
      params.set(spec.name, spec.default_value);
    params.set("P", "1000000000");
    stage_ = preempt_fitgpp().make(params, context_);
    yard_.listen(context_);
    yard_.listen(*this);
    workload_.jobs.reserve(kBatchJobs + kChoices);
    fill();
  }

  void on_phase(JobId job, Phase from, Phase to) override { stage_->on_phase(job, from, to); }

  /// Ticks of one choice; the field is as before afterwards, but for who runs where.
  std::uint64_t choose() {
    Job job;
    job.job_class = JobClass::trial;
    job.per_worker = draw_demand(random_);
    const JobId waiter = submit(job);
    Time retry = Time::never();
    const std::uint64_t begin = CycleClock::now();
    const bool found = stage_->make_room(waiter, {1}, finder_, retry);
    const std::uint64_t ticks = CycleClock::now() - begin;
    const Placement room = finder_.room();
    const std::vector<JobId> victims(finder_.victims().begin(), finder_.victims().end());
    Plan plan(yard_);
    if (found && plan.make_room(waiter, room, victims) == Verdict::ok) {
      for (const JobId victim : victims) tell(EventKind::drained, victim);
      tell(EventKind::loaded, waiter);
      tell(EventKind::finished, waiter);
      for (const JobId victim : victims) start(victim, room.front().machine);
    } else {
      tell(EventKind::cancelled, waiter);  // it has room without anybody leaving
    }
    return ticks;
  }

  /// Seconds that one look at every job takes.
  double scan() {
    const Resources demand = draw_demand(random_);
    return seconds([&] {
      double best = 1e300;
      for (std::size_t m = 0; m < cluster_.machines.size(); ++m) {
        const MachineId machine{static_cast<std::uint32_t>(m)};
        for (const JobId job : yard_.jobs_on(machine))
          if (demand.fits_in(yard_.free().on(machine) + yard_.shape(job).per_worker))
            best = std::min(best, yard_.job(job).grace.seconds());
      }
      keep(best);
    });
  }

 private:
  JobId submit(const Job& job) {
    workload_.jobs.push_back(job);
    workload_.jobs.back().duration = workload_.jobs.back().estimate = hours(1);
    const JobId id{static_cast<std::uint32_t>(workload_.jobs.size() - 1)};
    tell(EventKind::submitted, id);
    return id;
  }

  void start(JobId job, MachineId machine) {
    if (Plan(yard_).start(job, {{machine, 1}}) == Verdict::ok) tell(EventKind::loaded, job);
  }

  void tell(EventKind kind, JobId job) {
    if (yard_.apply(Event::of(Time{}, kind, job)) != Verdict::ok) std::abort();
    yard_.clear_orders();
  }

  /// Machine by machine, each until a few draws in a row do not fit.
  void fill() {
    std::size_t running = 0;
    for (std::size_t m = 0; m < cluster_.machines.size() && running < kBatchJobs; ++m) {
      const MachineId machine{static_cast<std::uint32_t>(m)};
      for (int misses = 0; misses < 8 && running < kBatchJobs;) {
        Job job;
        job.per_worker = draw_demand(random_);
        job.grace = Duration{std::llround(random_.truncated_normal(180, 180, 0, 1200) * 1e6)};
        if (!job.per_worker.fits_in(yard_.free().on(machine))) {
          ++misses;
          continue;
        }
        start(submit(job), machine);
        ++running;
      }
    }
  }

  Cluster cluster_;
  Workload workload_;
  Yard yard_;
  PolicyContext context_;
  RoomFinder finder_;
  std::unique_ptr<PreemptStage> stage_;
  Random random_{1};
};

struct Choices {
  Latency latency;
  double scan_us = 0;
};

Choices choices() {
  Field field;
  for (std::size_t i = 0; i < kChoices / 10; ++i) field.choose();
  Histogram ticks;
  for (std::size_t i = 0; i < kChoices * 9 / 10; ++i) ticks.add(field.choose());
  return {latency_of(ticks), median_of(9, [&] { return field.scan(); }) * 1e6};
}

}  // namespace

void measure_victims(Table& table) {
  if (!table.wants("victims/fitgpp")) return;
  const Choices c = in_child([] { return choices(); });
  table.add({"fitgpp: a victim among 100,000, p99", c.latency.p99_us, "us",
             Target{Target::Is::at_most, 20}, c.scan_us,
             fmt::format("p50 {}, max {}; the limit is a look at every job",
                         number(c.latency.p50_us), number(c.latency.max_us))});
}

}  // namespace trainyard::bench
