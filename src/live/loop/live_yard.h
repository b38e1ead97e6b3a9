// The yard of a daemon: jobs by their number, as users know them, instead of dense ids; a policy
// that can be exchanged; and which jobs have changed, for the journal. The yard and the policy are
// those of the simulator. One thread.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <unordered_map>
#include <vector>

#include "base/error.h"
#include "live/book/job_record.h"
#include "live/book/measured_pauses.h"
#include "live/loop/live_demand.h"
#include "live/service/service.h"
#include "model/workload.h"
#include "perf/catalogue_speed.h"
#include "policy/registry.h"
#include "sim/beginning.h"
#include "yard/yard.h"

namespace trainyard {

class LiveYard : private YardListener {
 public:
  struct Order {
    trainyard::Order::Kind kind{};
    JobNumber job = 0;
  };

  /// `load_time`: what a load is believed to take where nothing is known of it.
  LiveYard(std::shared_ptr<const Cluster> cluster, FlowClasses flows, Duration load_time)
      : cluster_(std::move(cluster)), flows_(flows), load_time_(load_time) {}

  /// Begins anew on this cluster, under this policy, with these jobs, held and ended ones left out.
  /// `now` is no earlier than anything that happened to them. `closed` are machines that take no
  /// more jobs.
  Expected<void> begin(std::shared_ptr<const Cluster> cluster, const PolicySpec& policy,
                       const std::vector<const JobRecord*>& jobs, const std::set<MachineId>& closed,
                       Time now);

  /// What policies have learnt so far: the one that decides now, and those before it. Each that
  /// begins goes on from there.
  [[nodiscard]] Learnt learnt() const;
  void recall(Learnt learnt) { learnt_ = std::move(learnt); }
  /// What pauses of users' jobs cost, as far as it was measured.
  [[nodiscard]] const MeasuredPauses& pause_costs() const { return costs_; }
  void recall(MeasuredPauses costs) { costs_ = std::move(costs); }
  void note_load(const JobRecord& job, Duration load);

  /// The job may start from now on; what it did before counts.
  [[nodiscard]] Verdict submit(const JobRecord& job, Time now);
  /// The job runs where its life says, though nobody ordered that.
  [[nodiscard]] Verdict take_up(const JobRecord& job, Time now);
  /// A queued job leaves the yard for a while: submit() brings it back.
  void withdraw(JobNumber job, Time now);
  /// The engine has put a job that starts on GPUs of its own choice, on the machines that were
  /// ordered.
  [[nodiscard]] Verdict choose(JobNumber job, const std::vector<WorkerPlace>& places);
  [[nodiscard]] std::string misfit(const JobSpec& spec) const {
    return trainyard::misfit(spec, *cluster_);
  }
  [[nodiscard]] Verdict apply(EventKind kind, JobNumber job, Time now);
  [[nodiscard]] Verdict apply(EventKind kind, MachineId machine, Time now);
  /// The job has loaded, and has done so much by now.
  [[nodiscard]] Verdict loaded(JobNumber job, Duration work, Time now);
  /// What a job that holds GPUs does in that time where it is.
  [[nodiscard]] Duration work_in(JobNumber job, Duration time) const {
    return yard_->rate(id(job)).work_in(std::max(time, Duration{}));
  }
  /// The job ended by itself, perhaps earlier than that is applied: this is all its work.
  void note_end(JobNumber job, Duration work);
  /// What its reports and its pauses tell of a job: what it takes, what a pause costs, how fast it
  /// runs and how well it learns.
  void learn(const JobRecord& job, Time now);

  /// All that a simulation needs to go on from here, but for what the policy knows of single jobs;
  /// and the jobs of it, by id.
  [[nodiscard]] Beginning beginning() const;
  [[nodiscard]] const Workload& workload() const { return workload_; }
  /// The job as it was when it came, for one that comes again.
  [[nodiscard]] Job job_like(const JobRecord& record);

  /// One decision of the policy. Returns when it wants to decide again.
  Time decide(Time now);
  /// What is to be done since the last time, in order.
  [[nodiscard]] std::vector<Order> take_orders();
  /// Who has changed since the last time, with what there is to save of each.
  void take_changed(const std::function<void(JobNumber, JobLife)>& visit);

  /// With an expected start only where all jobs on which that depends have said how long they take.
  [[nodiscard]] WaitReason explain(JobNumber job) const;
  /// Why a job that sends over the network is in its flow class; empty if it does not, or if no
  /// classes are carried out.
  [[nodiscard]] std::string explain_flow(JobNumber job) const {
    return flow_terms_.carried_out ? policy_->explain_flow(id(job)) : "";
  }
  /// The jobs on a machine that send over the network, where classes are carried out.
  [[nodiscard]] std::vector<JobNumber> senders_on(MachineId machine) const;
  [[nodiscard]] FlowClass flow(JobNumber job) const { return yard_->flow(id(job)); }
  [[nodiscard]] const FlowTerms& flow_terms() const { return flow_terms_; }
  /// From the next begin() on.
  void set_flow_classes(FlowClasses flows) { flows_ = flows; }
  /// The one that was submitted first of those that are queued; 0: none is.
  [[nodiscard]] JobNumber oldest_queued() const { return queued_.empty() ? 0 : *queued_.begin(); }
  [[nodiscard]] Regards regards() const { return policy_->regards(); }
  /// Since the job began to run, of work that counts.
  [[nodiscard]] Duration ran(JobNumber job, Time now) const;
  [[nodiscard]] std::vector<WorkerPlace> places(JobNumber job) const;
  /// True if its machines have the features that it asks for, and the shares that it holds.
  [[nodiscard]] bool is_as_asked(JobNumber job) const;
  /// What each of these workers has of its machine.
  [[nodiscard]] std::vector<Resources> grants(JobNumber job) const;
  [[nodiscard]] const Yard& yard() const { return *yard_; }
  [[nodiscard]] JobNumber number(JobId job) const { return numbers_[index(job)]; }
  [[nodiscard]] std::uint64_t refused() const { return refused_; }

 private:
  void on_phase(JobId job, Phase from, Phase to) override;
  void on_rate(JobId job) override { changed_.insert(number(job)); }
  void on_flow(JobId job) override { changed_.insert(number(job)); }
  void on_room(JobId job) override { changed_.insert(number(job)); }
  void on_estimate(JobId job) override { changed_.insert(number(job)); }
  void measure(JobId job, const JobProgress& progress, Time now);
  void tell_curve(JobId job, const ReportedCurve& curve, Time now);
  [[nodiscard]] JobId id(JobNumber job) const { return ids_.at(job); }
  [[nodiscard]] Duration expected_load(const JobRecord& record) const;
  [[nodiscard]] Job make_job(const JobRecord& record, Time eligible);
  /// Into how many workers each of the yard's is divided.
  [[nodiscard]] std::int32_t parts(JobId job) const {
    const TermsId terms = yard_->job(job).terms;
    return terms == kNoTerms ? 1 : workload_.terms[terms].parts;
  }
  void add(const JobRecord& record, Time eligible);
  [[nodiscard]] SavedJob to_ids(const JobRecord& record) const;
  [[nodiscard]] JobLife to_numbers(SavedJob saved) const;

  std::shared_ptr<const Cluster> cluster_;
  FlowClasses flows_;
  Duration load_time_;
  FlowTerms flow_terms_;  // since it began
  Workload workload_;
  std::vector<JobNumber> numbers_;  // by id
  std::unordered_map<JobNumber, JobId> ids_;
  std::set<JobId> estimated_;  // those that have said how long they take
  struct Mark {
    Time at;
    std::int64_t step = 0;
  };
  std::unordered_map<JobId, Mark> marks_;         // of those that run: from where speed is measured
  std::unordered_map<JobId, double> told_;        // the last step whose accuracy the yard knows
  std::unordered_map<JobId, Duration> all_work_;  // of those that have ended
  std::unique_ptr<CatalogueSpeed> speed_;
  std::unique_ptr<Yard> yard_;
  std::unique_ptr<Policy> policy_;
  Learnt learnt_;  // before it
  std::set<JobNumber> changed_, queued_;
  MeasuredPauses costs_;
  std::uint64_t refused_ = 0;
};

}  // namespace trainyard
