// What pauses of generated jobs cost: the keys `pause` and `pause_scale`.
#include <cmath>

#include "workload/generate/parts.h"
#include "workload/pauses.h"

namespace trainyard {
namespace {

constexpr std::size_t kGiven = 0, kFree = 1, kByModel = 2, kByGpu = 3, kTables = 4;

std::vector<std::string_view> pause_choices() {
  std::vector<std::string_view> names{"given", "free", "model", "gpu"};
  for (const RestartTable& table : restart_tables()) names.push_back(table.name);
  return names;
}

PauseCost cost_of(std::size_t choice, const Workload& workload, const Job& job) {
  if (choice == kFree) return {};
  if (choice == kByModel) return cost_of_model(Catalogue::builtin(), workload, job);
  if (choice == kByGpu) return {.save = seconds(job.gpus()), .load = {}};
  return split_restart(restart_tables()[choice - kTables].seconds(job.gpus()));
}

Duration scaled(Duration time, double scale) {
  const double us = static_cast<double>(time.us) * scale;
  return Duration{std::llround(std::min(us, static_cast<double>(kLongestDuration.us)))};
}

}  // namespace

std::vector<Parameter> pause_parameters() {
  return {
      {"pause", "given",
       "what a pause costs: as given, nothing, by the job's model, 1 s for each of its GPUs to "
       "leave, or a published table by its GPUs "
       "(given, free, model, gpu; helios, tiresias, lucid, titan, elasticflow)"},
      {"pause_scale", "1", "times that"},
  };
}

Pauses read_pauses(Settings& settings) {
  return {settings.choice("pause", pause_choices()), settings.real("pause_scale", 0, 1e6)};
}

std::vector<Parameter> with_pause_parameters(std::vector<Parameter> all) {
  for (const Parameter& parameter : pause_parameters()) all.push_back(parameter);
  return all;
}

Expected<void> check_pause_scale(const Pauses& pauses, std::string_view source,
                                 const Workload& workload) {
  if (pauses.choice != kGiven || pauses.scale == 1 || workload.pause_costs != PauseCosts::unsaid)
    return {};
  return fail(
      "pause_scale={} scales nothing: {} does not say what a pause costs; choose pause=model, or a "
      "table",
      pauses.scale, source);
}

void set_pauses(const Pauses& pauses, Workload& workload) {
  if (pauses.choice != kGiven) workload.pause_costs = PauseCosts::given;
  for (Job& job : workload.jobs) {
    if (pauses.choice != kGiven) {
      const PauseCost cost = cost_of(pauses.choice, workload, job);
      job.grace = {};
      job.save = cost.save;
      job.load = cost.load;
      job.declared_pause = Duration{-1};
    }
    if (pauses.scale == 1) continue;
    job.grace = scaled(job.grace, pauses.scale);
    job.save = scaled(job.save, pauses.scale);
    job.load = scaled(job.load, pauses.scale);
    if (job.declared_pause.us > 0) job.declared_pause = scaled(job.declared_pause, pauses.scale);
  }
}

}  // namespace trainyard
