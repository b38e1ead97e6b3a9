#include "live/engine/slurm/dry_run.h"

#include <algorithm>

#include "live/engine/slurm/request.h"

namespace trainyard {
namespace {

tl::unexpected<SlurmFailure> no_such_job() {
  return tl::make_unexpected(SlurmFailure{false, "there is no such job"});
}

}  // namespace

void DryRun::say(const std::string& what) {
  system_.log().write(LogLevel::info, "dry run: would " + what);
}

SlurmAnswer<std::optional<std::vector<SlurmJob>>> DryRun::jobs() {
  auto jobs = slurm_->jobs();
  if (!jobs) return tl::make_unexpected(jobs.error());
  if (*jobs) {
    real_.clear();
    for (SlurmJob& job : **jobs) real_.emplace(job.id, std::move(job));
    std::erase_if(pretended_, [&](const auto& entry) {
      const auto real = real_.find(entry.first);
      return real == real_.end() || real->second.submitted != entry.second.submitted;
    });
  }
  if (!*jobs && !std::exchange(has_changed_, false)) return std::nullopt;
  has_changed_ = false;
  std::vector<SlurmJob> shown;
  for (const auto& [id, job] : real_) shown.push_back(as_pretended(job));
  return shown;
}

SlurmAnswer<std::optional<SlurmJob>> DryRun::job(const std::string& id) {
  const auto found = real_.find(id);
  if (found == real_.end()) return std::nullopt;
  return as_pretended(found->second);
}

SlurmAnswer<std::optional<std::vector<SlurmNode>>> DryRun::nodes() {
  auto nodes = slurm_->nodes();
  if (nodes && *nodes) nodes_ = **nodes;
  return nodes;
}

SlurmJob DryRun::as_pretended(SlurmJob job) const {
  const auto found = pretended_.find(job.id);
  if (found == pretended_.end()) return job;
  const Pretence& pretence = found->second;
  job.mark = pretence.mark;
  job.is_held = pretence.is_held;
  if (!pretence.is_decided || has_ended(job.state)) return job;
  job.request.nodes_wanted.clear();
  job.state = pretence.state;
  job.is_completing = job.is_configuring = false;
  job.restarts = pretence.restarts;
  job.started = pretence.started;
  job.places = pretence.places;
  return job;
}

DryRun::Pretence& DryRun::pretend(const SlurmJob& job) {
  has_changed_ = true;
  const auto [at, is_new] = pretended_.try_emplace(job.id);
  Pretence& pretence = at->second;
  if (is_new) pretence.submitted = job.submitted, pretence.is_held = job.is_held;
  if (is_new) pretence.mark = job.mark;
  if (!pretence.is_decided) pretence.restarts = job.restarts, pretence.started = job.started;
  return pretence;
}

DryRun::Pretence& DryRun::decide(const SlurmJob& job, SlurmState state) {
  Pretence& pretence = pretend(job);
  pretence.is_decided = true;
  pretence.state = state;
  pretence.places.clear();
  return pretence;
}

/// The lowest numbers that nothing uses, neither in truth nor in pretence. Empty: Slurm's own jobs
/// have some of them, so that it cannot be said.
std::vector<SlurmPlace> DryRun::room_on(const std::vector<std::string>& nodes,
                                        const SlurmJob& job) const {
  const auto spec = spec_of(job, nodes_);
  std::map<std::string, std::set<std::int32_t>> used;
  for (const auto& [id, real] : real_) {
    const SlurmJob shown = as_pretended(real);
    if (shown.state != SlurmState::running || id == job.id) continue;
    for (const SlurmPlace& place : shown.places)
      used[place.node].insert(place.gpus.begin(), place.gpus.end());
  }
  std::vector<SlurmPlace> places;
  for (const std::string& node : nodes) {
    SlurmPlace place{node, {}};
    const auto there = std::ranges::find(nodes_, node, &SlurmNode::name);
    const std::int32_t all = there == nodes_.end() ? 0 : there->capacity.gpus;
    const std::int32_t gpus = !spec ? 0 : spec->node.whole ? all : spec->per_worker.gpus;
    for (std::int32_t gpu = 0; std::ssize(place.gpus) < gpus && gpu < all; ++gpu)
      if (!used[node].contains(gpu)) place.gpus.push_back(gpu);
    if (std::ssize(place.gpus) < gpus) return {};
    places.push_back(std::move(place));
  }
  return places;
}

SlurmAnswer<void> DryRun::update(const SlurmUpdate& update) {
  const auto found = real_.find(update.id);
  if (found == real_.end()) return no_such_job();
  Pretence& job = pretend(found->second);
  if (update.mark) job.mark = *update.mark;
  if (update.hold == SlurmUpdate::Hold::hold) job.is_held = true;
  if (update.hold != SlurmUpdate::Hold::release) return {};
  job.is_held = false;
  if (!update.nodes || update.nodes->empty()) return {};
  say(fmt::format("start job {} on {}", update.id, fmt::join(*update.nodes, ", ")));
  SlurmJob wanted = found->second;
  wanted.request.nodes_wanted.clear();
  decide(found->second, SlurmState::running).started = system_.wall_clock();
  job.places = room_on(*update.nodes, wanted);
  return {};
}

SlurmAnswer<void> DryRun::requeue_held(const std::string& id) {
  const auto found = real_.find(id);
  if (found == real_.end()) return no_such_job();
  say(fmt::format("pause job {}", id));
  Pretence& job = decide(found->second, SlurmState::pending);
  job.is_held = true;
  ++job.restarts;
  return {};
}

SlurmAnswer<void> DryRun::signal(const std::string& id, int number, SlurmTarget /*target*/) {
  say(fmt::format("send signal {} to job {}", number, id));
  return {};
}

SlurmAnswer<void> DryRun::cancel(const std::string& id) {
  const auto found = real_.find(id);
  if (found == real_.end()) return no_such_job();
  say(fmt::format("cancel job {}", id));
  decide(found->second, SlurmState::cancelled);
  return {};
}

SlurmAnswer<std::string> DryRun::submit(const SlurmSubmission& job) {
  say(fmt::format("submit {} as {}", quoted(job.name), job.owner.user));
  return tl::make_unexpected(SlurmFailure{false, "a dry run submits nothing"});
}

}  // namespace trainyard
