// A trace file as it was, or in part: a window of its jobs, at another load, with durations and
// costs of pauses changed. The seed says where the window lies.
#include <algorithm>
#include <array>
#include <cmath>
#include <limits>

#include "workload/generate/parts.h"
#include "workload/read.h"
#include "workload/select.h"

namespace trainyard {
namespace {

constexpr std::array<std::string_view, 2> kNoYes{"no", "yes"};

void drop_before(std::size_t first, Workload& workload) {
  const auto count = static_cast<std::ptrdiff_t>(first);
  workload.jobs.erase(workload.jobs.begin(), workload.jobs.begin() + count);
  if (!workload.names.empty())
    workload.names.erase(workload.names.begin(), workload.names.begin() + count);
}

void keep_window(std::size_t count, std::uint64_t seed, Workload& workload) {
  const std::size_t all = workload.jobs.size();
  if (count == 0 || count >= all) return;
  drop_before(stream(seed, Stream::arrivals).below(all - count + 1), workload);
  keep_first(count, workload);
}

/// Only the jobs between these shares of them, in the order of the file.
Expected<void> keep_part(double from, double until, Workload& workload) {
  if (from >= until) return fail("trace: from={} is not before until={}", from, until);
  const auto at = [all = static_cast<double>(workload.jobs.size())](double share) {
    return static_cast<std::size_t>(std::llround(share * all));
  };
  keep_first(at(until), workload);
  drop_before(at(from), workload);
  return {};
}

void drop_more_gpus(std::int32_t most, Workload& workload) {
  Workload kept;
  for (std::size_t i = 0; i < workload.jobs.size(); ++i) {
    if (workload.jobs[i].gpus() > most) continue;
    kept.jobs.push_back(workload.jobs[i]);
    if (!workload.names.empty()) kept.names.push_back(workload.names[i]);
  }
  workload.jobs = std::move(kept.jobs);
  workload.names = std::move(kept.names);
}

void scale_durations(double scale, Workload& workload) {
  if (scale == 1) return;
  for (Job& job : workload.jobs) {
    job.duration = job_duration(job.duration.seconds() * scale);
    job.estimate = job_duration(job.estimate.seconds() * scale);
  }
}

void multiply_by_gpus(Workload& workload) {
  for (Job& job : workload.jobs) {
    job.duration = job_duration(job.duration.seconds() * job.gpus());
    job.estimate = job_duration(job.estimate.seconds() * job.gpus());
    job.iterations *= static_cast<std::uint64_t>(job.gpus());
  }
}

/// Which jobs of a trace that knows no classes are trial jobs: those that are small and short.
struct TrialRule {
  Duration longest;  // 0: as the file says
  std::int32_t most_gpus = 1;
};

void set_classes(const TrialRule& rule, Workload& workload) {
  if (rule.longest.us == 0) return;
  for (Job& job : workload.jobs) {
    const bool is_trial = job.duration <= rule.longest && job.gpus() <= rule.most_gpus;
    job.job_class = is_trial ? JobClass::trial : JobClass::batch;
  }
}

/// Leaves out what is too large, if that is wished, and refuses the rest of it.
Expected<void> keep_fitting(std::int32_t max_gpus, const Cluster& cluster,
                            const TraceOptions& options, Workload& workload) {
  const std::size_t all = workload.jobs.size();
  const auto note = [&](std::size_t left_out, std::string_view why) {
    if (left_out > 0 && options.read.notes != nullptr)
      options.read.notes->push_back(fmt::format("{} of {} jobs left out: {}", left_out, all, why));
  };
  if (max_gpus > 0) {
    drop_more_gpus(max_gpus, workload);
    note(all - workload.jobs.size(), fmt::format("more than {} GPUs", max_gpus));
  }
  if (options.drop_larger)
    note(drop_larger(cluster, workload),
         fmt::format("too large for the cluster ({})", describe(cluster)));
  if (workload.jobs.empty()) return fail("trace: {} has no job that fits", workload.source);
  return check_fits(workload, cluster);
}

/// From 0 on, and so that the load is the one asked for; 0: as it was.
Expected<void> place_arrivals(double load, const Cluster& cluster, Workload& workload) {
  const Time first = workload.jobs.front().submit;
  const double span_s = (workload.jobs.back().submit - first).seconds();
  double gpu_s = 0;
  for (const Job& job : workload.jobs) gpu_s += job.gpus() * job.duration.seconds();
  const double wanted_s = load == 0 ? span_s : gpu_s / (load * cluster.total_gpus);
  if (auto ok = check_span(wanted_s); !ok) return ok;
  const double stretch = span_s > 0 ? wanted_s / span_s : 0;
  for (Job& job : workload.jobs)
    job.submit = Time{std::llround((job.submit - first).seconds() * stretch * 1e6)};
  return {};
}

}  // namespace

std::vector<Parameter> trace_parameters() {
  std::vector<Parameter> all{
      {"file", "", "the trace, in any format that is read"},
      {"jobs", "0", "how many, from a place that the seed chooses; 0: all"},
      {"from", "0", "of the file only the jobs after this share of them"},
      {"until", "1", "and before this share; another part for choosing than for judging"},
      {"load", "0",
       "GPU time arriving over GPU time there is, by stretching the arrivals; 0: as it was"},
      {"max_gpus", "0", "larger jobs are left out; 0: none"},
      {"duration_scale", "1", "times the durations and estimates of the trace"},
      {"times_gpus", "no", "yes: every job runs as many times as long as it has GPUs"},
      {"trial_longest", "0",
       "jobs that take no longer, and have at most trial_gpus, are trial jobs; 0: as it was"},
      {"trial_gpus", "1", "the most GPUs of these"},
  };
  const auto add = [&](const std::vector<Parameter>& more) {
    all.insert(all.end(), more.begin(), more.end());
  };
  add(pause_parameters());
  add(flexibility_parameters());
  return all;
}

Expected<Workload> make_trace(Settings& settings, const Cluster& cluster, std::uint64_t seed,
                              const TraceOptions& options) {
  const std::string file = settings.word("file");
  const auto jobs = static_cast<std::size_t>(settings.whole("jobs", 0, 50'000'000));
  const double from = settings.real("from", 0, 1), until = settings.real("until", 0, 1);
  const double load = settings.real("load", 0, 1000);
  const auto max_gpus = static_cast<std::int32_t>(
      settings.whole("max_gpus", 0, std::numeric_limits<std::int32_t>::max()));
  const double scale = settings.real("duration_scale", 1e-9, 1e9);
  const bool times_gpus = settings.choice("times_gpus", kNoYes) == 1;
  const TrialRule trials{settings.duration("trial_longest"),
                         static_cast<std::int32_t>(settings.whole(
                             "trial_gpus", 1, std::numeric_limits<std::int32_t>::max()))};
  const Pauses pauses = read_pauses(settings);
  const Flexibility flexibility = read_flexibility(settings);
  if (auto ok = settings.finish(); !ok) return tl::make_unexpected(ok.error());
  if (file.empty()) return fail("trace: file=... is missing; it names the trace to take jobs from");
  if (file == "-") return fail("trace: file='-'; standard input can be read only as a workload");

  auto workload = read_workload(file, options.read);
  if (!workload) return workload;
  if (auto ok = keep_part(from, until, *workload); !ok) return tl::make_unexpected(ok.error());
  if (auto ok = keep_fitting(max_gpus, cluster, options, *workload); !ok)
    return tl::make_unexpected(ok.error());
  if (auto ok = check_pause_scale(pauses, file, *workload); !ok)
    return fail_at("trace", ok.error());
  keep_window(jobs, seed, *workload);
  scale_durations(scale, *workload);
  if (times_gpus) multiply_by_gpus(*workload);
  set_classes(trials, *workload);
  if (auto ok = place_arrivals(load, cluster, *workload); !ok)
    return tl::make_unexpected(ok.error());
  set_flexibility(flexibility, seed, *workload);
  set_pauses(pauses, *workload);
  return workload;
}

}  // namespace trainyard
