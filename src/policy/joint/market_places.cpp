#include "policy/joint/market_places.h"

#include <algorithm>
#include <limits>
#include <numeric>

namespace trainyard {
namespace {

/// What a job that runs keeps of its place: of each kind as much as it bought, on the machines
/// where it has most.
Placement kept(const Yard& yard, const Customer& customer) {
  Placement kept;
  for (std::size_t kind = 0; kind < customer.workers.size(); ++kind) {
    Placement here;
    for (const Share& share : yard.placement(customer.job))
      if (index(yard.cluster().machine(share.machine).kind) == kind) here.push_back(share);
    std::ranges::stable_sort(here, std::greater<>{}, &Share::workers);
    here = first_of(here, customer.workers[kind]);
    kept.insert(kept.end(), here.begin(), here.end());
  }
  return kept;
}

/// Of a job that would be spread out: fewer machines, if it is faster there.
void keep_the_fastest(const Yard& yard, JobId id, Vacancies& room, Placement& place) {
  const Job& job = yard.job(id);
  if (yard.speed() == nullptr || place.size() < 2 || workers(place) <= job.min_workers) return;
  Placement shares = place;
  std::ranges::stable_sort(shares, std::greater<>{}, &Share::workers);
  Placement best = place, some;
  double least = std::numeric_limits<double>::infinity();
  for (const Share& share : shares) {
    some.push_back(share);
    if (workers(some) < job.min_workers) continue;
    const double takes = yard.speed()->rate(job, some).time_per_work();
    if (takes > least) continue;
    least = takes;
    best = some;
  }
  if (best.size() == place.size()) return;
  room.give_back(id, place);
  room.take(id, best);
  place = std::move(best);
}

/// Adds as many workers as its least wants still, on whatever kinds suit it.
void add_least(const Yard& yard, JobId job, Placement& found, Vacancies& room) {
  for (std::uint16_t k = 0; k < yard.cluster().kinds.size(); ++k) {
    const std::int32_t missing = yard.job(job).min_workers - workers(found);
    if (missing > 0 && yard.shape(job).suits(KindId{k}))
      room.add_close(job, KindId{k}, missing, found);
  }
}

/// Adds to that the rest of what it bought, as far as there is room for it. The market counts the
/// GPUs of a kind, not the machines that they are spread over: one that mixes kinds and bought too
/// many of one has its least on others. Empty: for less than its least.
Placement place(const Yard& yard, const Customer& customer, Placement found, Vacancies& room) {
  const std::vector<std::int32_t> has = by_kind(yard.cluster(), found);
  for (std::size_t k = 0; k < customer.workers.size(); ++k) {
    const KindId kind{static_cast<std::uint16_t>(k)};
    if (customer.workers[k] > has[k])
      room.add_close(customer.job, kind, customer.workers[k] - has[k], found);
  }
  const bool bought = std::ranges::max(customer.workers) > 0;
  if (bought && customer.mixes_kinds) add_least(yard, customer.job, found, room);
  keep_the_fastest(yard, customer.job, room, found);
  if (workers(found) >= yard.job(customer.job).min_workers) return found;
  room.give_back(customer.job, found);
  return {};
}

/// Not `done`: one that runs found no room, and now `stays`; it has to be tried again.
struct Attempt {
  std::vector<Placement> at;
  bool done = true;
};

Attempt try_places(const Yard& yard, std::span<const Customer> customers,
                   const std::vector<bool>& anew, std::vector<bool>& stays) {
  Vacancies room(yard);
  Attempt found{.at = std::vector<Placement>(customers.size())};
  std::vector<std::size_t> moving;
  for (std::size_t i = 0; i < customers.size(); ++i) {
    const Customer& customer = customers[i];
    if (!customer.runs) {
      if (std::ranges::max(customer.workers) > 0) moving.push_back(i);
      continue;
    }
    const Placement& present = yard.placement(customer.job);
    found.at[i] = present;
    if (stays[i] || (!anew[i] && by_kind(yard.cluster(), present) == customer.workers)) continue;
    moving.push_back(i);
    found.at[i] = anew[i] ? Placement{} : kept(yard, customer);
    room.give_back(customer.job, present);
    room.take(customer.job, found.at[i]);
  }
  // The largest first: they find a place together the hardest.
  const auto size = [&](std::size_t i) {
    return std::accumulate(customers[i].workers.begin(), customers[i].workers.end(), 0) *
           yard.job(customers[i].job).per_worker.gpus;
  };
  std::ranges::stable_sort(moving, std::greater<>{}, size);
  for (const std::size_t i : moving) {
    found.at[i] = place(yard, customers[i], std::move(found.at[i]), room);
    if (!customers[i].runs || !found.at[i].empty() || size(i) == 0) continue;
    stays[i] = true;
    found.done = false;
    return found;
  }
  return found;
}

}  // namespace

std::vector<std::int32_t> by_kind(const Cluster& cluster, const Placement& place) {
  std::vector<std::int32_t> workers(cluster.kinds.size());
  for (const Share& share : place)
    workers[index(cluster.machine(share.machine).kind)] += share.workers;
  return workers;
}

std::vector<Placement> find_places(const Yard& yard, std::span<const Customer> customers,
                                   const std::vector<bool>& anew) {
  std::vector<bool> stays(customers.size());
  Attempt found = try_places(yard, customers, anew, stays);
  while (!found.done) found = try_places(yard, customers, anew, stays);
  return std::move(found.at);
}

}  // namespace trainyard
