// What generators have in common: how many jobs, how loaded the cluster shall be, who submits, and
// what a pause costs. Draws of one kind come from one stream of the seed, so that asking for other
// durations, say, leaves the arrivals and demands as they were.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/random.h"
#include "model/job.h"
#include "model/workload.h"
#include "workload/generate/generate.h"
#include "workload/generate/settings.h"

namespace trainyard {

enum class Stream : std::uint64_t {
  arrivals = 1,
  demands,
  durations,
  classes,
  users,
  pauses,
  estimates,
  sizes,
  kinds,
  curves,
  models
};

inline Random stream(std::uint64_t seed, Stream which) {
  return Random(seed, static_cast<std::uint64_t>(which));
}

/// What pauses cost beside grace, save and load_time.
struct Pauses {
  std::size_t choice = 0;  // 0: as they are given
  double scale = 1;
};
std::vector<Parameter> pause_parameters();
Pauses read_pauses(Settings& settings);
void set_pauses(const Pauses& pauses, Workload& workload);
/// Refuses a scale of costs that `source` does not say.
Expected<void> check_pause_scale(const Pauses& pauses, std::string_view source,
                                 const Workload& workload);
/// `all` with these parameters behind.
std::vector<Parameter> with_pause_parameters(std::vector<Parameter> all);

/// What jobs declare of their time; the truth stays what it is.
enum class Declared : std::size_t { given, exact, limits, none };
Parameter declared_parameter();
Declared read_declared(Settings& settings);
void set_declared(Declared declared, std::uint64_t seed, Workload& workload);

/// How jobs run on other GPUs and at other sizes than their durations hold for.
struct Flexibility {
  double elastic = 0;               // the share of jobs that can have from half to twice their size
  std::vector<std::string> kinds;   // of GPU that durations hold for, one drawn for each job
  std::vector<std::string> models;  // likewise
};
std::vector<Parameter> flexibility_parameters();
Flexibility read_flexibility(Settings& settings);
void set_flexibility(const Flexibility& flexibility, std::uint64_t seed, Workload& workload);

/// The parameters of poisson and philly-like, to stand before their own.
std::vector<Parameter> with_common_parameters(const std::vector<Parameter>& own);

struct Basics {
  std::size_t jobs = 0;
  double load = 0;         // GPU time arriving over GPU time there is
  double trial_share = 0;  // of the jobs
  std::uint64_t users = 0;
  Job costs;  // only what a pause and a checkpoint cost is set
  Pauses pauses;
  Flexibility flexibility;

  /// A rigid gang of one worker for each GPU, as costly to pause as every other.
  [[nodiscard]] Job gang(std::int32_t gpus, Duration duration) const;
};

Basics read_basics(Settings& settings);

/// Names the users and gives every job one of them, all alike; none: nobody has a name.
void draw_users(std::uint64_t users, std::uint64_t seed, Workload& workload);

/// Seconds to a duration that a job may have: at least a microsecond, at most the longest.
Duration job_duration(double s);

/// Refuses arrivals that lie further away than any clock reaches.
Expected<void> check_span(double last_arrival_s);

Expected<Workload> make_poisson(Settings& settings, const Cluster& cluster, std::uint64_t seed);
Expected<Workload> make_philly_like(Settings& settings, const Cluster& cluster, std::uint64_t seed);
Expected<Workload> make_trace(Settings& settings, const Cluster& cluster, std::uint64_t seed,
                              const TraceOptions& options);
Expected<Workload> make_trial_batch(Settings& settings, const Cluster& cluster, std::uint64_t seed);
Expected<Workload> make_dally_like(Settings& settings, const Cluster& cluster, std::uint64_t seed);
Expected<Workload> make_learning(Settings& settings, const Cluster& cluster, std::uint64_t seed);
Expected<Workload> make_contended(Settings& settings, const Cluster& cluster, std::uint64_t seed);

std::vector<Parameter> poisson_parameters();
std::vector<Parameter> philly_like_parameters();
std::vector<Parameter> trace_parameters();
std::vector<Parameter> trial_batch_parameters();
std::vector<Parameter> dally_like_parameters();
std::vector<Parameter> learning_parameters();
std::vector<Parameter> contended_parameters();

}  // namespace trainyard
