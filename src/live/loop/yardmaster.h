// The live scheduler: what it does for those who ask (Service), and the parts that it is made of.
//
//   LiveState   the yard, the book of jobs, what is not on disk yet
//   Gate        lets jobs into the queue, and settles what their ends mean for others
//   Runs        starts and stops runs, and hears of them
//   Loop        the thread that all of this belongs to, turn by turn (loop.h says what one is)
//   Retention   erases what jobs left behind that ended long ago
//   EventFeed   tells those who listen
//   Forecaster  looks ahead, on a thread of its own
//   Requests    what callers ask to be changed; goes through the loop
//   Views       what they ask to see; comes from the loop's last snapshot
//   Recovery    what happens at a start
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "live/loop/event_feed.h"
#include "live/loop/forecaster.h"
#include "live/loop/gate.h"
#include "live/loop/live_state.h"
#include "live/loop/loop.h"
#include "live/loop/requests.h"
#include "live/loop/runs.h"
#include "live/loop/views.h"
#include "live/service/service.h"

namespace trainyard {

class Yardmaster final : public Service {
 public:
  /// Takes up what the journal and the engine know, and begins. They must outlive it.
  static Expected<std::unique_ptr<Yardmaster>> start(System& system, Journal& journal,
                                                     Engine& engine, SchedulingOptions options);
  /// Ends the loop; jobs run on.
  ~Yardmaster() override;

  /// Where the system has no threads: a turn of the loop, and how long after it the next is due at
  /// the latest.
  void take_turn() { loop_.take_turn(); }
  /// The same of a forecast.
  void make_forecast() { forecaster_.make(); }
  [[nodiscard]] Duration next_turn() const { return loop_.next_deadline() - state_.now(); }

  Answer<Submitted> submit(const Identity& who, JobSpec spec) override;
  Answer<std::vector<JobNumber>> find(const Identity& who, const JobName& name) override;
  Answer<void> cancel(const Identity& who, const std::vector<JobNumber>& jobs) override;
  Answer<void> close_machine(const Identity& who, const std::string& machine) override;
  Answer<void> open_machine(const Identity& who, const std::string& machine) override;
  Answer<void> set_policy(const Identity& who, const PolicyView& policy) override;
  Answer<void> resume_erasing(const Identity& who) override;

  Answer<JobRecord> job(const Identity& who, JobNumber job) override;
  Answer<JobPage> jobs(const Identity& who, const JobFilter& filter) override;
  Answer<WhyAnswer> why(const Identity& who, JobNumber job) override;
  Answer<LiveOutlook> forecast(const Identity& who, std::optional<JobNumber> job) override;
  Answer<LiveOutlook> what_if(const Identity& who, OutlookQuestion question) override;
  Answer<LogPage> logs(const Identity& who, JobNumber job, std::int32_t worker, std::uint32_t run,
                       std::uint64_t offset) override;
  Answer<ClusterView> cluster(const Identity& who) override;
  Answer<PolicyView> policy(const Identity& who) override;
  Answer<RetentionView> retention(const Identity& who) override;
  Answer<MachineFlows> flows(const Identity& who, const std::string& machine,
                             bool vouched) override;
  Answer<HistoryPart> history(const Identity& who, const HistoryPart& before) override;
  EventPage events(const Identity& who, std::int64_t after, Duration patience) override;
  Answer<std::vector<LiveEvent>> events_of(const Identity& who, JobNumber job) override;
  [[nodiscard]] std::int64_t last_event() const override;
  [[nodiscard]] Counters counters() const override;
  [[nodiscard]] bool may_count(const Identity& who) const override {
    return !state_.options.private_jobs || who.role != Role::user;
  }

 private:
  Yardmaster(System& system, Journal& journal, Engine& engine, SchedulingOptions options);

  LiveState state_;
  Gate gate_;
  Runs runs_;
  Machines machines_;
  Births births_;
  OldRuns old_runs_;
  Retention retention_;
  EventFeed feed_;
  Loop loop_;  // uses all before it, and ends before they do
  Forecaster forecaster_;
  Views views_;
  Requests requests_;
};

}  // namespace trainyard
