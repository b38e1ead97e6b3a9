#include "policy/joint/crowding.h"

namespace trainyard {

std::vector<double> Crowding::slowed(std::span<const Running> all) const {
  std::vector<double> slowed(all.size(), 1), alone_s(all.size());
  if (yard_.speed() == nullptr) return slowed;
  const auto network =
      make_fluid_network(links_, {.model = NetworkOptions::Model::fluid}, FlowRules{});
  for (std::uint32_t i = 0; i < all.size(); ++i) {
    const Placement& at = *all[i].at;
    if (at.size() < 2) continue;
    const Job& job = yard_.job(all[i].job);
    const Iteration iteration = yard_.speed()->on_shared_links(job, at);
    if (iteration.model == nullptr) continue;
    SharedNetwork::Arrival arrival;
    arrival.job = JobId{i};  // its place among these
    arrival.work = work_of(links_, yard_.cluster(), at, job.per_worker.gpus, iteration);
    if (arrival.work.flow.links.empty() || arrival.work.flow.bytes <= 0) continue;
    alone_s[i] = arrival.work.alone_s();
    network->join(Time{}, std::move(arrival));
  }
  std::vector<SharedNetwork::Pace> paces;
  network->take(paces);
  for (const SharedNetwork::Pace& pace : paces)
    slowed[index(pace.job)] = pace.iteration_s / alone_s[index(pace.job)];
  return slowed;
}

}  // namespace trainyard
