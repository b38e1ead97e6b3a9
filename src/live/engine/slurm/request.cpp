#include "live/engine/slurm/request.h"

#include <algorithm>
#include <cctype>

#include "live/engine/slurm/comment.h"
#include "live/job/utf8.h"

namespace trainyard {
namespace {

constexpr std::size_t kLongestName = 200;

bool same_word(std::string_view a, std::string_view b) {
  return std::ranges::equal(
      a, b, [](unsigned char x, unsigned char y) { return std::tolower(x) == std::tolower(y); });
}

/// The largest there is of each.
Resources largest_node(const std::vector<SlurmNode>& nodes, const std::string& kind) {
  Resources most;
  for (const SlurmNode& node : nodes) {
    if (!kind.empty() && !same_word(node.kind, kind)) continue;
    most.gpus = std::max(most.gpus, node.capacity.gpus);
    most.milli_cpus = std::max(most.milli_cpus, node.capacity.milli_cpus);
    most.memory_mib = std::max(most.memory_mib, node.capacity.memory_mib);
  }
  return most;
}

/// The one kind that the job names by --gres=gpu:KIND:n or by --constraint.
Expected<std::string> kind_of(const SlurmRequest& request, const std::vector<SlurmNode>& nodes) {
  std::string kind = request.per_node.kind;
  for (const SlurmGpus* gpus : {&request.per_job, &request.per_task})
    if (!gpus->kind.empty()) kind = gpus->kind;
  if (request.features.empty()) return kind;
  const bool is_kind = std::ranges::any_of(
      nodes, [&](const SlurmNode& node) { return same_word(node.kind, request.features); });
  if (!is_kind)
    return fail("it asks for the feature {}, which is not a kind of GPU of this partition",
                quoted(request.features));
  if (!kind.empty() && !same_word(kind, request.features))
    return fail("it asks for GPUs of type {} and for the feature {}", quoted(kind),
                quoted(request.features));
  return request.features;
}

struct Gang {
  std::int32_t workers = 1, gpus = 1;
};

/// `total` GPUs that may be anywhere.
Expected<Gang> gang_of_total(std::int64_t total, std::int32_t nodes, std::int32_t most) {
  if (total < 1) return fail("it asks for no GPUs");
  if (nodes == 1 && total <= most) return Gang{1, static_cast<std::int32_t>(total)};
  if (most > 0 && total % most == 0 && total / most >= nodes && total / most <= 4096)
    return Gang{static_cast<std::int32_t>(total / most), most};
  return fail(
      "{} GPUs that may be anywhere are taken on one node, or on nodes of {} that are wholly the "
      "job's: ask with --nodes and --gpus-per-node",
      total, most);
}

Expected<Gang> gang_of(const SlurmRequest& request, const Resources& node) {
  const std::int32_t nodes = std::max(request.nodes, 1);
  if (request.is_exclusive) return Gang{nodes, node.gpus};
  if (request.per_node.count > 0) return Gang{nodes, request.per_node.count};
  if (request.per_job.count > 0) return gang_of_total(request.per_job.count, nodes, node.gpus);
  if (request.per_task.count < 1)
    return fail("it asks for no GPUs, and only jobs that do are scheduled: --gpus-per-node=1, say");
  if (request.tasks_per_node > 0 && nodes > 1) {
    if (std::int64_t{request.tasks_per_node} * nodes != request.tasks)
      return fail("{} tasks are not {} on each of {} nodes", request.tasks, request.tasks_per_node,
                  nodes);
    return Gang{nodes, request.tasks_per_node * request.per_task.count};
  }
  return gang_of_total(std::int64_t{request.tasks} * request.per_task.count, nodes, node.gpus);
}

std::int32_t bounded(std::int64_t amount) {
  return static_cast<std::int32_t>(
      std::clamp<std::int64_t>(amount, 1, std::numeric_limits<std::int32_t>::max()));
}

Resources worker_of(const SlurmRequest& request, const Gang& gang, const Resources& node) {
  if (request.is_exclusive) return node;
  std::int64_t cpus = (std::int64_t{request.cpus} + gang.workers - 1) / gang.workers;
  cpus = std::max(cpus, std::int64_t{request.cpus_per_gpu} * gang.gpus);
  std::int64_t memory = request.memory_mib * (request.memory_per_cpu ? cpus : 1);
  if (request.memory_per_gpu > 0) memory = request.memory_per_gpu * gang.gpus;
  std::int64_t milli_cpus = cpus * 1000;
  const bool two_would_fit = gang.workers > 1 && 2 * gang.gpus <= node.gpus;
  if (two_would_fit) milli_cpus = std::max<std::int64_t>(milli_cpus, node.milli_cpus / 2 + 1);
  return {gang.gpus, bounded(milli_cpus), memory == 0 ? node.memory_mib : bounded(memory)};
}

Expected<void> check_takeable(const SlurmJob& job) {
  const SlurmRequest& request = job.request;
  if (!job.is_batch) return fail("it is no batch job; submit it with sbatch");
  if (!job.may_requeue)
    return fail(
        "it may not be requeued, which is how jobs are paused: leave out --no-requeue "
        "(and have JobRequeue=1 in slurm.conf)");
  if (!request.nodes_wanted.empty()) return fail("it names its nodes: leave out --nodelist");
  if (!request.nodes_excluded.empty()) return fail("it excludes nodes: leave out --exclude");
  if (!request.unknown.empty()) return fail("it asks for {}: leave that out", request.unknown);
  return {};
}

}  // namespace

Expected<JobSpec> spec_of(const SlurmJob& job, const std::vector<SlurmNode>& nodes) {
  if (auto ok = check_takeable(job); !ok) return tl::make_unexpected(ok.error());
  JobSpec spec;
  const auto kind = kind_of(job.request, nodes);
  if (!kind) return tl::make_unexpected(kind.error());
  const Resources node = largest_node(nodes, *kind);
  if (node.gpus == 0) return fail("no node of the partition has GPUs of type {}", quoted(*kind));
  const auto gang = gang_of(job.request, node);
  if (!gang) return tl::make_unexpected(gang.error());
  spec.gpu_kind = *kind;
  spec.workers = gang->workers;
  spec.per_worker = worker_of(job.request, *gang, node);
  if (!spec.per_worker.fits_in(node))
    return fail("it asks for {} GPUs, {} CPUs and {} MiB on a node, more than any has",
                spec.per_worker.gpus, spec.per_worker.milli_cpus / 1000,
                spec.per_worker.memory_mib);
  const auto fitting = std::ranges::count_if(nodes, [&](const SlurmNode& one) {
    return (kind->empty() || same_word(one.kind, *kind)) && spec.per_worker.fits_in(one.capacity);
  });
  if (spec.workers > fitting)
    return fail("it asks for {} nodes with {} GPUs each, and there {} only {}", spec.workers,
                spec.per_worker.gpus, fitting == 1 ? "is" : "are", fitting);
  if (job.time_limit) spec.time = *job.time_limit;
  if (auto ok = read_slurm_comment(job.comment, spec); !ok) return tl::make_unexpected(ok.error());
  spec.name = as_utf8(job.name).substr(0, kLongestName);
  std::erase_if(spec.name, [](unsigned char c) { return c < 0x20 || c == 0x7f; });
  if (!is_utf8(spec.name) || spec.name.empty()) spec.name = "job";
  spec.command = {fmt::format("Slurm's job {}", job.id)};
  if (job.directory.starts_with('/')) spec.directory = as_utf8(job.directory);
  spec.output = as_utf8(job.output);
  return spec;
}

}  // namespace trainyard
