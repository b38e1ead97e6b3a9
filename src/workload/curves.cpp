#include "workload/curves.h"

namespace trainyard {

void give_curves(const Catalogue& models, Workload& workload) {
  std::vector<LearningCurve> of_model;
  bool any = false;
  for (const std::string& name : workload.models) {
    const ModelProfile* model = models.find(name);
    const bool is_known = model != nullptr && model->curve;
    of_model.push_back(is_known ? model->curve->learning_curve() : LearningCurve{});
    any = any || is_known;
  }
  if (!any) return;
  workload.curves.resize(workload.jobs.size());
  for (std::size_t j = 0; j < workload.jobs.size(); ++j) {
    const ModelId model = workload.jobs[j].model;
    if (model != kNoModel && !workload.curves[j].is_known())
      workload.curves[j] = of_model[index(model)];
  }
}

}  // namespace trainyard
