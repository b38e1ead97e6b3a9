#include "workload/info.h"

#include <algorithm>
#include <array>
#include <map>

#include "base/stats.h"
#include "workload/select.h"

namespace trainyard {
namespace {

/// A logarithmic axis with marks that people know: each about three times the one before.
constexpr std::array kBinEdges{Duration{0}, seconds(1), seconds(3),  seconds(10),    seconds(30),
                               minutes(1),  minutes(3), minutes(10), minutes(30),    hours(1),
                               hours(3),    hours(8),   days(1),     days(3),        days(10),
                               days(30),    days(100),  days(365),   Duration::max()};

std::vector<DurationBin> bin_durations(const std::vector<Job>& jobs) {
  std::vector<DurationBin> bins;
  for (std::size_t i = 0; i + 1 < kBinEdges.size(); ++i)
    bins.push_back({kBinEdges[i], kBinEdges[i + 1], 0});
  for (const Job& job : jobs) {
    const auto above = std::ranges::upper_bound(kBinEdges, job.duration);
    ++bins[static_cast<std::size_t>(above - kBinEdges.begin()) - 1].jobs;
  }
  const auto empty = [](const DurationBin& bin) { return bin.jobs == 0; };
  bins.erase(std::find_if_not(bins.rbegin(), bins.rend(), empty).base(), bins.end());
  bins.erase(bins.begin(), std::find_if_not(bins.begin(), bins.end(), empty));
  return bins;
}

std::vector<DemandShare> share_by_demand(const std::vector<Job>& jobs) {
  std::map<std::int32_t, DemandShare> by_gpus;
  for (const Job& job : jobs) {
    DemandShare& share = by_gpus[job.gpus()];
    share.gpus = job.gpus();
    ++share.jobs;
    share.gpu_s += job.gpus() * job.duration.seconds();
  }
  std::vector<DemandShare> shares;
  for (const auto& [gpus, share] : by_gpus) shares.push_back(share);
  return shares;
}

RunningDemand running_demand(const std::vector<Job>& jobs, double gpu_s) {
  struct End {
    Time at;
    std::int32_t gpus;
  };
  std::vector<End> ends;
  ends.reserve(jobs.size());
  for (const Job& job : jobs) ends.push_back({job.submit + job.duration, job.gpus()});
  std::ranges::sort(ends, {}, &End::at);
  RunningDemand demand;
  std::int64_t held = 0;
  auto next_end = ends.begin();
  for (const Job& job : jobs) {
    for (; next_end->at <= job.submit; ++next_end) held -= next_end->gpus;
    held += job.gpus();
    if (held > demand.peak_gpus) demand.peak_gpus = held, demand.peak_at = job.submit;
  }
  if (!jobs.empty()) demand.mean_gpus = gpu_s / (ends.back().at - jobs.front().submit).seconds();
  return demand;
}

template <class Id>
std::size_t count_distinct(const std::vector<Job>& jobs, Id Job::*field, std::size_t names) {
  std::vector<bool> seen(names, false);
  for (const Job& job : jobs)
    if (index(job.*field) < names) seen[index(job.*field)] = true;
  return static_cast<std::size_t>(std::ranges::count(seen, true));
}

std::vector<double> durations_s(const std::vector<Job>& jobs, std::int32_t from_gpus,
                                std::int32_t to_gpus) {
  std::vector<double> values;
  for (const Job& job : jobs)
    if (job.gpus() >= from_gpus && job.gpus() <= to_gpus) values.push_back(job.duration.seconds());
  return values;
}

void describe_durations(const std::vector<Job>& jobs, WorkloadInfo& info) {
  std::vector<double> values = durations_s(jobs, 0, std::numeric_limits<std::int32_t>::max());
  if (values.empty()) return;
  const Summary summary = summarize(values);
  info.duration = {summary.mean, summary.p50, percentile(values, 0.9), summary.p99, summary.max};
}

/// Below this part of the GPU time within the span of submissions, a load over that span means
/// little: most of the jobs run while none come any more.
constexpr double kMostWithin = 0.8;

ClusterFit fit(const Workload& workload, const WorkloadInfo& info, const Cluster& cluster) {
  ClusterFit fit{describe(cluster), cluster.total_gpus, std::nullopt,
                 count_larger(workload, cluster)};
  const double offered_s = (info.last - info.first).seconds() * cluster.total_gpus;
  if (offered_s > 0) fit.offered_load = info.gpu_s / offered_s;
  double within_s = 0;
  for (const Job& job : workload.jobs)
    within_s += job.gpus() * std::min(job.duration, info.last - job.submit).seconds();
  fit.is_too_short = within_s < kMostWithin * info.gpu_s;
  return fit;
}

Distance distance(std::string what, std::vector<double> a, std::vector<double> b) {
  return {std::move(what), a.size(), b.size(), ks_distance(a, b)};
}

std::vector<double> gpus_of(const std::vector<Job>& jobs) {
  std::vector<double> values;
  for (const Job& job : jobs) values.push_back(job.gpus());
  return values;
}

std::vector<double> gaps_s(const std::vector<Job>& jobs) {
  std::vector<double> values;
  for (std::size_t i = 1; i < jobs.size(); ++i)
    values.push_back((jobs[i].submit - jobs[i - 1].submit).seconds());
  return values;
}

}  // namespace

WorkloadInfo inspect(const Workload& workload, const Cluster* cluster) {
  const std::vector<Job>& jobs = workload.jobs;
  WorkloadInfo info;
  info.source = workload.source;
  info.jobs = jobs.size();
  info.trial = static_cast<std::size_t>(std::ranges::count(jobs, JobClass::trial, &Job::job_class));
  info.batch = info.jobs - info.trial;
  info.users = count_distinct(jobs, &Job::user, workload.users.size());
  info.models = count_distinct(jobs, &Job::model, workload.models.size());
  info.kinds = count_distinct(jobs, &Job::kind, workload.kinds.size());
  info.measured = count_distinct(jobs, &Job::measured_on, workload.kinds.size());
  info.elastic = static_cast<std::size_t>(std::ranges::count_if(jobs, &Job::is_elastic));
  if (!jobs.empty()) info.first = jobs.front().submit, info.last = jobs.back().submit;
  info.demands = share_by_demand(jobs);
  for (const DemandShare& share : info.demands) info.gpu_s += share.gpu_s;
  info.bins = bin_durations(jobs);
  info.running = running_demand(jobs, info.gpu_s);
  describe_durations(jobs, info);
  if (cluster != nullptr) info.fit = fit(workload, info, *cluster);
  return info;
}

std::vector<Distance> distances(const Workload& a, const Workload& b) {
  constexpr std::int32_t kAll = std::numeric_limits<std::int32_t>::max();
  std::vector<Distance> all;
  all.push_back(distance("duration", durations_s(a.jobs, 0, kAll), durations_s(b.jobs, 0, kAll)));
  all.push_back(distance("GPUs", gpus_of(a.jobs), gpus_of(b.jobs)));
  all.push_back(distance("time between submissions", gaps_s(a.jobs), gaps_s(b.jobs)));
  struct Class {
    std::string_view name;
    std::int32_t from, to;
  };
  for (const auto& [name, from, to] :
       {Class{"1 GPU", 1, 1}, Class{"2 GPUs", 2, 2}, Class{"3-4 GPUs", 3, 4},
        Class{"5-8 GPUs", 5, 8}, Class{"9 GPUs and more", 9, kAll}}) {
    auto in_a = durations_s(a.jobs, from, to), in_b = durations_s(b.jobs, from, to);
    if (in_a.empty() || in_b.empty()) continue;
    all.push_back(distance(fmt::format("duration, {}", name), std::move(in_a), std::move(in_b)));
  }
  return all;
}

}  // namespace trainyard
