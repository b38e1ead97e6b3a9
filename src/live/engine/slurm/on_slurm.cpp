#include "live/engine/slurm/on_slurm.h"

#include <random>

#include "live/engine/slurm/dry_run.h"
#include "live/engine/slurm/libslurm.h"

namespace trainyard {
namespace {

/// Which of all daemons this is, in every life of it: jobs of Slurm's bear it.
Expected<std::string> daemon_name(const std::string& state) {
  const std::string path = state + "/slurm-name";
  if (auto known = read_small_file(path, 64); known && !known->empty()) return known;
  std::random_device random;
  const std::string made = fmt::format("{:08x}", random());
  if (auto ok = create_file(path, made, 0600); !ok) return tl::make_unexpected(ok.error());
  return made;
}

}  // namespace

Expected<std::unique_ptr<Engine>> open_engine_on_slurm(System& system, const OnSlurm& options) {
  if (options.partition.empty())
    return fail("--engine slurm needs --partition: whose jobs shall be scheduled");
  const auto daemon = daemon_name(options.state);
  if (!daemon) return tl::make_unexpected(daemon.error());
  auto slurm = open_libslurm(options.partition);
  if (!slurm) return tl::make_unexpected(slurm.error());
  if (options.dry_run) slurm = std::make_unique<DryRun>(system, *std::move(slurm));
  SlurmEngineOptions engine;
  engine.runs.partition = options.partition;
  engine.runs.daemon = *daemon;
  engine.runs.takes_unheld = options.dry_run;
  auto opened = SlurmEngine::open(system, *std::move(slurm), std::move(engine));
  if (!opened) return tl::make_unexpected(opened.error());
  return opened;
}

Expected<std::vector<std::string>> release_jobs(SlurmController& slurm,
                                                const std::string& partition) {
  const auto jobs = slurm.jobs();
  if (!jobs) return fail("slurmctld does not answer: {}", jobs.error().message);
  std::vector<std::string> released;
  for (const SlurmJob& job : jobs->value_or(std::vector<SlurmJob>())) {
    if (job.partition != partition || job.state != SlurmState::pending) continue;
    if (!is_ours(job.mark)) continue;  // one that is held otherwise is held by its user
    SlurmUpdate update;
    update.id = job.id;
    update.hold = SlurmUpdate::Hold::release;
    if (parse_mark(job.mark)) update.nodes = std::vector<std::string>();
    update.mark = "";
    if (const auto done = slurm.update(update); !done)
      return fail("job {} cannot be released: {}", job.id, done.error().message);
    released.push_back(job.id);
  }
  return released;
}

}  // namespace trainyard
