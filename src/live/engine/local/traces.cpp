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

bool lives(const std::string& state, RunId id) {
  const auto process = supervisor_of(run_directory(state, id.job, id.run));
  return process && *process;
}

}  // namespace

std::vector<RunId> living_runs(const std::string& state) {
  std::vector<RunId> found;
  each_entry(state + "/runs", [&](RunId id) {
    if (id.run > 0 && lives(state, id)) found.push_back(id);
  });
  return found;
}

std::vector<WorkerPlace> places_of(const RunPlan& plan,
                                   const std::vector<std::int32_t>& gpu_numbers) {
  std::vector<WorkerPlace> places;
  for (const std::vector<std::int32_t>& gpus : plan.gpus) {
    WorkerPlace& worker = places.emplace_back();
    for (const std::int32_t gpu : gpus) {
      const auto found = std::ranges::find(gpu_numbers, gpu);
      if (gpu_numbers.empty())
        worker.gpus.push_back(gpu);
      else if (found != gpu_numbers.end())
        worker.gpus.push_back(static_cast<std::int32_t>(found - gpu_numbers.begin()));
    }
  }
  return places;
}

std::map<JobNumber, Engine::Trace> find_traces(const std::string& state,
                                               const std::vector<std::int32_t>& gpu_numbers) {
  std::map<JobNumber, Engine::Trace> traces;
  each_entry(state + "/checkpoints", [&](RunId id) { traces.try_emplace(id.job); });
  each_entry(state + "/runs", [&](RunId id) {
    Engine::Trace& trace = traces[id.job];
    trace.last_run = std::max(trace.last_run, id.run);
  });
  for (const RunId id : living_runs(state))
    if (const auto plan = read_plan(run_directory(state, id.job, id.run)))
      traces[id.job].places = places_of(*plan, gpu_numbers);
  return traces;
}

BirthReport birth_of(const RunPlan& plan, const std::vector<std::int32_t>& gpu_numbers) {
  BirthReport birth;
  birth.name = fmt::format("{}{}.{}", kStray, plan.job, plan.run);
  birth.owner = {plan.user, plan.uid, plan.gid, Role::user};
  birth.spec.name = plan.name;
  birth.spec.command = plan.command;
  birth.spec.directory = plan.directory;
  birth.spec.per_worker = plan.per_worker;
  birth.spec.grace = plan.stop.grace;
  birth.spec.signal = {plan.stop.signal, plan.stop.leader_only, {}};
  birth.places = places_of(plan, gpu_numbers);
  return birth;
}

std::optional<RunId> stray_run(const std::string& name) {
  if (!name.starts_with(kStray)) return {};
  return parse_run(std::string_view(name).substr(kStray.size()));
}

}  // namespace trainyard
