#include "workload/import/import.h"

#include <algorithm>
#include <limits>
#include <numeric>

namespace trainyard {
namespace {

std::int32_t share(std::int64_t total, std::int64_t workers) {
  return static_cast<std::int32_t>(
      std::min<std::int64_t>((total + workers - 1) / workers, std::numeric_limits<int>::max()));
}

/// The name's number, unless there are `limit` others already.
Expected<std::uint16_t> add_name(Names& names, std::string_view name, std::string_view what) {
  constexpr std::size_t kLimit = 65'535;
  if (names.size() >= kLimit && names.find(name) == names.size())
    return fail("{} is one {} too many; there may be {}", quoted(name), what, kLimit);
  return static_cast<std::uint16_t>(names.add(name));
}

}  // namespace

void set_gang(Job& job, std::int64_t gpus, std::int64_t milli_cpus, std::int64_t memory_mib) {
  job.workers = static_cast<std::int32_t>(gpus);
  if (gpus == 0) return;
  job.per_worker = {
      .gpus = 1, .milli_cpus = share(milli_cpus, gpus), .memory_mib = share(memory_mib, gpus)};
}

Expected<void> check_demand(const Job& job) {
  const auto too_much = [&](std::int32_t each) {
    return std::int64_t{each} * job.max_workers > std::numeric_limits<std::int32_t>::max();
  };
  const auto refuse = [&](auto each, std::string_view what) {
    return fail("{} workers of {} {} each are more in all than any cluster has", job.max_workers,
                each, what);
  };
  if (too_much(job.per_worker.gpus)) return refuse(job.per_worker.gpus, "GPUs");
  if (too_much(job.per_worker.milli_cpus)) return refuse(job.per_worker.milli_cpus / 1000, "CPUs");
  if (too_much(job.per_worker.memory_mib)) return refuse(job.per_worker.memory_mib, "MiB");
  return {};
}

Expected<ModelId> add_model(Workload& workload, std::string_view name) {
  return add_name(workload.models, name, "model").map([](std::uint16_t n) { return ModelId{n}; });
}

Expected<KindId> add_kind(Workload& workload, std::string_view name) {
  return add_name(workload.kinds, name, "kind of GPU").map([](std::uint16_t n) {
    return KindId{n};
  });
}

void sort_by_submission(Workload& workload) {
  const auto earlier = [](const Job& a, const Job& b) { return a.submit < b.submit; };
  std::vector<Job>& jobs = workload.jobs;
  if (std::is_sorted(jobs.begin(), jobs.end(), earlier)) return;
  std::vector<std::uint32_t> order(jobs.size());
  std::iota(order.begin(), order.end(), 0U);
  std::stable_sort(order.begin(), order.end(),
                   [&](std::uint32_t a, std::uint32_t b) { return earlier(jobs[a], jobs[b]); });
  std::vector<Job> sorted;
  sorted.reserve(jobs.size());
  for (const std::uint32_t i : order) sorted.push_back(jobs[i]);
  jobs = std::move(sorted);
  if (workload.names.empty()) return;
  std::vector<std::string> names;
  names.reserve(order.size());
  for (const std::uint32_t i : order) names.push_back(std::move(workload.names[i]));
  workload.names = std::move(names);
}

Expected<void> ImportBuilder::add(Job job, std::string_view name, std::optional<Duration> wait) {
  if (job.gpus() == 0) {
    leave_out(kAskedNoGpu);
    return {};
  }
  if (job.duration.us == 0) {
    leave_out(kRanNoTime);
    return {};
  }
  if (workload.jobs.size() >= kMostJobs) return fail("there are more than {} jobs", kMostJobs);
  if (job.estimate.us == 0) job.estimate = job.duration;
  job.min_workers = job.max_workers = job.workers;
  if (auto ok = check_demand(job); !ok) return ok;
  workload.jobs.push_back(job);
  workload.names.emplace_back(name);
  if (wait) waits_.push_back(*wait);
  return {};
}

void ImportBuilder::leave_out(std::string_view reason) {
  for (auto& [known, count] : left_out_)
    if (known == reason) return void(++count);
  left_out_.emplace_back(reason, 1);
}

std::vector<Duration> ImportBuilder::sorted_waits() const {
  if (waits_.size() != workload.jobs.size()) return {};
  std::vector<std::pair<Time, Duration>> order;
  for (std::size_t i = 0; i < waits_.size(); ++i)
    order.emplace_back(workload.jobs[i].submit, waits_[i]);
  std::ranges::stable_sort(order, {}, &std::pair<Time, Duration>::first);
  std::vector<Duration> sorted;
  for (const auto& [submit, wait] : order) sorted.push_back(wait);
  return sorted;
}

Import ImportBuilder::finish() && {
  std::vector<Duration> waits = sorted_waits();
  sort_by_submission(workload);
  if (!workload.jobs.empty()) {
    const Duration first = workload.jobs.front().submit - Time{};
    for (Job& job : workload.jobs) job.submit = job.submit - first;
  }
  if (std::all_of(workload.names.begin(), workload.names.end(),
                  [](const std::string& name) { return name.empty(); }))
    workload.names.clear();
  for (const auto& [reason, count] : left_out_)
    notes_.push_back(fmt::format("{} job{} left out: {}", count, count == 1 ? "" : "s", reason));
  return {std::move(workload), std::move(notes_), std::move(waits)};
}

}  // namespace trainyard
