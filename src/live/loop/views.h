// What callers ask to see. It comes from the last snapshot, and from the journal for jobs that have
// ended, so that nobody is shown what is not on disk and nobody waits for the disk. Only why a job
// waits is looked up by the scheduler's thread, which has the policy.
#pragma once

#include "live/loop/fair_slots.h"
#include "live/loop/forecaster.h"
#include "live/loop/live_state.h"
#include "live/loop/loop.h"
#include "live/service/service.h"

namespace trainyard {

class Views {
 public:
  /// Uses of the state only what does not change, but within Loop::look_up.
  Views(LiveState& state, const Retention& retention, Loop& loop, Forecaster& forecaster);

  // As in Service.
  [[nodiscard]] Answer<std::vector<JobNumber>> find(const Identity& who, const JobName& name) const;
  [[nodiscard]] Answer<JobRecord> job(const Identity& who, JobNumber job) const;
  [[nodiscard]] Answer<JobPage> jobs(const Identity& who, const JobFilter& filter) const;
  [[nodiscard]] Answer<WhyAnswer> why(const Identity& who, JobNumber job);
  [[nodiscard]] Answer<LiveOutlook> forecast(const Identity& who,
                                             std::optional<JobNumber> job) const;
  [[nodiscard]] Answer<LiveOutlook> what_if(const Identity& who, OutlookQuestion question);
  [[nodiscard]] Answer<std::vector<LiveEvent>> events_of(const Identity& who, JobNumber job) const;
  [[nodiscard]] Answer<Service::LogPage> logs(const Identity& who, JobNumber job,
                                              std::int32_t worker, std::uint32_t run,
                                              std::uint64_t offset) const;
  [[nodiscard]] ClusterView cluster(const Identity& who) const;
  [[nodiscard]] Answer<MachineFlows> flows(const Identity& who, const std::string& machine,
                                           bool vouched);
  [[nodiscard]] PolicyView policy() const { return *loop_.snapshot()->policy; }
  [[nodiscard]] Answer<RetentionView> retention(const Identity& who);
  [[nodiscard]] Answer<Service::HistoryPart> history(const Identity& who,
                                                     const Service::HistoryPart& before) const;
  [[nodiscard]] Counters counters() const { return loop_.snapshot()->counters; }

  /// What they may see of it; not found where that is nothing.
  [[nodiscard]] Answer<JobRecord> visible(const Identity& who, JobNumber job) const;

 private:
  [[nodiscard]] LiveOutlook shown_to(const Identity& who, LiveOutlook outlook) const;
  [[nodiscard]] bool is_private() const { return state_.options.private_jobs; }
  [[nodiscard]] WhyAnswer why_waits(const JobRecord& job) const;
  [[nodiscard]] std::optional<WhyAnswer> why_no_machine(const WhyAnswer& otherwise) const;
  [[nodiscard]] WhyAnswer why_held(const JobRecord& job) const;
  [[nodiscard]] std::string output_file(const JobRecord& job, const std::string& pattern,
                                        std::int32_t worker) const;

  LiveState& state_;
  const Retention& retention_;
  Loop& loop_;
  Forecaster& forecaster_;
  mutable FairSlots long_reads_;  // of jobs that have ended, which may be millions
};

/// As `why` has it, without asking the policy: a list may have a thousand of them.
WaitsBy waits_by(const Snapshot& snapshot, const JobRecord& job);

}  // namespace trainyard
