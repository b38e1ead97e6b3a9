// Leases (Dally): a job holds its GPUs for a lease at least. When a lease is over it competes
// again, with its sensitivity to the network as it is then; if a more sensitive job wants the GPUs
// it gives them up, least sensitive first. Otherwise it goes on, and competes until the next lease
// is over with that same sensitivity.
//
// Ours: it leaves when it is told to, not at the end of an iteration (iterations are short against
// leases), and victims are chosen by the loop that all preemptions share.
#include "base/sorted_list.h"
#include "policy/members.h"
#include "policy/preempt/offers.h"
#include "policy/sensitivity.h"

namespace trainyard {
namespace {

class Lease final : public PreemptStage {
 public:
  Lease(const Params& params, PolicyContext& context)
      : PreemptStage(params, context),
        lease_(std::max(params.duration("lease"), microseconds(1))),
        depth_(params.whole("depth")) {}

  bool make_room(JobId waiter, Reach reach, RoomFinder& finder, Time& retry) override {
    end_leases();
    Offers offers(yard_, waiter, reach, finder, retry);
    const std::int64_t own = sensitivity_.of(yard_, waiter);
    std::int64_t left = depth_ + 4 * yard_.job(waiter).gpus();
    competing_.each_reverse([&](const Entry& entry) {
      return entry.rank > own && left-- > 0 && !offers.make(entry.job);
    });
    return offers.accepted();
  }

  [[nodiscard]] std::int64_t claim(JobId waiter) const override {
    return sensitivity_.of(yard_, waiter);
  }
  [[nodiscard]] bool could_free(std::int64_t claim, std::int64_t gpus) override {
    if (lease_ < yard_.rules().min_run) return true;  // some that compete are protected
    end_leases();
    competing_.each_reverse([&](const Entry& entry) {
      if (entry.rank <= claim) return false;
      gpus -= entry.gpus;
      return gpus > 0;
    });
    return gpus <= 0;
  }
  [[nodiscard]] std::uint64_t state() override {
    if (lease_ < yard_.rules().min_run) return 0;
    end_leases();
    return changes_;
  }
  void find_retry(JobId /*waiter*/, std::int64_t /*claim*/, Time& retry) override {
    if (!leases_.empty()) retry = std::min(retry, leases_.front().at);
  }

  void on_phase(JobId job, Phase from, Phase to) override {
    sensitivity_.on_phase(yard_, job, from, to);
    if (lease_ == Duration::max()) return;
    if (from == Phase::running) {
      Known& known = jobs_[index(job)];
      leases_.erase({known.lease_end, job});
      if (known.rank >= 0) competing_.erase({known.rank, job}), ++changes_;
      known.rank = -1;
    }
    if (to == Phase::running) {
      grow_to(jobs_, index(job), yard_.workload().jobs.size());
      begin_lease(job);
    }
  }

 private:
  struct Entry {
    std::int64_t rank = 0;
    JobId job = kNoJob;
    std::int32_t gpus = 0;

    friend bool operator<(const Entry& a, const Entry& b) {
      return a.rank != b.rank ? a.rank < b.rank : a.job < b.job;
    }
  };
  struct LeaseEnd {
    Time at;
    JobId job = kNoJob;

    friend bool operator<(const LeaseEnd& a, const LeaseEnd& b) {
      return a.at != b.at ? a.at < b.at : a.job < b.job;
    }
  };
  struct Known {
    std::int64_t rank = -1;  // among those that compete; < 0: it does not
    Time lease_end;
  };

  void begin_lease(JobId job) {
    Known& known = jobs_[index(job)];
    known.lease_end = yard_.now() + lease_;
    leases_.insert({known.lease_end, job});
  }

  void end_leases() {
    while (!leases_.empty() && leases_.front().at <= yard_.now()) {
      const JobId job = leases_.front().job;
      Known& known = jobs_[index(job)];
      leases_.erase({known.lease_end, job});
      if (const std::int64_t rank = sensitivity_.of(yard_, job); rank != known.rank) {
        if (known.rank >= 0) competing_.erase({known.rank, job});
        known.rank = rank;
        competing_.insert({known.rank, job, yard_.shape(job).gpus()});
        ++changes_;
      }
      begin_lease(job);
    }
  }

  Duration lease_;
  std::int64_t depth_;
  NetworkSensitivity sensitivity_;
  std::vector<Known> jobs_;
  SortedList<Entry> competing_;  // those whose first lease is over, the least sensitive last
  SortedList<LeaseEnd> leases_;  // of all that run, the next to end first
  std::uint64_t changes_ = 1;    // of those that compete
};

}  // namespace

Member<PreemptStage> preempt_lease() {
  return {{"lease",
           "when its lease is over a job gives way to those more sensitive to the network",
           "Dally (Sharma et al.), from its first author's public simulator; details are ours",
           {{"lease",
             ParamType::duration,
             "20m",
             "how long GPUs are held at least",
             {},
             "ours: the length is not published"},
            {"depth",
             ParamType::whole,
             "32",
             "running jobs looked at, least sensitive first, and four more for each GPU wanted",
             {},
             "ours, for speed"}}},
          make_member<PreemptStage, Lease>};
}

}  // namespace trainyard
