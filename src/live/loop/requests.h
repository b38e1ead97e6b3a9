// What callers ask to be changed: each is checked, written down, and then takes effect.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "live/loop/gate.h"
#include "live/loop/live_state.h"
#include "live/loop/loop.h"
#include "live/loop/machines.h"
#include "live/loop/runs.h"
#include "live/loop/views.h"

namespace trainyard {

class Requests {
 public:
  Requests(LiveState& state, Gate& gate, Runs& runs, Machines& machines, Retention& retention,
           Loop& loop, Views& views)
      : state_(state),
        gate_(gate),
        runs_(runs),
        machines_(machines),
        retention_(retention),
        loop_(loop),
        views_(views) {}

  // As in Service; from any thread.
  Answer<Submitted> submit(const Identity& who, JobSpec spec);
  Answer<void> cancel(const Identity& who, const std::vector<JobNumber>& jobs);
  /// A machine that is closed starts nothing new.
  Answer<void> open_or_close(const Identity& who, const std::string& machine, bool open);
  Answer<void> set_policy(const Identity& who, const PolicyView& policy);
  Answer<void> resume_erasing(const Identity& who);

 private:
  // By the scheduler's thread.
  /// What a submission adds, to memory and to the disk.
  struct Load {
    JobBook::Held held;
    DiskUse disk;

    Load& operator+=(const Load& more) {
      held.jobs += more.held.jobs, held.bytes += more.held.bytes, disk += more.disk;
      return *this;
    }
  };
  static Load load_of(const JobSpec& spec, std::size_t count);
  [[nodiscard]] Answer<void> check(const Identity& who, const JobSpec& spec,
                                   const Load& more) const;
  [[nodiscard]] Answer<void> check_room(const Identity& who, const Load& more) const;
  [[nodiscard]] Answer<void> check_dependency(const Identity& who, JobNumber other) const;
  Answer<void> cancel_part(const Identity& who, const std::vector<JobNumber>& jobs);
  [[nodiscard]] Answer<void> refuse_to_cancel(const Identity& who, JobNumber job) const;

  LiveState& state_;
  Gate& gate_;
  Runs& runs_;
  Machines& machines_;
  Retention& retention_;
  Loop& loop_;
  Views& views_;
  /// Jobs that the present turn takes in, and the book does not have yet.
  std::map<uid_t, Load> staged_;
};

}  // namespace trainyard
