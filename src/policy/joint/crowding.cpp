#include "policy/joint/crowding.h"

#include <algorithm>

namespace trainyard {

IterationWork Crowding::work(const Running& running) const {
  if (yard_.speed() == nullptr || running.at->size() < 2) return {};
  const Job& job = yard_.job(running.job);
  const Iteration iteration = yard_.speed()->on_shared_links(job, *running.at);
  if (iteration.model == nullptr) return {};
  return work_of(links_, yard_.cluster(), *running.at, job.per_worker.gpus, iteration);
}

std::vector<double> Crowding::slowed(std::span<const Running> these,
                                     std::span<const Running> others) const {
  std::vector<double> slowed(these.size(), 1), alone_s(these.size());
  std::unique_ptr<SharedNetwork> network;
  std::uint32_t number = 0;  // they are known by their places in both lists
  const auto join = [&](const Running& running) {
    SharedNetwork::Arrival arrival;
    arrival.job = JobId{number++};
    arrival.work = work(running);
    if (arrival.work.flow.links.empty() || arrival.work.flow.bytes <= 0) return;
    if (network == nullptr)
      network = make_fluid_network(links_, {.model = NetworkOptions::Model::fluid}, FlowRules{});
    if (index(arrival.job) < alone_s.size()) alone_s[index(arrival.job)] = arrival.work.alone_s();
    network->join(Time{}, std::move(arrival));
  };
  std::ranges::for_each(these, join);
  if (network == nullptr) return slowed;
  std::ranges::for_each(others, join);
  std::vector<SharedNetwork::Pace> paces;
  network->take(paces);
  for (const SharedNetwork::Pace& pace : paces)
    if (index(pace.job) < slowed.size())
      slowed[index(pace.job)] = pace.iteration_s / alone_s[index(pace.job)];
  return slowed;
}

}  // namespace trainyard
