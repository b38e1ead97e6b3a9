#include "policy/joint/vacancies.h"

#include <algorithm>
#include <map>

namespace trainyard {

Vacancies::Vacancies(const Yard& yard) : yard_(yard) {
  free_.reserve(yard.cluster().machines.size());
  for (std::uint32_t m = 0; m < yard.cluster().machines.size(); ++m) {
    free_.push_back(yard.free().on(MachineId{m}));
    if (free_.back().gpus > 0) with_gpus_.push_back(MachineId{m});
  }
}

/// What a worker of the job has there, or would have.
const Resources& Vacancies::each(JobId job, MachineId machine) const {
  const Shape& shape = yard_.shape(job);
  if (shape.fit == nullptr) return shape.per_worker;
  if (holds_gpus(yard_.state(job).phase)) {
    const Placement& shares = yard_.placement(job);
    const auto share = std::ranges::find(shares, machine, &Share::machine);
    if (share != shares.end())
      return yard_.each(job, static_cast<std::size_t>(share - shares.begin()));
  }
  return shape.demand(machine);
}

void Vacancies::give_back(JobId job, const Placement& place) {
  for (const Share& share : place) {
    free_[index(share.machine)] += each(job, share.machine) * share.workers;
    const auto at = std::ranges::lower_bound(with_gpus_, share.machine);
    if (at == with_gpus_.end() || *at != share.machine) with_gpus_.insert(at, share.machine);
  }
}

void Vacancies::take(JobId job, const Placement& place) {
  for (const Share& share : place)
    free_[index(share.machine)] -= each(job, share.machine) * share.workers;
}

bool Vacancies::has_room(JobId job, const Placement& place) const {
  return std::ranges::all_of(place, [&](const Share& share) {
    return fitting(job, share.machine, share.workers) == share.workers;
  });
}

std::int32_t Vacancies::fitting(JobId job, MachineId machine, std::int32_t most) const {
  const Shape& shape = yard_.shape(job);
  if (!yard_.free().is_up(machine)) return 0;
  if (shape.kind != kAnyKind && yard_.cluster().machine(machine).kind != shape.kind) return 0;
  return workers_that_fit(each(job, machine), free_[index(machine)], most);
}

void Vacancies::put(JobId job, MachineId machine, std::int32_t workers, Placement& place) {
  if (workers == 0) return;
  free_[index(machine)] -= each(job, machine) * workers;
  const auto share = std::ranges::find(place, machine, &Share::machine);
  if (share == place.end()) {
    place.push_back({machine, workers});
  } else {
    share->workers += workers;
  }
}

std::int32_t Vacancies::add(JobId job, std::int32_t workers, Placement& place) {
  std::int32_t left = workers;
  for (std::uint32_t m = 0; m < free_.size() && left > 0; ++m) {
    const std::int32_t here = fitting(job, MachineId{m}, left);
    put(job, MachineId{m}, here, place);
    left -= here;
  }
  return workers - left;
}

std::int32_t Vacancies::add_at_least(JobId job, std::int32_t least, std::int32_t most,
                                     Placement& place) {
  const std::int32_t added = add(job, most, place);
  if (added >= least) return added;
  give_back(job, place);
  place.clear();
  return 0;
}

/// Those that hold all that is left, and of them the one that is filled best; else the emptiest.
void Vacancies::add_in(JobId job, const std::vector<MachineId>& machines, std::int32_t& left,
                       Placement& place) {
  while (left > 0) {
    MachineId best = kNoMachine;
    std::int32_t best_room = 0;
    for (const MachineId machine : machines) {
      // One more than needed is as good as any: what counts then is how many GPUs stay free.
      const std::int32_t room = fitting(job, machine, yard_.cluster().largest_machine_gpus);
      if (room == 0) continue;
      const bool is_better =
          best == kNoMachine || (room >= left ? best_room < left || room < best_room
                                              : best_room < left && room > best_room);
      if (!is_better) continue;
      best = machine;
      best_room = room;
    }
    if (best == kNoMachine) return;
    const std::int32_t here = std::min(best_room, left);
    put(job, best, here, place);
    left -= here;
  }
}

std::int32_t Vacancies::add_close(JobId job, KindId kind, std::int32_t workers, Placement& place) {
  std::int32_t left = workers;
  const Cluster& cluster = yard_.cluster();
  for (std::size_t s = 0; s < place.size() && left > 0; ++s) {
    if (cluster.machine(place[s].machine).kind != kind) continue;
    const std::int32_t here = fitting(job, place[s].machine, left);
    put(job, place[s].machine, here, place);
    left -= here;
  }
  // The rack with the least room that is enough, or with the most.
  std::map<RackId, std::pair<std::int32_t, std::vector<MachineId>>> racks;
  for (const MachineId machine : with_gpus_) {
    if (left == 0) break;
    if (cluster.machine(machine).kind != kind) continue;
    const std::int32_t room = fitting(job, machine, left);
    if (room == 0) continue;
    auto& [rooms, machines] = racks[cluster.machine(machine).rack];
    rooms += room;
    machines.push_back(machine);
  }
  while (left > 0 && !racks.empty()) {
    const auto best = std::ranges::min_element(racks, {}, [&](const auto& rack) {
      const std::int32_t rooms = rack.second.first;
      const bool is_enough = rooms >= left;
      return std::pair{!is_enough, is_enough ? rooms : -rooms};
    });
    add_in(job, best->second.second, left, place);
    racks.erase(best);
  }
  return workers - left;
}

void start_without_gpus(const Yard& yard, const SortedList<JobId>& waiting, Plan& plan) {
  std::vector<JobId> jobs;
  waiting.each([&](JobId job) {
    if (yard.job(job).per_worker.gpus == 0) jobs.push_back(job);
    return true;
  });
  for (const JobId job : jobs) {
    Vacancies room(yard);
    Placement place;
    const std::int32_t least = yard.job(job).min_workers;
    if (room.add_at_least(job, least, least, place) == 0) return;
    if (plan.start(job, place) != Verdict::ok) return;
  }
}

Placement first_of(const Placement& place, std::int32_t workers) {
  Placement first;
  for (const Share& share : place) {
    if (workers == 0) break;
    first.push_back({share.machine, std::min(share.workers, workers)});
    workers -= first.back().workers;
  }
  return first;
}

}  // namespace trainyard
