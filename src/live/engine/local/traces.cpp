#include "live/engine/local/traces.h"

#include <algorithm>
#include <charconv>
#include <filesystem>

#include "live/engine/local/supervisor_link.h"

namespace trainyard {
namespace {

constexpr std::string_view kStray = "run ";

/// "17.2", or "17" alone: run 0.
std::optional<RunId> parse_run(std::string_view text) {
  RunId id;
  const char* end = text.data() + text.size();
  auto [at, wrong] = std::from_chars(text.data(), end, id.job);
  if (wrong != std::errc() || id.job <= 0) return {};
  if (at == end) return id;
  if (*at != '.') return {};
  const auto run = std::from_chars(at + 1, end, id.run);
  if (run.ec != std::errc() || run.ptr != end) return {};
  return id;
}

template <class Visit>
void each_entry(const std::string& folder, Visit visit) {
  std::error_code none;
  for (const auto& entry : std::filesystem::directory_iterator(folder, none))
    if (const auto id = parse_run(entry.path().filename().string())) visit(*id);
}

}  // namespace

std::vector<RunId> living_runs(RunHost& host, const std::string& state) {
  std::vector<RunId> found;
  each_entry(state + "/runs", [&](RunId id) {
    if (id.run > 0 && host.lives(run_directory(state, id.job, id.run)).value_or(false))
      found.push_back(id);
  });
  std::ranges::sort(found);
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

std::map<JobNumber, Engine::Trace> find_traces(RunHost& host, const std::string& state,
                                               const std::vector<Gpu>& gpus) {
  std::map<JobNumber, Engine::Trace> traces;
  each_entry(state + "/checkpoints", [&](RunId id) { traces.try_emplace(id.job); });
  each_entry(state + "/runs", [&](RunId id) {
    Engine::Trace& trace = traces[id.job];
    trace.last_run = std::max(trace.last_run, id.run);
  });
  for (const RunId id : living_runs(host, state))
    if (const auto plan = read_plan(run_directory(state, id.job, id.run)))
      traces[id.job].places = places_of(*plan, gpus);
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
