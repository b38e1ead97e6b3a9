// Leases (Dally): a job holds its GPUs for a lease. What happens when it is over:
//
//   rebid=always   the job gives its GPUs back and bids again with all that hold none, as if it had
//                  just come to the queue (staged_policy.h): so one that once had to take a bad
//                  placement competes for a better one at every lease. As its author has it the job
//                  leaves first and pays for that even if it wins the same GPUs (pays=always);
//                  ours pays only where it does not stay (pays=moved).
//   rebid=wanted   ours: it competes, with its sensitivity to the network as it is then, but gives
//                  the GPUs up only if a more sensitive job wants them, least sensitive first. It
//                  competes with that same sensitivity until the next lease is over.
//
// Ours in both: a job leaves when it is told to, not at the end of an iteration (iterations are
// short against leases); a lease counts from when the job has loaded.
#include <algorithm>
#include <deque>
#include <utility>

#include "base/sorted_list.h"
#include "policy/job_at.h"
#include "policy/members.h"
#include "policy/preempt/offers.h"
#include "policy/sensitivity.h"

namespace trainyard {
namespace {

/// When the leases of the jobs that run are over. All are of one length, so that they end in the
/// order in which they began; one that was dropped stays in line until it is met.
class Leases {
 public:
  explicit Leases(Duration length) : length_(std::max(length, microseconds(1))) {}

  [[nodiscard]] Duration length() const { return length_; }
  [[nodiscard]] Time next_end() const { return line_.empty() ? Time::never() : line_.front().at; }

  void begin(const Yard& yard, JobId job) {
    if (length_ == Duration::max()) return;
    if (index(job) >= ends_of_.size())
      ends_of_.resize(std::max(yard.workload().jobs.size(), index(job) + 1), Time::never());
    ends_of_[index(job)] = yard.now() + length_;
    line_.push_back({ends_of_[index(job)], job});
  }

  /// Nothing happens where it has none.
  void drop(JobId job) {
    if (index(job) >= ends_of_.size()) return;
    ends_of_[index(job)] = Time::never();
    pass_dropped();
  }

  void save_learnt(Learnt& learnt) const {
    JobNotes notes(learnt, kName, 1);
    for (const JobAt& next : line_)
      if (ends_of_[index(next.job)] == next.at) notes.add(next.job, {number_of(next.at)});
  }
  void recall_jobs(const Yard& yard, const Learnt& learnt) {
    each_note(learnt, kName, 1, yard.jobs(), [&](JobId job, std::span<const double> end) {
      if (index(job) < ends_of_.size() && ends_of_[index(job)] != Time::never())
        ends_of_[index(job)] = time_of(end[0]);
    });
    for (JobAt& next : line_) next.at = ends_of_[index(next.job)];
    std::erase_if(line_, [](const JobAt& next) { return next.at == Time::never(); });
    std::sort(line_.begin(), line_.end());
  }

  /// Calls visit(job) for each whose lease is over by now, by end and number, and begins its next.
  template <class Visit>
  void renew(const Yard& yard, Visit visit) {
    over_.clear();
    for (; next_end() <= yard.now(); pass_dropped()) {
      over_.push_back(line_.front());
      line_.pop_front();
    }
    std::sort(over_.begin(), over_.end());
    JobId last = kNoJob;
    for (const JobAt& next : over_) {
      if (std::exchange(last, next.job) == next.job) continue;  // it left and came back at once
      visit(next.job);
      begin(yard, next.job);
    }
  }

 private:
  static constexpr const char* kName = "leases";

  void pass_dropped() {
    while (!line_.empty() && ends_of_[index(line_.front().job)] != line_.front().at)
      line_.pop_front();
  }

  Duration length_;
  std::deque<JobAt> line_;     // the next first, and it holds
  std::vector<Time> ends_of_;  // by job
  std::vector<JobAt> over_;    // while they are renewed
};

class LeaseThenRebid final : public PreemptStage {
 public:
  LeaseThenRebid(const Params& params, PolicyContext& context)
      : PreemptStage(params, context),
        leases_(std::max(params.duration("lease"), context.yard().rules().min_run)),
        leaves_first_(params.choice("pays") == "always") {}

  /// Nobody is paused before its lease is over.
  bool make_room(JobId /*waiter*/, Reach /*reach*/, RoomFinder& /*finder*/,
                 Time& /*retry*/) override {
    return false;
  }
  [[nodiscard]] std::int64_t claim(JobId /*waiter*/) const override { return kNoClaim; }

  void take_rebids(std::vector<JobId>& jobs) override {
    leases_.renew(yard_, [&](JobId job) { jobs.push_back(job); });
  }
  [[nodiscard]] bool leaves_before_rebid() const override { return leaves_first_; }
  [[nodiscard]] Time next_rebid() const override { return leases_.next_end(); }

  void save_learnt(Learnt& learnt) const override { leases_.save_learnt(learnt); }
  void recall_jobs(const Learnt& learnt) override { leases_.recall_jobs(yard_, learnt); }

  void on_phase(JobId job, Phase from, Phase to) override {
    if (from == Phase::running) leases_.drop(job);
    if (to == Phase::running && yard_.state(job).pauses < yard_.rules().max_pauses)
      leases_.begin(yard_, job);
  }

 private:
  Leases leases_;
  bool leaves_first_;
};

class LeaseUntilWanted final : public PreemptStage {
 public:
  LeaseUntilWanted(const Params& params, PolicyContext& context)
      : PreemptStage(params, context),
        leases_(params.duration("lease")),
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
    if (leases_.length() < yard_.rules().min_run) return true;  // some that compete are protected
    end_leases();
    competing_.each_reverse([&](const Entry& entry) {
      if (entry.rank <= claim) return false;
      gpus -= entry.gpus;
      return gpus > 0;
    });
    return gpus <= 0;
  }
  [[nodiscard]] std::uint64_t state() override {
    if (leases_.length() < yard_.rules().min_run) return 0;
    end_leases();
    return changes_;
  }
  void find_retry(JobId /*waiter*/, std::int64_t /*claim*/, Time& retry) override {
    retry = std::min(retry, leases_.next_end());
  }

  void save_learnt(Learnt& learnt) const override {
    leases_.save_learnt(learnt);
    sensitivity_.save_learnt(yard_, learnt);
    JobNotes notes(learnt, kName, 1);
    competing_.each([&](const Entry& entry) {
      notes.add(entry.job, {static_cast<double>(entry.rank)});
      return true;
    });
  }
  void recall_jobs(const Learnt& learnt) override {
    leases_.recall_jobs(yard_, learnt);
    sensitivity_.recall_jobs(yard_, learnt);
    each_note(learnt, kName, 1, yard_.jobs(), [&](JobId job, std::span<const double> kept) {
      const auto rank = static_cast<std::int64_t>(
          std::min(kept[0], static_cast<double>(NetworkSensitivity::kScale)));
      if (yard_.state(job).phase == Phase::running && rank_of(job) < 0) compete(job, rank);
    });
  }

  void on_phase(JobId job, Phase from, Phase to) override {
    sensitivity_.on_phase(yard_, job, from, to);
    if (from == Phase::running) {
      leases_.drop(job);
      std::int64_t& rank = rank_of(job);
      if (rank >= 0) competing_.erase({rank, job}), ++changes_;
      rank = -1;
    }
    if (to == Phase::running) leases_.begin(yard_, job);
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

  [[nodiscard]] std::int64_t& rank_of(JobId job) {
    if (index(job) >= ranks_.size())
      ranks_.resize(std::max(yard_.workload().jobs.size(), index(job) + std::size_t{1}), -1);
    return ranks_[index(job)];
  }

  void end_leases() {
    leases_.renew(yard_, [&](JobId job) {
      const std::int64_t known = rank_of(job);
      const std::int64_t rank = sensitivity_.of(yard_, job);
      if (rank == known) return;
      if (known >= 0) competing_.erase({known, job});
      compete(job, rank);
    });
  }
  void compete(JobId job, std::int64_t rank) {
    rank_of(job) = rank;
    competing_.insert({rank, job, yard_.shape(job).gpus()});
    ++changes_;
  }

  static constexpr const char* kName = "lease ranks";

  Leases leases_;
  std::int64_t depth_;
  NetworkSensitivity sensitivity_;
  std::vector<std::int64_t> ranks_;  // by job, among those that compete; < 0: it does not
  SortedList<Entry> competing_;      // those whose first lease is over, the least sensitive last
  std::uint64_t changes_ = 1;        // of those that compete
};

std::unique_ptr<PreemptStage> make_lease(const Params& params, PolicyContext& context) {
  if (params.choice("rebid") == "wanted")
    return std::make_unique<LeaseUntilWanted>(params, context);
  return std::make_unique<LeaseThenRebid>(params, context);
}

}  // namespace

Member<PreemptStage> preempt_lease() {
  return {{"lease",
           "when its lease is over a job bids for room again, with all that wait",
           "Dally (Sharma et al.), from its first author's public simulator; details are ours",
           {{"lease",
             ParamType::duration,
             "20m",
             "how long GPUs are held",
             {},
             "ours: the length is not published"},
            {"rebid",
             ParamType::choice,
             "always",
             "whether a job whose lease is over gives its GPUs back whoever waits, or only if a "
             "job wants them that is more sensitive to the network",
             {"always", "wanted"},
             "always is Dally's; wanted is ours"},
            {"pays",
             ParamType::choice,
             "moved",
             "whether a job that wins its own GPUs back goes on as if nothing had been, or leaves "
             "before it bids (rebid=always)",
             {"moved", "always"},
             "always is Dally's; moved is ours"},
            {"depth",
             ParamType::whole,
             "32",
             "running jobs looked at, least sensitive first, and four more for each GPU wanted "
             "(rebid=wanted)",
             {},
             "ours, for speed"}}},
          make_lease};
}

}  // namespace trainyard
