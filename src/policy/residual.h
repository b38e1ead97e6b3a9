// queue.estimates=residual: how long a job takes is learnt from the jobs that finished, and what it
// has left is told by those among them that ran at least as long. The arithmetic is in
// length_table.h; the classes of jobs are, from the narrowest on: those of the same user that
// declared about as much (the same octave of seconds), everybody's that did, and all.
//
// What is believed of a job's whole length is fixed when it comes to the queue. It changes while
// the job waits, when one of its classes has learnt from half as many jobs again as it goes by:
// until then the class tells all jobs the same, so that of two alike the one that came first is
// first. It changes while the job runs, at the first full minute at which it has outlived what was
// to be expected next: so its time left falls with the clock in between, running jobs can be sorted
// by their expected end, and a policy is woken once a minute at most, however many run. A job that
// tells how far it is (the yard's estimate is then another than what was declared) is believed.
//
// Lengths are learnt when time goes on or the policy decides, in the order of the jobs' numbers, so
// that the order of what happens at one instant does not matter. Jobs that failed or were cancelled
// tell nothing.
#pragma once

#include <array>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/sorted_list.h"
#include "policy/declarations.h"
#include "policy/estimator.h"
#include "policy/job_at.h"
#include "policy/length_table.h"

namespace trainyard {

class Residual final : public Estimator {
 public:
  Residual(const Yard& yard, double error, std::uint64_t seed)
      : Estimator(yard), declarations_(yard, error, seed) {}

  [[nodiscard]] Duration remaining(JobId job) const override {
    return yard_.expected_remaining(job, beliefs_[index(job)].length);
  }
  [[nodiscard]] Duration declared_remaining(JobId job) const override;
  [[nodiscard]] Time rank(JobId job) const override {
    return yard_.expected_end(job, beliefs_[index(job)].length);
  }
  [[nodiscard]] bool is_declared() const override { return true; }

  void on_phase(JobId job, Phase from, Phase to) override;
  void on_rate(JobId job) override;
  void on_estimate(JobId job) override;
  void refresh(std::vector<JobId>& changed) override;
  [[nodiscard]] Time next_change() const override {
    return due_.empty() ? Time::never() : due_.front().at;
  }
  [[nodiscard]] std::string grounds(JobId job) const override;
  /// By the names of users: their numbers are another yard's others.
  void save_learnt(Learnt& learnt) const override;
  void recall(const Learnt& learnt) override;
  void recall_jobs(const Learnt& learnt) override;

 private:
  /// What a class has learnt, and what of it jobs are told.
  struct Lengths {
    LengthTable learnt, told;
    double since = 0;  // jobs

    /// True: jobs are told something else from now on.
    bool add(double part);
  };
  struct Belief {
    std::uint32_t group = 0;
    Duration declared;
    Duration outlived = {};    // the most work that it was seen to have done
    Duration length = {};      // all its work
    Duration until = {};       // with more work done it has outlived what came next
    Time due = Time::never();  // when it runs: the minute at which it will have
  };
  using Class = std::pair<std::string, int>;  // a user, and the octave of what is declared

  /// Jobs of one narrowest class. Thousands of them ask for the mixture before it changes.
  struct Group {
    std::array<Lengths*, 3> tables{};        // of its class and of the wider ones, in tables_
    std::optional<LengthMixture> told = {};  // none: to be mixed anew
    SortedList<JobId> waiting = {};
  };

  [[nodiscard]] std::uint32_t group_of(JobId job);
  [[nodiscard]] const LengthMixture& told_of(Group& group) const;
  [[nodiscard]] Belief believed(JobId job);
  void forget_told();
  void set_due(JobId job);
  void clear_due(JobId job);
  void learn_all();
  void renew_waiting(std::vector<JobId>& changed);

  Declarations declarations_;
  std::vector<Belief> beliefs_;  // by job
  SortedList<JobAt> due_;        // of jobs that run
  std::map<Class, Lengths> tables_;
  std::map<std::pair<UserId, int>, std::uint32_t> numbers_;  // of groups, by their narrowest class
  std::vector<Group> groups_;
  std::vector<const Lengths*> news_;  // tables that tell something else
  std::vector<JobId> finished_;       // at finished_at_, and not learnt from yet
  Time finished_at_;
};

}  // namespace trainyard
