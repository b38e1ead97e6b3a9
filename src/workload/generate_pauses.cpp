// What pauses of generated jobs cost: the keys `pause` and `pause_scale`.
#include <cmath>

#include "perf/catalogue.h"
#include "perf/pause_cost.h"
#include "workload/generate_parts.h"

namespace trainyard {
namespace {

/// "given", "model", then the tables.
std::vector<std::string_view> pause_choices() {
  std::vector<std::string_view> names{"given", "model"};
  for (const RestartTable& table : restart_tables()) names.push_back(table.name);
  return names;
}

PauseCost cost_of_model(const Workload& workload, const Job& job) {
  const ModelProfile* model = job.model == kNoModel
                                  ? nullptr
                                  : Catalogue::builtin().find(workload.models[index(job.model)]);
  if (model == nullptr) return split_restart(restart_tables().front().seconds(job.gpus()));
  return pause_cost(model->checkpoint_bytes(), job.gpus(), model->start_up_s.value);
}

Duration scaled(Duration time, double scale) {
  const double us = static_cast<double>(time.us) * scale;
  return Duration{std::llround(std::min(us, static_cast<double>(kLongestDuration.us)))};
}

}  // namespace

std::vector<Parameter> pause_parameters() {
  return {
      {"pause", "given",
       "what a pause costs: as given, by the job's model, or a published table by its GPUs "
       "(helios, tiresias, lucid, titan, elasticflow)"},
      {"pause_scale", "1", "times that"},
  };
}

Pauses read_pauses(Settings& settings) {
  return {settings.choice("pause", pause_choices()), settings.real("pause_scale", 0, 1e6)};
}

void set_pauses(const Pauses& pauses, Workload& workload) {
  for (Job& job : workload.jobs) {
    if (pauses.choice > 0) {
      const PauseCost cost =
          pauses.choice == 1
              ? cost_of_model(workload, job)
              : split_restart(restart_tables()[pauses.choice - 2].seconds(job.gpus()));
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
