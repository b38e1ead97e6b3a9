// Holds a yard to its promises (yard/yard.h), from outside: listens to every change and keeps its
// own books, and inspects everything that can be seen when asked. Each thing that is wrong is an
// entry in problems(), in words.
#pragma once

#include <map>
#include <set>
#include <string>
#include <vector>

#include "yard/yard.h"

namespace trainyard {

class YardAudit : public YardListener {
 public:
  /// Sees nothing until it is registered with the yard.
  explicit YardAudit(const Yard& yard) : yard_(yard), books_(yard.workload().jobs.size()) {}

  void on_phase(JobId job, Phase from, Phase to) override;

  /// Of machines that fail at the present instant: they may void a reservation.
  void expect_failure(Time at, MachineId machine) { failures_.insert({at.us, machine}); }
  /// Of a machine that takes no more jobs: those on it may stay.
  void expect_closed(MachineId machine, bool closed) {
    closed ? void(closed_.insert(machine)) : void(closed_.erase(machine));
  }
  /// Cancelled jobs void their reservation too.
  void expect_cancellation(JobId job) { cancelled_.insert(job); }

  /// A policy that changes jobs in groups may pause them for more than one, or for none.
  void expect_groups() { in_groups_ = true; }

  /// Compares all that the yard shows with all that must hold.
  void inspect();

  [[nodiscard]] const std::vector<std::string>& problems() const { return problems_; }

 private:
  struct Book {
    Time since;
    Duration held, waited;
    bool ended_early = false;  // it was told to leave, and was done with what it had
    std::int64_t pauses = 0;
    std::multiset<JobId> gave_way_to;  // once for each pause
    Placement promised;                // while its room is being made
  };

  template <class... Args>
  void complain(fmt::format_string<Args...> format, Args&&... args) {
    problems_.push_back(fmt::format("at {} s: ", yard_.now().seconds()) +
                        fmt::format(format, std::forward<Args>(args)...));
  }

  void check_pause(JobId job, Duration ran);
  void check_turn(JobId job, JobId waiter, Duration ran);
  void check_end_of_reservation(JobId job, Phase to);
  void inspect_machine(MachineId machine);
  void inspect_terms(JobId id, std::size_t share);
  void inspect_job(JobId job);

  const Yard& yard_;
  std::vector<Book> books_;  // by job
  std::set<std::pair<std::int64_t, MachineId>> failures_;
  std::set<JobId> cancelled_;
  std::set<MachineId> closed_;
  bool in_groups_ = false;
  std::vector<std::string> problems_;
};

/// Everything that the yard shows, as text: equal before and after what it refuses.
std::string snapshot(const Yard& yard);

}  // namespace trainyard
