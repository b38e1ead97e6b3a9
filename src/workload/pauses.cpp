#include "workload/pauses.h"

#include <algorithm>
#include <cmath>

namespace trainyard {

PauseCost cost_of_model(const Catalogue& models, const Workload& workload, const Job& job) {
  const ModelProfile* model =
      job.model == kNoModel ? nullptr : models.find(workload.models[index(job.model)]);
  if (model == nullptr) return split_restart(restart_tables().front().seconds(job.gpus()));
  return pause_cost(model->checkpoint_bytes(), job.gpus(), model->start_up_s.value);
}

void model_pauses(const Catalogue& models, Workload& workload) {
  if (workload.pause_costs != PauseCosts::unsaid) return;
  for (Job& job : workload.jobs) {
    const PauseCost cost = cost_of_model(models, workload, job);
    job.save = cost.save;
    job.load = cost.load;
    job.first_start_loads = false;
  }
  workload.pause_costs = PauseCosts::modelled;
}

Duration mean_pause(const Workload& workload) {
  double sum_s = 0;
  for (const Job& job : workload.jobs) sum_s += (job.grace + job.save + job.load).seconds();
  const auto jobs = static_cast<double>(std::max<std::size_t>(workload.jobs.size(), 1));
  return Duration{std::llround(sum_s / jobs * 1e6)};
}

void make_pauses_free(Workload& workload) {
  for (Job& job : workload.jobs) {
    job.grace = job.save = job.load = {};
    job.declared_pause = Duration{-1};
  }
  workload.pause_costs = PauseCosts::given;
}

}  // namespace trainyard
