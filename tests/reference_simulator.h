// A second simulator, written for being obviously right and for nothing else: plain vectors, every
// question answered by looking at all jobs and machines, nothing remembered that could be found out
// again. It shares no code with network/, yard/, policy/ and sim/, only the model, what is known of
// neural networks (perf/) and the text of a policy, and must agree with them on when every job
// starts and ends.
//
//   reference_simulator   time, and a round of deciding: who is next, what is kept for whom
//   reference_state       jobs and machines, and what happens to them
//   reference_rooms       what is kept free for trial jobs to come
//   reference_belief      how long jobs take, by those that finished
//   reference_backlog     what work there is, and how long a job may wait because of it
//   reference_worth       what a job's second and a GPU-second are worth; which jobs are overdue
//   reference_rights      which jobs act as trial jobs
//   reference_where       where a job goes; reference_place has the placements
//   reference_delay       how far apart a job lets itself be placed by now
//   reference_preempt     who gives way; reference_gain has what pauses gain
//   reference_usual       where jobs usually find room, and how fast they are there
//   reference_terms       which machines jobs may have, and what they take of each
//   reference_network     how fast jobs send that share links
//   reference_flow        whose bytes go first
//
// It does not draw lots: preempt=random and place=random are not among its members, and
// preempt=fitgpp is only without its fallback and for trial jobs of one worker. Remaining times are
// what jobs declare, or residual. preempt=lease is that by which all bid again (rebid=always), and
// place=delay that with learnt timers. Without a catalogue models are not known: jobs run by the
// kinds of their GPUs (kind_speeds.h) and by their sizes. With one they run by their models, and
// those that span machines share the network as its fluid model has it.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "model/cluster.h"
#include "model/workload.h"
#include "perf/catalogue.h"
#include "policy/registry.h"
#include "sim/faults.h"
#include "yard/event.h"

namespace trainyard::reference {

/// What there is, and what happens to it whatever the policy does.
struct World {
  const Cluster& cluster;               // of machines and racks, without groups of racks
  const Workload& workload;             // it fits the cluster
  const std::vector<Fault>& faults;     // machines that fail come back
  const std::vector<Event>& revisions;  // of the jobs' whole work
  const Catalogue* models = nullptr;
  double loss = 0;  // of a link by sharing
};

/// What a policy line says, with its defaults filled in.
struct Settings {
  std::string order, backfill, place, preempt, flow;
  std::string wait_for;  // of consolidate
  Duration delay_lease;  // of delay, whose timers are learnt
  std::string reentry;   // of trial-first
  bool by_remaining = false;
  double s = 0;            // of fitgpp
  double trial_worth = 1;  // of a second of a trial job
  double trial_share = 0;  // of a user's part of the cluster, for trial jobs; 0: no limit
  Duration trial_window;   // how much of it can be saved up
  bool critical_first = false;
  bool keeps_rooms = false;  // for trial jobs
  std::int64_t most_pauses = 0;
  bool over_candidates = false;
  std::vector<Duration> thresholds;
  Duration lease;                    // of lease, whose jobs all bid again when it is over
  bool leaves_before_rebid = false;  // and leave first
  std::string estimates;             // "declared" or "residual"
  Duration patience, min_run, turn;
  double fair_wait = 0;      // times what all GPUs need for the work that there is; 0: no bound
  double overdue_share = 1;  // of the GPU time
  std::int64_t max_pauses = 0;
  std::int64_t lwf_k = 0;
  std::size_t flow_classes = 1;
  Duration flow_period;
  double flow_floor = 0;
  std::string curves;  // of flows that go by what jobs learn: "fitted" or "true"
};
Settings settings_of(const PolicySpec& spec);

struct Outcome {
  Time start, finish;
  std::int64_t pauses = 0;

  bool operator==(const Outcome&) const = default;
};

/// Of every job, in order of submission.
std::vector<Outcome> simulate(const World& world, Settings settings);

}  // namespace trainyard::reference
