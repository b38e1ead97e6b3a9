#include "perf/catalogue_speed.h"

#include <algorithm>
#include <bit>
#include <limits>

#include "perf/speed.h"

namespace trainyard {
namespace {

constexpr MachineId kFirst{0};
constexpr std::uint32_t kUnknownModel = 0;

/// Over what the duration says, computing takes so much longer on these GPUs.
double computing_ratio(const Job& job, double measured, const Placement& placement, double speed) {
  return static_cast<double>(job.workers) / workers(placement) * (measured / speed);
}

}  // namespace

CatalogueSpeed::CatalogueSpeed(const Cluster& cluster, const Workload& workload,
                               const Catalogue& catalogue, DurationIs duration)
    : cluster_(cluster),
      workload_(workload),
      catalogue_(catalogue),
      duration_(duration),
      speeds_(1) {
  away_.fill(kFirst);
  for (std::size_t m = cluster.machines.size(); m-- > 1;) {
    const MachineId machine{static_cast<std::uint32_t>(m)};
    const std::size_t tier = tier_of(cluster, {{kFirst, 1}, {machine, 1}});
    std::fill(away_.begin() + kRackTier, away_.begin() + static_cast<std::ptrdiff_t>(tier) + 1,
              machine);
  }
  look_up_names();
}

bool CatalogueSpeed::matters(const Workload& workload, const Catalogue& catalogue) {
  return std::ranges::any_of(
             workload.models,
             [&](const std::string& name) { return catalogue.find(name) != nullptr; }) ||
         std::ranges::any_of(workload.jobs, [](const Job& job) {
           return job.measured_on != kAnyKind || job.is_elastic();
         });
}

void CatalogueSpeed::look_up_names() {
  while (row_.size() < workload_.models.size()) {
    const ModelProfile* model = catalogue_.find(workload_.models[row_.size()]);
    // A model has one row, by however many names a workload calls it.
    const auto known = std::ranges::find(speeds_, model, &GpuSpeeds::model);
    row_.push_back(static_cast<std::uint32_t>(known - speeds_.begin()));
    if (known == speeds_.end()) speeds_.push_back({model, {}, {}});
  }
  for (GpuSpeeds& speeds : speeds_) look_up_kinds(speeds);
}

void CatalogueSpeed::look_up_kinds(GpuSpeeds& speeds) const {
  const auto speed_of = [&](const std::string& kind) {
    return speeds.model == nullptr ? catalogue_.relative(kind)
                                   : catalogue_.samples_per_s(*speeds.model, kind).value;
  };
  const auto look_up = [&](std::vector<double>& known, const Names& kinds) {
    while (known.size() < kinds.size()) known.push_back(speed_of(kinds[known.size()]));
  };
  look_up(speeds.here, cluster_.kinds);
  look_up(speeds.named, workload_.kinds);
}

const CatalogueSpeed::GpuSpeeds& CatalogueSpeed::speeds_of(const Job& job) const {
  return speeds_[index(job.model) < row_.size() ? row_[index(job.model)] : kUnknownModel];
}

double CatalogueSpeed::speed_on(const Job& job, const GpuSpeeds& speeds,
                                const Placement& placement) const {
  double slowest = std::numeric_limits<double>::max(), fastest = 0, sum = 0;
  for (const Share& share : placement) {
    const double here = speeds.here[index(cluster_.machine(share.machine).kind)];
    slowest = std::min(slowest, here);
    fastest = std::max(fastest, here);
    sum += here * share.workers;
  }
  return job.is_elastic() && slowest < fastest ? sum / workers(placement) : slowest;
}

double CatalogueSpeed::slowest_for(const GpuSpeeds& speeds, const Job& job) const {
  if (job.kind != kAnyKind) return speeds.named[index(job.kind)];
  return *std::ranges::min_element(speeds.here);
}

Rate CatalogueSpeed::rate(const Job& job, const Placement& placement) const {
  const GpuSpeeds& speeds = speeds_of(job);
  const bool may_communicate = speeds.model != nullptr && job.gpus() > 1;
  if (!may_communicate && job.measured_on == kAnyKind && workers(placement) == job.workers)
    return {};
  return Rate::taking(time_per_work(job, speeds, placement, speed_on(job, speeds, placement)));
}

double CatalogueSpeed::measured_speed(const Job& job, const GpuSpeeds& speeds, double speed) {
  return job.measured_on == kAnyKind ? speed : speeds.named[index(job.measured_on)];
}

/// `speed` of the job's GPUs.
Iteration CatalogueSpeed::iteration(const Job& job, const GpuSpeeds& speeds,
                                    const Placement& placement, double speed) const {
  if (speeds.model == nullptr) return {};
  const double measured = measured_speed(job, speeds, speed);
  const double said_s = job.iterations > 0
                            ? job.duration.seconds() / static_cast<double>(job.iterations)
                            : speeds.model->batch.value / measured;
  if (said_s <= 0) return {};
  return {speeds.model, said_s * computing_ratio(job, measured, placement, speed), said_s};
}

double CatalogueSpeed::time_per_work(const Job& job, const GpuSpeeds& speeds,
                                     const Placement& placement, double speed) const {
  const Iteration here = iteration(job, speeds, placement, speed);
  if (here.model == nullptr)
    return computing_ratio(job, measured_speed(job, speeds, speed), placement, speed);
  const Spread spread = spread_of(cluster_, placement, job.per_worker.gpus);
  const double here_s = iteration_time(*here.model, here.compute_s, spread).total_s();
  if (duration_ == DurationIs::computing) return here_s / here.work_s;
  const auto in_one_machine = [&](double s, std::int32_t gpus) {
    return iteration_time(*here.model, s, spread_in_machine(cluster_.tiers, gpus)).total_s();
  };
  return std::max(here_s, in_one_machine(here.compute_s, spread.gpus)) /
         in_one_machine(here.work_s, job.gpus());
}

/// Whatever these machines hold: the slowest link between them is what matters. All on the first
/// where the cluster has no machine so far away.
Placement CatalogueSpeed::typical_placement(const Job& job, std::size_t tier) const {
  const std::int32_t half = (job.workers + 1) / 2;
  if (away_[tier] == kFirst || half == job.workers) return {{kFirst, job.workers}};
  return {{kFirst, half}, {away_[tier], job.workers - half}};
}

Rate CatalogueSpeed::rate_at(const Job& job, std::size_t tier) const {
  const GpuSpeeds& speeds = speeds_of(job);
  if (job.measured_on == kAnyKind) {
    const bool may_communicate = speeds.model != nullptr && job.gpus() > 1;
    return may_communicate ? rate(job, typical_placement(job, tier)) : Rate{};
  }
  return Rate::taking(
      time_per_work(job, speeds, typical_placement(job, tier), slowest_for(speeds, job)));
}

Placement CatalogueSpeed::closest_placement(std::int32_t workers, std::int32_t gpus) const {
  Placement placement;
  for (std::uint32_t m = 0; m < cluster_.machines.size() && workers > 0; ++m) {
    const std::int32_t here = std::min(workers, cluster_.machines[m].capacity.gpus / gpus);
    if (here == 0) continue;
    placement.push_back({MachineId{m}, here});
    workers -= here;
  }
  return placement;
}

GangSpeed CatalogueSpeed::gang(const Job& job) const {
  const GpuSpeeds& speeds = speeds_of(job);
  const ModelProfile* model = speeds.model;
  if (model == nullptr || job.gpus() == 0) return {.unit_s = static_cast<double>(job.workers)};
  const Iteration said = iteration(job, speeds, {{kFirst, job.workers}},
                                   measured_speed(job, speeds, slowest_for(speeds, job)));
  const std::uint32_t most = std::bit_ceil(static_cast<std::uint32_t>(job.max_workers));
  std::vector<double>& by_size = communication_s_[{model, job.per_worker.gpus, most}];
  if (by_size.empty()) by_size.push_back(0);
  while (by_size.size() <= most) {
    const auto workers = static_cast<std::int32_t>(by_size.size());
    const Spread spread =
        spread_of(cluster_, closest_placement(workers, job.per_worker.gpus), job.per_worker.gpus);
    by_size.push_back(communication_time(*model, spread));
  }
  const double work_s =
      duration_ == DurationIs::computing
          ? said.work_s
          : iteration_time(*model, said.work_s, spread_in_machine(cluster_.tiers, job.gpus()))
                .total_s();
  return {.work_s = work_s,
          .unit_s = said.work_s * job.workers,
          .overlap = model->overlap.value,
          .communication_s = by_size};
}

double CatalogueSpeed::power(const Job& job, KindId kind) const {
  if (job.measured_on == kAnyKind) return 1;
  const GpuSpeeds& speeds = speeds_of(job);
  return speeds.here[index(kind)] / speeds.named[index(job.measured_on)];
}

std::string unknown_measure(std::string_view kind, const Cluster& cluster,
                            const Catalogue& catalogue) {
  const auto is_this = [&](const std::string& other) {
    return plain_name(other) == plain_name(kind);
  };
  if (catalogue.knows_kind(kind) || std::ranges::any_of(cluster.kinds, is_this)) return {};
  std::vector<std::string> known(cluster.kinds.begin(), cluster.kinds.end());
  for (const KindFactor& other : catalogue.kinds()) known.push_back(other.kind);
  return fmt::format(
      "was measured on GPUs of kind {}, which neither the cluster nor the catalogue has{}",
      quoted(kind), did_you_mean(kind, known));
}

Expected<void> check_measures(const Workload& workload, const Cluster& cluster,
                              const Catalogue& catalogue) {
  std::vector<bool> is_known(workload.kinds.size());  // those that were asked for
  for (std::size_t j = 0; j < workload.jobs.size(); ++j) {
    const Job& job = workload.jobs[j];
    if (job.measured_on == kAnyKind || is_known[index(job.measured_on)]) continue;
    const std::string why =
        unknown_measure(workload.kinds[index(job.measured_on)], cluster, catalogue);
    if (!why.empty())
      return fail("{}: job {} {}; --models FILE adds a kind by a [[kind]] table", workload.source,
                  workload.job_name(JobId{static_cast<std::uint32_t>(j)}), why);
    is_known[index(job.measured_on)] = true;
  }
  return {};
}

}  // namespace trainyard
