// The boundary between deciding and doing. A policy reads the yard and writes a plan; it has no
// clock but the yard's, no I/O, and no randomness but a generator with a given seed, so the same
// events give the same plan, in simulation and live.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "policy/learnt.h"
#include "yard/plan.h"
#include "yard/yard.h"

namespace trainyard {

/// Why a job waits, for the person who waits for it.
struct WaitReason {
  std::string token;                   // "resources", "placement", "priority", "reservation", ...
  std::string sentence;                // "needs 8 GPUs on one machine; the most free is 6 on r2m3"
  std::size_t place = 0;               // in the queue, 1 is next; 0 when it has left the queue
  std::optional<Time> expected_start;  // where it can be told: see policy/forecast.h
  std::vector<JobId> relies_on = {};   // jobs by whose estimates that is
};

/// What a job's user declares that this policy goes by: the rest changes nothing.
struct Regards {
  bool classes = false;    // trial or batch
  bool estimates = false;  // how long it takes
};

class PolicyContext;

class Policy : public YardListener {
 public:
  Policy();
  ~Policy() override;
  Policy(const Policy&) = delete;
  Policy& operator=(const Policy&) = delete;

  virtual void decide(Plan& plan) = 0;
  /// Whether it may pause jobs. Then a job that begins to run is something to decide on: from when
  /// on it may be paused is known only now.
  [[nodiscard]] virtual bool preempts() const { return false; }
  /// What it asks of a network that jobs share.
  [[nodiscard]] virtual FlowRules flow_rules() const { return {}; }
  /// Why a job that holds GPUs is in its flow class; empty if its bytes are not ordered.
  [[nodiscard]] virtual std::string explain_flow(JobId /*job*/) const { return {}; }
  /// Of a job that is queued or reserved, as things stand after the last decision.
  [[nodiscard]] virtual WaitReason explain(JobId job) const = 0;

  /// By what its members asked for when they were made.
  [[nodiscard]] Regards regards() const;
  /// Adds what is to be given to the next policy, if this one ends.
  virtual void save_learnt(Learnt& learnt) const;
  /// Goes on from what another has learnt. To be called before anything happens in the yard: what
  /// happens there before `now` are jobs of old that are taken up, of which that other has heard.
  virtual void recall(const Learnt& learnt, Time now);
  /// What was known of single jobs, by their numbers in the yard (JobNotes): to be called when the
  /// yard has taken them up.
  virtual void recall_jobs(const Learnt& learnt);
  /// What it was made with lives as long as the policy.
  void keep(std::unique_ptr<PolicyContext> context);

 private:
  std::unique_ptr<PolicyContext> context_;
};

}  // namespace trainyard
