#include "live/engine/slurm/request.h"

#include <algorithm>
#include <cctype>

#include "live/engine/slurm/comment.h"
#include "live/job/job_terms.h"
#include "live/job/utf8.h"

namespace trainyard {
namespace {

constexpr std::size_t kLongestName = 200;

bool same_word(std::string_view a, std::string_view b) {
  return std::ranges::equal(
      a, b, [](unsigned char x, unsigned char y) { return std::tolower(x) == std::tolower(y); });
}

/// The one kind that the job names by --gres=gpu:KIND:n, or by a --constraint that is a kind.
Expected<std::string> kind_of(const SlurmRequest& request, const std::vector<SlurmNode>& nodes) {
  std::string kind = request.per_node.kind;
  for (const SlurmGpus* gpus : {&request.per_job, &request.per_task})
    if (!gpus->kind.empty()) kind = gpus->kind;
  const bool names_kind = std::ranges::any_of(
      nodes, [&](const SlurmNode& node) { return same_word(node.kind, request.features); });
  if (!names_kind) return kind;
  if (!kind.empty() && !same_word(kind, request.features))
    return fail("it asks for GPUs of type {} and for the feature {}", quoted(kind),
                quoted(request.features));
  return request.features;
}

/// The nodes that have its kind of GPU and the features that it asks for.
Expected<std::vector<const SlurmNode*>> eligible(const std::string& kind,
                                                 const std::string& features,
                                                 const std::vector<SlurmNode>& nodes) {
  Constraint constraint;
  if (!features.empty()) {
    const auto parsed = parse_constraint(features);
    if (!parsed) return fail("it asks for features: {}", parsed.error().message);
    constraint = *parsed;
  }
  std::vector<const SlurmNode*> found;
  bool has_kind = false;
  for (const SlurmNode& node : nodes) {
    if (!kind.empty() && !same_word(node.kind, kind)) continue;
    has_kind = has_kind || node.capacity.gpus > 0;
    if (constraint.empty() || meets(constraint, features_of(node.name, node.kind, node.features)))
      found.push_back(&node);
  }
  if (!has_kind) return fail("no node of the partition has GPUs of type {}", quoted(kind));
  if (std::ranges::none_of(found, [](const SlurmNode* node) { return node->capacity.gpus > 0; }))
    return fail("it asks for the feature {}, which no node of this partition with such GPUs has",
                quoted(features));
  return found;
}

/// The most GPUs, CPUs and memory that any of them has.
Resources largest_of(const std::vector<const SlurmNode*>& nodes) {
  Resources most;
  for (const SlurmNode* node : nodes) {
    most.gpus = std::max(most.gpus, node->capacity.gpus);
    most.milli_cpus = std::max(most.milli_cpus, node->capacity.milli_cpus);
    most.memory_mib = std::max(most.memory_mib, node->capacity.memory_mib);
  }
  return most;
}

/// The fewest GPUs of a node that has some.
std::int32_t fewest_gpus_of(const std::vector<const SlurmNode*>& nodes) {
  std::int32_t fewest = kMaxGpusPerMachine;
  for (const SlurmNode* node : nodes)
    if (node->capacity.gpus > 0) fewest = std::min(fewest, node->capacity.gpus);
  return fewest;
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

/// What a worker takes of whichever node it is on.
void set_worker(const SlurmRequest& request, const Gang& gang, JobSpec& spec) {
  spec.workers = gang.workers;
  spec.node.alone = gang.workers > 1;
  if (request.is_exclusive) {
    spec.node = {.whole = true, .all_memory = true};
    spec.per_worker = {.gpus = gang.gpus};
    return;
  }
  std::int64_t cpus = (std::int64_t{request.cpus} + gang.workers - 1) / gang.workers;
  cpus = std::max(cpus, std::int64_t{request.cpus_per_gpu} * gang.gpus);
  std::int64_t memory = request.memory_mib * (request.memory_per_cpu ? cpus : 1);
  if (request.memory_per_gpu > 0) memory = request.memory_per_gpu * gang.gpus;
  spec.node.all_memory = memory == 0;
  spec.per_worker = {gang.gpus, bounded(cpus * 1000), memory == 0 ? 0 : bounded(memory)};
}

/// How many nodes could each have a worker of it.
std::int64_t nodes_that_fit(const JobSpec& spec, const std::vector<const SlurmNode*>& nodes) {
  const MachineTerms terms = terms_of(spec);
  return std::ranges::count_if(nodes, [&](const SlurmNode* node) {
    return amounts_on(terms, spec.per_worker, node->capacity).fits_in(node->capacity);
  });
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
  const bool is_kind = same_word(*kind, job.request.features);
  if (!is_kind) spec.constraint = job.request.features;
  const auto possible = eligible(*kind, spec.constraint, nodes);
  if (!possible) return tl::make_unexpected(possible.error());
  auto gang = gang_of(job.request, largest_of(*possible));
  if (!gang) return tl::make_unexpected(gang.error());
  if (job.request.is_exclusive) gang->gpus = fewest_gpus_of(*possible);
  spec.gpu_kind = *kind;
  set_worker(job.request, *gang, spec);
  const std::int64_t fitting = nodes_that_fit(spec, *possible);
  if (fitting == 0)
    return fail("it asks for {} GPUs, {} CPUs and {} MiB on a node, more than any has",
                spec.per_worker.gpus, spec.per_worker.milli_cpus / 1000,
                spec.per_worker.memory_mib);
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
