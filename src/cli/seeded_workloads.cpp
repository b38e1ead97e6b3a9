#include "cli/seeded_workloads.h"

#include "base/progress.h"
#include "bound/gangs.h"
#include "perf/catalogue_speed.h"
#include "study/parallel.h"
#include "study/recipe.h"
#include "workload/generate/generate.h"

namespace trainyard::cli {

Expected<void> SeededWorkloads::load() {
  auto first = load_checked(options_.seed);
  if (!first) return tl::make_unexpected(first.error());
  first_ = std::make_shared<const Workload>(std::move(*first));
  return {};
}

Expected<std::shared_ptr<const Workload>> SeededWorkloads::of(std::uint64_t seed) const {
  if (seed == options_.seed || !names_generator(options_.workload)) return first_;
  auto workload = load_checked(seed);
  if (!workload) return tl::make_unexpected(workload.error());
  return std::make_shared<const Workload>(std::move(*workload));
}

Expected<Workload> SeededWorkloads::load_checked(std::uint64_t seed) const {
  WorkloadOptions options = options_;
  options.seed = seed;
  options.quiet = seed != options_.seed;
  auto workload = load_workload(options, cluster_);
  if (!workload) return workload;
  if (auto ok = prepare(cluster_, models_, preparation(options, with_curves_), *workload); !ok)
    return tl::make_unexpected(ok.error());
  return workload;
}

std::string describe(const SeededWorkloads& workloads) {
  // What a generator makes differs by the seed, and its source names one.
  const Workload& first = workloads.first();
  const std::string& asked = workloads.options().workload;
  const std::string& source = names_generator(asked) ? asked : first.source;
  return fmt::format("{} ({} jobs)", source, first.jobs.size());
}

std::vector<std::uint64_t> seeds_from(std::uint64_t first, int count) {
  std::vector<std::uint64_t> seeds;
  for (int i = 0; i < count; ++i) seeds.push_back(first + static_cast<std::uint64_t>(i));
  return seeds;
}

Expected<std::vector<LowerBound>> lower_bounds(const SeededWorkloads& workloads,
                                               const std::vector<std::uint64_t>& seeds,
                                               int threads) {
  std::vector<LowerBound> bounds(seeds.size());
  Progress progress("bounding", seeds.size());
  const auto done = in_parallel(seeds.size(), threads, [&](std::size_t i) -> Expected<void> {
    const auto workload = workloads.of(seeds[i]);
    if (!workload) return tl::make_unexpected(workload.error());
    const CatalogueSpeed speed(workloads.cluster(), **workload, workloads.models());
    bounds[i] = lower_bound(gangs_of(**workload, workloads.cluster(), speed),
                            workloads.cluster().total_gpus);
    progress.add();
    return {};
  });
  if (!done) return tl::make_unexpected(done.error());
  return bounds;
}

}  // namespace trainyard::cli
