#include "policy/forecast.h"

#include <algorithm>
#include <queue>

#include "perf/run_progress.h"

namespace trainyard {
namespace {

class Timetable {
 public:
  Timetable(const Yard& yard, const MostMachines& most_machines)
      : yard_(yard), most_machines_(most_machines), now_(yard.now()) {
    std::vector<JobId> there;
    for (std::uint32_t m = 0; m < yard.cluster().machines.size(); ++m) {
      free_.push_back(yard.free().on(MachineId{m}));
      const std::span<const JobId> jobs = yard.jobs_on(MachineId{m});
      there.insert(there.end(), jobs.begin(), jobs.end());
    }
    std::sort(there.begin(), there.end());
    there.erase(std::unique(there.begin(), there.end()), there.end());
    for (const JobId job : there) {
      if (yard.state(job).phase == Phase::reserved) {
        take_apart(job);
      } else {
        std::vector<Resources> frees;
        for (std::size_t i = 0; i < yard.placement(job).size(); ++i)
          frees.push_back(yard.held(job, i));
        ends_.push({yard.expected_end(job), job, yard.placement(job), std::move(frees)});
      }
    }
  }

  /// Those whose room is being made; they go before all that wait.
  [[nodiscard]] const std::vector<JobId>& reserved() const { return reserved_; }

  bool start(JobId job) {
    Placement room;
    if (!fits(job, room)) return false;
    std::vector<Resources> frees;
    for (const Share& share : room) {
      frees.push_back(yard_.shape(job).demand(share.machine) * share.workers);
      free_[index(share.machine)] -= frees.back();
    }
    const Duration left = yard_.expected_remaining(job);
    ends_.push({now_ + yard_.reload_time(job) + run_time(yard_.job(job), left), job,
                std::move(room), std::move(frees)});
    return true;
  }

  /// To when the next leaves; false if nobody does, or nobody knows when.
  bool advance() {
    if (ends_.empty() || ends_.top().at <= yard_.now()) return false;
    const End next = ends_.top();
    ends_.pop();
    now_ = next.at;
    relies_on_.push_back(next.job);
    for (std::size_t i = 0; i < next.where.size(); ++i)
      free_[index(next.where[i].machine)] += next.frees[i];
    return true;
  }

  [[nodiscard]] Forecast result() const { return {now_, relies_on_}; }

 private:
  struct End {
    Time at;
    JobId job = kNoJob;
    Placement where;
    std::vector<Resources> frees;  // of each share

    /// The earliest on top.
    friend bool operator<(const End& a, const End& b) {
      return a.at != b.at ? a.at > b.at : a.job > b.job;
    }
  };

  /// What the job holds of its room counts as free; it is the first to take it.
  void take_apart(JobId job) {
    const SavedJob saved = yard_.save(job);
    for (std::size_t i = 0; i < saved.room.placement.size(); ++i)
      free_[index(saved.room.placement[i].machine)] += yard_.held(job, i) - saved.room.missing[i];
    reserved_.push_back(job);
  }

  /// On machines with room for the most workers first.
  bool fits(JobId job, Placement& room) const {
    const Shape& shape = yard_.shape(job);
    for (std::uint32_t m = 0; m < free_.size(); ++m) {
      const MachineId machine{m};
      const bool suits =
          shape.kind == kAnyKind || yard_.cluster().machine(machine).kind == shape.kind;
      if (!suits || !yard_.free().is_up(machine)) continue;
      const std::int32_t slots = shape.fitting(machine, free_[m], shape.workers);
      if (slots > 0) room.push_back({machine, slots});
    }
    std::stable_sort(room.begin(), room.end(),
                     [](const Share& a, const Share& b) { return a.workers > b.workers; });
    std::int32_t left = shape.workers;
    for (std::size_t i = 0; i < room.size(); ++i) {
      room[i].workers = std::min(room[i].workers, left);
      left -= room[i].workers;
      if (left == 0) room.resize(i + 1);
    }
    return left == 0 && room.size() <= static_cast<std::size_t>(most_machines_(job));
  }

  const Yard& yard_;
  const MostMachines& most_machines_;
  Time now_;
  std::vector<Resources> free_;
  std::priority_queue<End> ends_;
  std::vector<JobId> reserved_, relies_on_;
};

}  // namespace

std::optional<Forecast> forecast(const Yard& yard, std::span<const JobId> queue,
                                 const MostMachines& most_machines, bool may_pass) {
  Timetable table(yard, most_machines);
  std::vector<JobId> waiting = table.reserved();
  waiting.insert(waiting.end(), queue.begin(), queue.end());
  const JobId asked = queue.back();
  do {
    for (std::size_t i = 0; i < waiting.size();) {
      if (table.start(waiting[i])) {
        if (waiting[i] == asked) return table.result();
        waiting.erase(waiting.begin() + static_cast<std::ptrdiff_t>(i));
      } else if (may_pass) {
        ++i;
      } else {
        break;
      }
    }
  } while (table.advance());
  return {};
}

}  // namespace trainyard
