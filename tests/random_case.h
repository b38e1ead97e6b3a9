// Small random worlds for the tests that compare and check: a cluster, jobs, faults and a policy,
// all from one seed. Times lie on a coarse grid, so that much happens at the same instant.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/random.h"
#include "model/cluster.h"
#include "model/workload.h"
#include "sim/faults.h"
#include "yard/event.h"

namespace trainyard {

struct RandomCase {
  Cluster cluster;
  Workload workload;
  std::vector<Fault> faults;     // every machine that fails comes back; some are slow for a while
  std::vector<Event> revisions;  // estimates that change
};

/// How a case may look; each case draws its own mix of what is allowed.
struct CaseStyle {
  std::size_t max_jobs = 40;
  bool wrong_estimates = true;
  bool faults = true;
  bool pause_costs = true;
  bool changes = true;  // of machines' speeds and of estimates
};

/// Each as likely.
std::string one_of(Random& random, const std::vector<std::string>& words);

RandomCase random_case(Random& random, const CaseStyle& style = {});

/// Has machines differ in features, CPUs and memory, and jobs ask for them: for features, and for
/// the share of the machine on which they are. Every job still fits.
void mix_machines(Random& random, RandomCase& made);

/// Gives the jobs to one to three users, so that trial jobs have allowances.
void add_users(Random& random, RandomCase& made);

/// Every preset, then lines of random members with parameters that matter on this scale. Members
/// listed in `without` are not drawn.
std::string random_policy(Random& random, const std::vector<std::string>& without = {});

/// The cases of a randomised test, a seed each: `count` of them, as many as TRAINYARD_TEST_CASES
/// says, or only that of TRAINYARD_TEST_SEED, which a failure prints.
struct Seeds {
  std::uint64_t first = 1;
  std::uint64_t count = 1;
};
Seeds seeds(std::uint64_t count);

/// As text: what a person needs to repeat the case by hand.
std::string describe(const RandomCase& random_case);

}  // namespace trainyard
