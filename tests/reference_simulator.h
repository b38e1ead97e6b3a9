// A second simulator, written for being obviously right and for nothing else: plain vectors, every
// question answered by looking at all jobs and machines, nothing remembered that could be found out
// again. It shares no code with yard/, policy/ and sim/, only the model and the text of a policy,
// and must agree with them on when every job starts and ends.
//
// It does not draw lots: preempt=random is not among its members, and preempt=fitgpp is only
// without its fallback and for trial jobs of one worker. Trial jobs have their rights without
// limit.
// Remaining times are what jobs declare. Models are not known: jobs run by the kinds of their GPUs
// (kind_speeds.h) and by their sizes.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "model/cluster.h"
#include "model/workload.h"
#include "policy/registry.h"
#include "sim/faults.h"
#include "yard/event.h"

namespace trainyard::reference {

/// What a policy line says, with its defaults filled in.
struct Settings {
  std::string order, backfill, place, preempt;
  std::string wait_for;  // of consolidate
  std::string reentry;   // of trial-first
  bool by_remaining = false;
  double s = 0;            // of fitgpp
  double trial_price = 1;  // of benefit
  std::int64_t most_pauses = 0;
  bool over_candidates = false;
  std::vector<Duration> thresholds;
  double promote = 0;
  Duration promote_wait;
  Duration patience, min_run, turn;
  std::int64_t max_pauses = 0;
};
Settings settings_of(const PolicySpec& spec);

struct Outcome {
  Time start, finish;
  std::int64_t pauses = 0;

  bool operator==(const Outcome&) const = default;
};

/// Of every job, in order of submission. The workload fits the cluster, and machines that fail
/// come back. The revisions are of the jobs' whole work.
std::vector<Outcome> simulate(const Cluster& cluster, const Workload& workload,
                              const std::vector<Fault>& faults, const std::vector<Event>& revisions,
                              const Settings& settings);

}  // namespace trainyard::reference
