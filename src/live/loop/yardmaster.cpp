#include "live/loop/yardmaster.h"

#include "live/engine/check_cluster.h"
#include "live/loop/recovery.h"

namespace trainyard {

Yardmaster::Yardmaster(System& system, Journal& journal, Engine& engine, SchedulingOptions options)
    : state_(system, journal, engine, std::move(options)),
      gate_(state_),
      runs_(state_, gate_),
      machines_(state_, gate_, runs_),
      births_(state_, gate_),
      old_runs_(state_),
      retention_(state_),
      feed_(journal, system.log(), state_.options.private_jobs),
      loop_(state_, gate_, runs_, machines_, births_, old_runs_, retention_, feed_),
      forecaster_(state_, loop_),
      views_(state_, retention_, loop_, forecaster_),
      requests_(state_, gate_, runs_, machines_, retention_, loop_, views_) {}

Expected<std::unique_ptr<Yardmaster>> Yardmaster::start(System& system, Journal& journal,
                                                        Engine& engine, SchedulingOptions options) {
  if (auto ok = check_cluster(engine.cluster()); !ok)
    return fail("the engine's cluster cannot be used: {}", ok.error().message);
  std::unique_ptr<Yardmaster> master(new Yardmaster(system, journal, engine, std::move(options)));
  Recovery recovery(master->state_, master->gate_, master->runs_, master->machines_);
  if (auto ok = recovery.recover(); !ok) return tl::make_unexpected(ok.error());
  master->retention_.begin();
  master->feed_.begin_after(journal.last_event());
  master->loop_.begin();
  master->forecaster_.begin();
  return master;
}

Yardmaster::~Yardmaster() {
  feed_.end();
}

Answer<Submitted> Yardmaster::submit(const Identity& who, JobSpec spec) {
  return requests_.submit(who, std::move(spec));
}

Answer<std::vector<JobNumber>> Yardmaster::find(const Identity& who, const JobName& name) {
  return views_.find(who, name);
}

Answer<void> Yardmaster::cancel(const Identity& who, const std::vector<JobNumber>& jobs) {
  return requests_.cancel(who, jobs);
}

Answer<void> Yardmaster::close_machine(const Identity& who, const std::string& machine) {
  return requests_.open_or_close(who, machine, false);
}

Answer<void> Yardmaster::open_machine(const Identity& who, const std::string& machine) {
  return requests_.open_or_close(who, machine, true);
}

Answer<void> Yardmaster::set_policy(const Identity& who, const PolicyView& policy) {
  return requests_.set_policy(who, policy);
}

Answer<void> Yardmaster::resume_erasing(const Identity& who) {
  return requests_.resume_erasing(who);
}

Answer<JobRecord> Yardmaster::job(const Identity& who, JobNumber job) {
  return views_.job(who, job);
}

Answer<JobPage> Yardmaster::jobs(const Identity& who, const JobFilter& filter) {
  return views_.jobs(who, filter);
}

Answer<WhyAnswer> Yardmaster::why(const Identity& who, JobNumber job) {
  return views_.why(who, job);
}

Answer<LiveOutlook> Yardmaster::forecast(const Identity& who, std::optional<JobNumber> job) {
  return views_.forecast(who, job);
}

Answer<LiveOutlook> Yardmaster::what_if(const Identity& who, OutlookQuestion question) {
  return views_.what_if(who, std::move(question));
}

Answer<Service::LogPage> Yardmaster::logs(const Identity& who, JobNumber job, std::int32_t worker,
                                          std::uint32_t run, std::uint64_t offset) {
  return views_.logs(who, job, worker, run, offset);
}

Answer<ClusterView> Yardmaster::cluster(const Identity& who) {
  return views_.cluster(who);
}

Answer<PolicyView> Yardmaster::policy(const Identity& /*who*/) {
  return views_.policy();
}

Answer<RetentionView> Yardmaster::retention(const Identity& who) {
  return views_.retention(who);
}

Answer<MachineFlows> Yardmaster::flows(const Identity& who, const std::string& machine,
                                       bool vouched) {
  return views_.flows(who, machine, vouched);
}

Answer<Service::HistoryPart> Yardmaster::history(const Identity& who, const HistoryPart& before) {
  return views_.history(who, before);
}

Service::EventPage Yardmaster::events(const Identity& who, std::int64_t after, Duration patience) {
  return feed_.page(who, after, patience);
}

Answer<std::vector<LiveEvent>> Yardmaster::events_of(const Identity& who, JobNumber job) {
  return views_.events_of(who, job);
}

std::int64_t Yardmaster::last_event() const {
  return feed_.last();
}

Counters Yardmaster::counters() const {
  return views_.counters();
}

}  // namespace trainyard
