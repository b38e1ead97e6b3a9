#include "live/engine/memory/memory_engine.h"

#include <algorithm>

namespace trainyard {

MemoryEngine::MemoryEngine(System& system, MemoryWorld& world) : system_(system), world_(world) {
  const std::lock_guard lock(world_.mutex_);
  world_.attach();
  cluster_ = world_.cluster_;
}

std::map<JobNumber, Engine::Trace> MemoryEngine::traces() const {
  const std::lock_guard lock(world_.mutex_);
  return world_.traces();
}

Expected<void> MemoryEngine::start(const Launch& launch) {
  if (auto ok = system_.before("engine.start"); !ok) return ok;
  {
    const std::lock_guard lock(world_.mutex_);
    auto there = in_the_world(launch);
    if (!there) return tl::make_unexpected(there.error());
    if (auto ok = world_.start(*there); !ok) return ok;
  }
  system_.after("engine.start");
  return {};
}

/// The world's cluster may be newer than the one that was last told of.
Expected<Launch> MemoryEngine::in_the_world(Launch launch) const {
  const std::vector<Machine>& there = world_.cluster_.machines;
  for (WorkerPlace& worker : launch.workers) {
    if (index(worker.machine) >= cluster_.machines.size()) return fail("there is no such machine");
    const std::string& name = cluster_.machine(worker.machine).name;
    const auto found = std::ranges::find(there, name, &Machine::name);
    if (found == there.end()) return fail("there is no machine {} any more", name);
    for (std::int32_t& gpu : worker.gpus) {
      const std::string gpu_there = gpu_name(cluster_.machine(worker.machine), gpu);
      const auto same = find_gpu(*found, gpu_there);
      if (!same) return fail("there is no GPU {} in machine {} any more", gpu_there, name);
      gpu = *same;
    }
    worker.machine = MachineId{static_cast<std::uint32_t>(found - there.begin())};
  }
  return launch;
}

Expected<void> MemoryEngine::stop(const Stop& stop) {
  if (auto ok = system_.before("engine.stop"); !ok) return ok;
  {
    const std::lock_guard lock(world_.mutex_);
    world_.stop(stop);
  }
  system_.after("engine.stop");
  return {};
}

Expected<void> MemoryEngine::adopt(RunId id) {
  if (auto ok = system_.before("engine.adopt"); !ok) return ok;
  {
    const std::lock_guard lock(world_.mutex_);
    world_.adopt(id);
  }
  system_.after("engine.adopt");
  return {};
}

void MemoryEngine::call(const std::string& born_as, JobNumber job) {
  const std::lock_guard lock(world_.mutex_);
  world_.call(born_as, job);
}

void MemoryEngine::forget(RunId id) {
  if (!system_.before("engine.forget")) return;
  {
    const std::lock_guard lock(world_.mutex_);
    world_.forget(id);
  }
  system_.after("engine.forget");
}

Expected<void> MemoryEngine::erase_output(JobNumber job, std::uint32_t runs) {
  if (auto ok = system_.before("engine.erase_output"); !ok) return ok;
  {
    const std::lock_guard lock(world_.mutex_);
    world_.erase_output(job, runs);
  }
  system_.after("engine.erase_output");
  return {};
}

Expected<void> MemoryEngine::erase_checkpoints(JobNumber job) {
  if (auto ok = system_.before("engine.erase_checkpoints"); !ok) return ok;
  {
    const std::lock_guard lock(world_.mutex_);
    world_.erase_checkpoints(job);
  }
  system_.after("engine.erase_checkpoints");
  return {};
}

std::vector<EngineReport> MemoryEngine::poll() {
  const std::lock_guard lock(world_.mutex_);
  std::vector<EngineReport> reports = world_.take_reports();
  if (std::ranges::any_of(reports, [](const EngineReport& report) {
        return std::holds_alternative<ClusterReport>(report);
      }))
    cluster_ = world_.cluster_;
  if (&system_ == &world_.clock_) return reports;
  // By the daemon's clocks, of which somebody may have set one, and the other began anew.
  const Duration shift = system_.wall_clock() - world_.clock_.wall_clock();
  const Duration steady = system_.steady_clock() - world_.clock_.steady_clock();
  for (EngineReport& report : reports) {
    auto* run = std::get_if<RunReport>(&report);
    if (run == nullptr) continue;
    run->at = run->at + shift;
    if (run->steady) run->steady = *run->steady + steady;
  }
  return reports;
}

Expected<Engine::Output> MemoryEngine::output(RunId id, std::int32_t worker, std::uint64_t offset,
                                              std::size_t limit) const {
  const std::lock_guard lock(world_.mutex_);
  return world_.output(id, worker, offset, limit);
}

}  // namespace trainyard
