#include "live/engine/local/traces.h"

#include <algorithm>

#include "live/engine/local/supervisor_link.h"

namespace trainyard {
namespace {

constexpr std::string_view kStray = "run ";

}  // namespace

std::vector<RunId> living_runs(RunHost& host, const RunPlaces& places) {
  std::vector<RunId> found = places.runs();
  std::erase_if(
      found, [&](RunId id) { return id.run == 0 || !host.lives(places.run(id)).value_or(false); });
  return found;
}

namespace {

/// The number in the cluster of the i-th GPU of a worker. A plan of an older daemon has the
/// driver's numbers alone; those of stand-ins are their names.
std::optional<std::int32_t> number_of(const RunPlan& plan, std::size_t rank, std::size_t i,
                                      const std::vector<Gpu>& gpus) {
  const std::int32_t number = plan.gpus[rank][i];
  const bool is_named = rank < plan.gpu_names.size() && i < plan.gpu_names[rank].size();
  const std::string called = is_named ? plan.gpu_names[rank][i] : std::to_string(number);
  const bool is_stand_in = plan.hides_gpus || called == std::to_string(number);
  if (gpus.empty()) return is_stand_in ? std::optional(number) : std::nullopt;
  const auto found = std::ranges::find_if(gpus, [&](const Gpu& gpu) {
    return is_named ? name(gpu) == called : !plan.hides_gpus && gpu.number == number;
  });
  if (found == gpus.end()) return {};
  return static_cast<std::int32_t>(found - gpus.begin());
}

}  // namespace

std::vector<WorkerPlace> places_of(const RunPlan& plan, const std::vector<Gpu>& gpus) {
  std::vector<WorkerPlace> places;
  for (std::size_t rank = 0; rank < plan.gpus.size(); ++rank) {
    WorkerPlace& worker = places.emplace_back();
    for (std::size_t i = 0; i < plan.gpus[rank].size(); ++i)
      if (const auto number = number_of(plan, rank, i, gpus)) worker.gpus.push_back(*number);
  }
  return places;
}

std::map<JobNumber, Engine::Trace> find_traces(RunHost& host, const RunPlaces& places,
                                               const std::vector<Gpu>& gpus) {
  std::map<JobNumber, Engine::Trace> traces;
  for (const JobNumber job : places.jobs_with_checkpoints()) traces.try_emplace(job);
  for (const RunId id : places.runs()) {
    Engine::Trace& trace = traces[id.job];
    trace.last_run = std::max(trace.last_run, id.run);
  }
  for (const RunId id : living_runs(host, places))
    if (const auto plan = read_plan(places.run(id))) traces[id.job].places = places_of(*plan, gpus);
  return traces;
}

BirthReport birth_of(const RunPlan& plan, const std::vector<Gpu>& gpus) {
  BirthReport birth;
  birth.name = fmt::format("{}{}.{}", kStray, plan.job, plan.run);
  birth.owner = {plan.user, plan.uid, plan.gid, Role::user};
  birth.spec.name = plan.name;
  birth.spec.command = plan.command;
  birth.spec.directory = plan.directory;
  birth.spec.per_worker = plan.per_worker;
  birth.spec.grace = plan.stop.grace;
  birth.spec.signal = {plan.stop.signal, plan.stop.leader_only, {}};
  birth.places = places_of(plan, gpus);
  return birth;
}

std::optional<RunId> stray_run(const std::string& name) {
  if (!name.starts_with(kStray)) return {};
  return parse_run(std::string_view(name).substr(kStray.size()));
}

}  // namespace trainyard
