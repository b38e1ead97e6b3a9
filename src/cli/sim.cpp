// trainyard sim: one workload, one cluster, one policy, and what came of it.
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <fstream>
#include <iostream>
#include <memory>
#include <nlohmann/json.hpp>

#include "base/atomic_file.h"
#include "base/progress.h"
#include "cli/commands.h"
#include "cli/options.h"
#include "sim/job_table.h"
#include "sim/simulation.h"
#include "sim/timeline.h"
#include "study/json.h"
#include "study/recipe.h"
#include "study/report/quantity.h"
#include "workload/gzip_stream.h"

namespace trainyard::cli {
namespace {

struct SimCommandOptions : WorkloadOptions {
  std::string policy = "fifo";
  std::vector<std::string> settings;
  std::string faults;
  std::string network = "alone";
  std::string delays = "none";
  std::string json, jobs_csv, timeline, timeline_from, timeline_to;
  std::string queue_at;
};

/// In one unit, which the label names, or each in its own.
std::string line_of(std::string_view label, const Summary& s, Quantity quantity) {
  const std::array<Interval, 5> values{{{s.mean}, {s.p50}, {s.p95}, {s.p99}, {s.max}}};
  const ColumnFormat number(quantity, values);
  std::string line = fmt::format("  {:<10}", number.heading(label));
  for (const Interval& value : values) line += fmt::format(" {:>10}", number.mean(value));
  return line + "\n";
}

std::string block_of(std::string_view title, const JobTimes& times) {
  return fmt::format("{:<12} {:>10} {:>10} {:>10} {:>10} {:>10}\n", title, "mean", "p50", "p95",
                     "p99", "max") +
         line_of("JCT", times.jct_s, Quantity::seconds) +
         line_of("wait", times.wait_s, Quantity::seconds) +
         line_of("slowdown", times.slowdown, Quantity::ratio);
}

std::string duration_text(double s) {
  const auto duration = duration_from_seconds(s);
  return duration ? format(*duration) : "?";
}

/// What pauses gained, and a warning where that is far from what the policy expected.
std::string gain_text(const Result& r) {
  const auto [expected, actual] = r.pause_gain_s;
  if (expected == 0 && actual == 0) return {};
  const bool is_far =
      std::abs(expected - actual) > std::max(std::abs(expected), std::abs(actual)) / 2;
  const std::string_view why =
      r.trial.jobs > 0 ? "it counts a trial job's second as several of others, and goes by limits "
                         "where these are declared"
                       : "it goes by what jobs declare, or on average take";
  return fmt::format(
             "the policy expected its pauses to gain {:.1f} hours of completion time; they gained "
             "{:.1f}\n",
             expected / 3600, actual / 3600) +
         (is_far
              ? fmt::format("WARNING: the gain that it expected is no forecast here: {}\n\n", why)
              : "\n");
}

std::string to_text(const Result& r, const Workload& workload, const Cluster& cluster) {
  std::string text = fmt::format("{} on {}\npolicy {}, seed {}\n", workload.source,
                                 describe(cluster), r.policy, r.seed);
  text += fmt::format("{}\n\n", pauses_in_words(r.pause_costs));
  text += fmt::format("{} of {} jobs finished, makespan {}\n", r.finished, r.jobs,
                      duration_text(r.makespan_s));
  text += fmt::format(
      "jobs held {:.1f}% of the GPU time; {} preemptions; pauses and loading took {:.1f} GPU "
      "hours, "
      "communication, slow machines and other sizes {:.1f}; fairness {:.3f}\n",
      100 * r.gpu_utilization, r.preemptions, (r.lost_gpu_s - r.failures.lost_gpu_s) / 3600,
      r.slowed_gpu_s / 3600, r.fairness_jain);
  if (r.failures.machines > 0)
    text += fmt::format(
        "machines failed {} times and ended {} runs, whose unsaved work was {:.1f} GPU hours\n",
        r.failures.machines, r.failures.runs, r.failures.lost_gpu_s / 3600);
  text += '\n' + gain_text(r);
  text += block_of("all jobs", r.all);
  if (r.trial.jobs > 0 && r.batch.jobs > 0)
    text += block_of(fmt::format("trial ({})", r.trial.jobs), r.trial) +
            block_of(fmt::format("batch ({})", r.batch.jobs), r.batch);
  text += fmt::format(
      "\nsimulated in {:.3g} s: {:.0f} jobs/s, {:.0f} events/s; a decision took "
      "{:.2g} us (p50), {:.2g} us (p99)\n",
      r.wall_s, r.jobs_per_s, r.events_per_s, r.decision_us.p50, r.decision_us.p99);
  return text;
}

/// Which jobs wait at that time, in order, and why.
Expected<void> print_queue(Simulation& simulation, const std::string& at) {
  const auto until = parse_duration(at);
  if (!until) return fail_at("--queue-at", until.error());
  const Time now{until->us};
  simulation.run_until(now);
  const Yard& yard = simulation.yard();
  std::vector<std::pair<WaitReason, JobId>> waiting;
  for (std::size_t i = 0; i < yard.jobs(); ++i) {
    const JobId job{static_cast<std::uint32_t>(i)};
    const Phase phase = yard.state(job).phase;
    if (phase == Phase::queued || phase == Phase::reserved)
      waiting.emplace_back(simulation.policy().explain(job), job);
  }
  std::stable_sort(waiting.begin(), waiting.end(),
                   [](const auto& a, const auto& b) { return a.first.place < b.first.place; });
  std::string text = fmt::format("{} jobs wait at {}; {} of {} GPUs are in use\n\n", waiting.size(),
                                 format(*until), yard.held_gpus(), yard.cluster().total_gpus);
  if (!waiting.empty())
    text += fmt::format("{:>5}  {:<12} {:<6} {:>5} {:>9} {:>10}  {}\n", "place", "job", "class",
                        "GPUs", "waited", "starts in", "why");
  for (const auto& [reason, job] : waiting) {
    const Duration waited = now - yard.job(job).submit;
    text += fmt::format("{:>5}  {:<12} {:<6} {:>5} {:>9} {:>10}  {}: {}\n",
                        reason.place == 0 ? "-" : std::to_string(reason.place),
                        yard.workload().job_name(job), name(yard.job(job).job_class),
                        yard.job(job).gpus(), format(waited),
                        reason.expected_start ? format(*reason.expected_start - now) : "?",
                        reason.token, reason.sentence);
  }
  if (!waiting.empty())
    text +=
        "\nA job starts then if those before it take as long as they declare, and no other goes "
        "first.\n";
  return print(text);
}

/// The first job that has not ended, and what it waits for.
std::string why_unfinished(const Simulation& simulation) {
  const Yard& yard = simulation.yard();
  for (std::size_t i = 0; i < yard.jobs(); ++i) {
    const JobId job{static_cast<std::uint32_t>(i)};
    const Phase phase = yard.state(job).phase;
    if (has_ended(phase)) continue;
    const bool waits = phase == Phase::queued || phase == Phase::reserved;
    return fmt::format("job {} {}", yard.workload().job_name(job),
                       waits ? "waits: " + simulation.policy().explain(job).sentence
                             : fmt::format("is {}", name(phase)));
  }
  return {};
}

/// The part of the run that the timeline is to show.
Expected<TimeWindow> timeline_window(const SimCommandOptions& options) {
  TimeWindow window;
  const auto read = [](const std::string& text, const char* option, Time& at) -> Expected<void> {
    if (text.empty()) return {};
    const auto since_start = parse_duration(text);
    if (!since_start) return fail_at(option, since_start.error());
    at = Time{since_start->us};
    return {};
  };
  if (auto ok = read(options.timeline_from, "--timeline-from", window.from); !ok)
    return tl::make_unexpected(ok.error());
  if (auto ok = read(options.timeline_to, "--timeline-to", window.to); !ok)
    return tl::make_unexpected(ok.error());
  if (window.to <= window.from) return fail("--timeline-to: must be after --timeline-from");
  return window;
}

/// As gzip if the file is to be called so.
void write_packed(const std::string& path, std::ostream& out,
                  const std::function<void(std::ostream&)>& write) {
  if (!path.ends_with(".gz")) return write(out);
  GzipBuffer buffer(out);
  std::ostream packed(&buffer);
  write(packed);
  buffer.finish();
}

/// With a timeline the run is part of writing the file, so that a million bars need no memory.
Expected<void> run(Simulation& simulation, const SimCommandOptions& options, std::size_t jobs) {
  const auto simulate = [&](const std::function<void()>& after_instant = {}) {
    Progress progress("simulating", jobs);
    std::size_t seen = 0;
    simulation.run(
        [&](std::size_t submitted) {
          progress.add(submitted - seen);
          seen = submitted;
        },
        after_instant);
  };
  if (options.timeline.empty()) {
    simulate();
    return {};
  }
  const auto window = timeline_window(options);
  if (!window) return tl::make_unexpected(window.error());
  const auto write = [&](std::ostream& out) {
    Timeline timeline(simulation.yard(), out, *window);
    simulation.listen(timeline);
    simulate([&] {
      if (simulation.network() != nullptr) timeline.note_links(*simulation.network());
    });
    timeline.finish();
  };
  return write_file_atomically(
      options.timeline, [&](std::ostream& out) { write_packed(options.timeline, out, write); });
}

Expected<void> sim(const SimCommandOptions& options) {
  const auto policy = PolicySpec::parse(options.policy, options.settings);
  if (!policy) return tl::make_unexpected(policy.error());
  const auto network = parse_network(options.network);
  if (!network) return tl::make_unexpected(network.error());
  const auto delays = parse_delays(options.delays);
  if (!delays) return tl::make_unexpected(delays.error());
  const auto cluster = load_cluster(options);
  if (!cluster) return tl::make_unexpected(cluster.error());
  auto workload = load_workload(options, *cluster);
  if (!workload) return tl::make_unexpected(workload.error());
  const auto models = load_models(options);
  if (!models) return tl::make_unexpected(models.error());
  if (auto ok =
          prepare(*cluster, *models, preparation(options, goes_by_curves(*policy)), *workload);
      !ok)
    return ok;
  auto faults = load_faults(options.faults, *cluster, *workload, options.seed);
  if (!faults) return tl::make_unexpected(faults.error());

  const auto made =
      make_simulation(*cluster, *workload, *policy,
                      {options.seed, std::move(*faults), &*models, *network, {}, *delays});
  if (!made) return tl::make_unexpected(made.error());
  Simulation& simulation = **made;
  note_unlimited_trials(*workload, simulation.policy().regards().classes);
  if (!options.queue_at.empty()) return print_queue(simulation, options.queue_at);
  if (auto ok = run(simulation, options, workload->jobs.size()); !ok) return ok;
  const Result result = simulation.result();
  if (!options.jobs_csv.empty())
    if (auto ok = write_file_atomically(
            options.jobs_csv, [&](std::ostream& out) { write_job_table(simulation.yard(), out); });
        !ok)
      return ok;
  if (!options.json.empty())
    if (auto ok = write_output(options.json, trainyard::to_text(to_json(result))); !ok) return ok;
  if (options.json != "-")
    if (auto ok = print(to_text(result, *workload, *cluster)); !ok) return ok;
  if (warn_of_unfinished(result.policy, result.finished, result.jobs, why_unfinished(simulation)))
    throw ExitWith{kJobsUnfinished};
  return {};
}

}  // namespace

void add_sim_command(Command& program) {
  const auto options = std::make_shared<SimCommandOptions>();
  Command& command = program.add(
      "sim", "Replays a workload on a cluster under a policy, and tells how it went.",
      "trainyard sim --workload philly-like:jobs=20000,load=0.9 --policy srtf\n"
      "trainyard sim --workload philly.csv --cluster 64x8xV100 --policy tiresias --json -\n"
      "trainyard sim --workload jobs.csv --policy \"order=srtf place=best-fit backfill=easy\"\n"
      "trainyard sim --workload jobs.csv --policy las --set order.thresholds=1h/10h "
      "--timeline out.json.gz --timeline-from 2d --timeline-to 3d\n"
      "trainyard sim --workload jobs.csv --policy fifo-easy --queue-at 2d12h");
  add_workload_options(command, "--workload", *options);
  command.option("--policy", &options->policy,
                 "a preset or a line of stages (default fifo; see trainyard policies)",
                 {.type = "POLICY"});
  add_set_option(command, options->settings);
  add_faults_option(command, options->faults);
  add_network_option(command, options->network);
  command.option("--delays", &options->delays,
                 "what the engine takes beyond the jobs' own times, start=TIME,leave=TIME: from an "
                 "order to the job's start, and until what left has freed its GPUs",
                 {.type = "DELAYS", .initial = options->delays});
  add_models_option(command, *options);
  add_pauses_option(command, *options);
  command.option("--json", &options->json, "the figures as JSON; - is standard output",
                 {.type = "FILE|-"});
  command.option("--jobs-csv", &options->jobs_csv, "a CSV file with a line for each job",
                 {.type = "FILE"});
  command.option("--timeline", &options->timeline,
                 "a row for each GPU in the Chrome trace format, which Perfetto opens, also as .gz",
                 {.type = "FILE"});
  command.option("--timeline-from", &options->timeline_from, "leave out of it what was before",
                 {.type = "TIME", .needs = "--timeline"});
  command.option("--timeline-to", &options->timeline_to, "leave out of it what comes after",
                 {.type = "TIME", .needs = "--timeline"});
  command.option("--queue-at", &options->queue_at,
                 "stop at this time and tell which jobs wait, and why", {.type = "TIME"});
  command.notes = "The status is 3 when jobs have not finished at the end.";
  command.action = [options] { return sim(*options); };
}

}  // namespace trainyard::cli
