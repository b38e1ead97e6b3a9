// trainyard whatif: the jobs that the daemon has run, or those of a Slurm site's accounting,
// replayed in the simulator under other policies, or on another cluster.
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <nlohmann/json.hpp>
#include <optional>

#include "cli/answer_text.h"
#include "cli/client.h"
#include "cli/options.h"
#include "study/recipe.h"
#include "workload/read.h"
#include "workload/select.h"

namespace trainyard::cli {
namespace {

using nlohmann::json;

struct WhatifOptions : AskOptions {
  std::vector<std::string> policies;
  std::vector<std::string> settings;
  std::string cluster;
  std::string network = "alone";
  std::string sacct;  // a file; empty: the daemon's history
  TrialRule trials;
  bool drop_larger = false;
};

/// What Slurm's own scheduler comes nearest to, and what `serve` does by itself.
const std::vector<std::string> kForAccounting{"fifo-easy", "trainyard"};

/// What is no simulation.
constexpr std::string_view kRecorded = "recorded";

/// One line of the comparison.
struct Outcome {
  std::string name;
  std::size_t jobs = 0;
  double makespan_s = 0;
  Summary jct_s, wait_s;
  double trial_jct_s = 0, batch_jct_s = 0;
  std::uint64_t pauses = 0;
  std::map<std::string, double> jct_of_s = {};  // by the job's name
};

/// By which part the mean JCT of `b` is below that of `a`, over the jobs that both have. Null if
/// they have none in common.
std::optional<double> gain_of(const Outcome& a, const Outcome& b) {
  double with_a = 0, with_b = 0;
  for (const auto& [name, jct_s] : a.jct_of_s)
    if (const auto same = b.jct_of_s.find(name); same != b.jct_of_s.end())
      with_a += jct_s, with_b += same->second;
  if (with_a <= 0) return {};
  return 1 - with_b / with_a;
}

/// How far the simulator is off, as a part: what ran, against the same jobs simulated.
std::optional<double> error_of(const Outcome& recorded, const Outcome& simulated) {
  const auto gain = gain_of(recorded, simulated);
  return gain ? std::optional(std::abs(*gain)) : std::nullopt;
}

/// Adds up jobs that have ended.
class Recorded {
 public:
  void add(const std::string& name, double submitted, double waited, double ended, bool is_trial) {
    by_name_[name] = ended - submitted;
    first_ = jct_.empty() ? submitted : std::min(first_, submitted);
    last_ = std::max(last_, ended);
    jct_.push_back(ended - submitted);
    wait_.push_back(waited);
    (is_trial ? trial_ : batch_).push_back(jct_.back());
  }
  [[nodiscard]] Outcome outcome(std::uint64_t pauses) {
    return {std::string(kRecorded), jct_.size(),      last_ - first_,
            summarize(jct_),        summarize(wait_), summarize(trial_).mean,
            summarize(batch_).mean, pauses,           by_name_};
  }

 private:
  std::map<std::string, double> by_name_;
  std::vector<double> jct_, wait_, trial_, batch_;
  double first_ = 0, last_ = 0;
};

/// What really happened, from the daemon's own records.
Expected<Outcome> recorded(Client& client) {
  Recorded jobs;
  std::uint64_t pauses = 0;
  std::int64_t before = 0;
  for (bool more = true; more;) {
    const auto page = client.get(fmt::format("/v1/jobs?state=done&limit=1000&before={}", before));
    if (!page) return tl::make_unexpected(page.error());
    for (const json& job : page->at("jobs")) {
      before = job.at("job");
      if (job.at("done_s").get<double>() <= 0) continue;
      jobs.add(std::to_string(job.at("job").get<std::int64_t>()), job.at("submitted"),
               job.at("waited_s"), job.at("ended"), job.at("class") == "trial");
      pauses += job.at("pauses").get<std::uint64_t>();
    }
    more = page->at("more");
  }
  return jobs.outcome(pauses);
}

/// The same from a site's accounting.
Outcome recorded(const Workload& workload, const std::vector<Duration>& waits) {
  Recorded jobs;
  for (std::size_t i = 0; i < waits.size(); ++i) {
    const Job& job = workload.jobs[i];
    const double submitted = (job.submit - Time{}).seconds(), waited = waits[i].seconds();
    jobs.add(workload.names.at(i), submitted, waited, submitted + waited + job.duration.seconds(),
             job.job_class == JobClass::trial);
  }
  return jobs.outcome(0);
}

Expected<Outcome> simulated(const std::string& name, const Cluster& cluster,
                            const Workload& workload, const PolicySpec& policy,
                            const NetworkOptions& network) {
  const auto made = make_simulation(cluster, workload, policy, {.network = network});
  if (!made) return fail_at(name, made.error());
  Simulation& simulation = **made;
  simulation.run();
  const Result r = simulation.result();
  Outcome outcome{name,         r.finished,         r.makespan_s,       r.all.jct_s,
                  r.all.wait_s, r.trial.jct_s.mean, r.batch.jct_s.mean, r.preemptions};
  for (std::size_t j = 0; j < workload.jobs.size(); ++j)
    if (const JobState& state = simulation.yard().state(JobId{static_cast<std::uint32_t>(j)});
        state.phase == Phase::done)
      outcome.jct_of_s[workload.names.at(j)] = (state.end() - workload.jobs[j].submit).seconds();
  return outcome;
}

/// The machines of the daemon, with the CPUs and the memory that they have.
Expected<Cluster> present_cluster(Client& client) {
  const auto view = client.get("/v1/cluster");
  if (!view) return tl::make_unexpected(view.error());
  Cluster cluster;
  cluster.add_rack(0);
  for (const json& m : view->at("machines")) {
    Machine machine;
    const json& capacity = m.at("capacity");
    const auto milli = static_cast<std::int32_t>(1000 * capacity.at("cpus").get<double>());
    machine.capacity = {capacity.at("gpus"), milli, capacity.at("memory_mib")};
    if (auto ok = cluster.add_machines(1, machine, m.at("kind").get<std::string>()); !ok)
      return tl::make_unexpected(ok.error());
  }
  return cluster;
}

Expected<Workload> history(Client& client) {
  std::string csv;
  const auto read = client.stream("/v1/history", [&](std::string_view part) {
    csv += part;
    return true;
  });
  if (!read) return tl::make_unexpected(read.error());
  auto workload = parse_workload(csv, "the daemon's history", {.format = "native"});
  if (workload && workload->jobs.empty())
    return fail("no job has been done yet: there is nothing to replay");
  return workload;
}

std::string to_text(const std::vector<Outcome>& outcomes) {
  const auto time = [](double s) { return span(json(s)); };
  std::vector<std::vector<std::string>> rows{{"", "jobs", "makespan", "mean JCT", "p95 JCT",
                                              "mean wait", "trial JCT", "batch JCT", "pauses"}};
  for (const Outcome& o : outcomes)
    rows.push_back({o.name, std::to_string(o.jobs), time(o.makespan_s), time(o.jct_s.mean),
                    time(o.jct_s.p95), time(o.wait_s.mean), time(o.trial_jct_s),
                    time(o.batch_jct_s), std::to_string(o.pauses)});
  return table(rows);
}

json to_json(const std::vector<Outcome>& outcomes) {
  json all = json::array();
  for (const Outcome& o : outcomes)
    all.push_back({{"policy", o.name},
                   {"jobs", o.jobs},
                   {"makespan_s", o.makespan_s},
                   {"mean_jct_s", o.jct_s.mean},
                   {"p95_jct_s", o.jct_s.p95},
                   {"mean_wait_s", o.wait_s.mean},
                   {"trial_mean_jct_s", o.trial_jct_s},
                   {"batch_mean_jct_s", o.batch_jct_s},
                   {"pauses", o.pauses}});
  return {{"outcomes", std::move(all)}};
}

/// What the daemon has set for every policy holds for the others too, unless it is set otherwise.
std::vector<std::string> shared_settings(const std::vector<std::string>& present) {
  std::vector<std::string> settings;
  for (const std::string& setting : present)
    if (setting.starts_with("yard.") || setting.starts_with("queue.")) settings.push_back(setting);
  return settings;
}

std::vector<std::string> joined(std::vector<std::string> first,
                                const std::vector<std::string>& second) {
  first.insert(first.end(), second.begin(), second.end());
  return first;
}

/// One that was simulated, as it can be set.
struct Candidate {
  std::string policy;
  std::vector<std::string> settings;
  std::size_t outcome = 0;  // its place among the outcomes

  /// With `before` in front of the policy.
  [[nodiscard]] std::string as_options(std::string_view before) const {
    std::string text = std::string(before) + typed(policy);
    for (const std::string& setting : settings) text += " --set " + typed(setting);
    return text;
  }

 private:
  /// Lines of stages have blanks.
  static std::string typed(const std::string& word) {
    return word.find(' ') == std::string::npos ? word : shell_quoted(word);
  }
};

/// What is replayed, where, and the outcomes so far.
struct Replay {
  Cluster cluster;
  Workload workload;
  NetworkOptions network;
  std::vector<Outcome> outcomes;
  std::vector<Candidate> candidates;  // but for the present policy as it is

  /// Before the first simulation under these policies.
  [[nodiscard]] Expected<void> prepare(const std::vector<std::string>& policies,
                                       const std::vector<std::string>& settings) {
    bool with_curves = false;
    for (const std::string& policy : policies) {
      const auto spec = PolicySpec::parse(policy, settings);
      with_curves =
          with_curves || (spec && goes_by_curves(*spec));  // errors are told by simulate()
    }
    return trainyard::prepare(cluster, Catalogue::builtin(), {.with_curves = with_curves},
                              workload);
  }

  Expected<void> simulate(const std::string& policy, const std::string& name,
                          const std::vector<std::string>& settings) {
    const auto spec = PolicySpec::parse(policy, settings);
    if (!spec) return tl::make_unexpected(spec.error());
    auto outcome = simulated(name, cluster, workload, *spec, network);
    if (!outcome) return tl::make_unexpected(outcome.error());
    outcomes.push_back(std::move(*outcome));
    return {};
  }

  /// `own`: those of the settings that nobody has set yet.
  Expected<void> try_out(const std::string& policy, const std::string& name,
                         const std::vector<std::string>& settings,
                         const std::vector<std::string>& own) {
    if (auto ok = simulate(policy, name + ", simulated", settings); !ok) return ok;
    candidates.push_back({policy, own, outcomes.size() - 1});
    return {};
  }

  Expected<void> try_all(const std::vector<std::string>& policies,
                         const std::vector<std::string>& settings,
                         const std::vector<std::string>& own) {
    for (const std::string& policy : policies)
      if (auto ok = try_out(policy, policy, settings, own); !ok) return ok;
    return {};
  }

  /// By mean completion time; of several, the first that was given.
  [[nodiscard]] const Candidate& best() const {
    return *std::ranges::min_element(
        candidates, {}, [this](const Candidate& c) { return outcomes[c.outcome].jct_s.mean; });
  }

  /// Prints them; throws kJobsUnfinished.
  [[nodiscard]] Expected<void> show(bool as_json) const {
    if (auto ok = as_json ? print_json(to_json(outcomes)) : print(to_text(outcomes)); !ok)
      return ok;
    bool unfinished = false;
    for (const Outcome& outcome : outcomes)
      if (outcome.name != kRecorded)
        unfinished =
            warn_of_unfinished(outcome.name, outcome.jobs, workload.jobs.size(), "") || unfinished;
    if (unfinished) throw ExitWith{kJobsUnfinished};
    return {};
  }
};

/// "the best mean JCT is 3.1% below ..., and the simulator is off by 8.0%": both over the jobs that
/// were recorded.
void note_too_close(double gain, std::string_view than, double error) {
  note(fmt::format(
      "the best mean JCT is {:.1f}% below that of {}, and the simulator is off by {:.1f}% on the "
      "recorded jobs: the difference is too small to tell",
      100 * gain, than, 100 * error));
}

/// What to type next for a Slurm site: what was recorded is the present policy, and the simulator
/// is off by as much as the policy that comes nearest to it.
void recommend_for_slurm(const WhatifOptions& options, const Replay& replay) {
  const Candidate& best = replay.best();
  const Outcome& recorded = replay.outcomes.front();
  const std::string dry_run =
      "trainyard serve --engine slurm --partition NAME --dry-run" + best.as_options(" --policy ");
  if (recorded.name != kRecorded) return hint(options, dry_run);
  const double gain = gain_of(recorded, replay.outcomes[best.outcome]).value_or(0);
  double error = std::numeric_limits<double>::infinity();
  for (const Candidate& candidate : replay.candidates)
    if (candidate.policy == kForAccounting.front())
      error = error_of(recorded, replay.outcomes[candidate.outcome]).value_or(error);
  if (!std::isfinite(error))
    return note(fmt::format(
        "nothing is recommended: how far the simulator is off is seen from {}, which comes nearest "
        "to Slurm's scheduler; add it to --policy",
        kForAccounting.front()));
  if (gain > error) return hint(options, dry_run);
  if (gain > 0) return note_too_close(gain, "what was recorded", error);
  note("none of them has a shorter mean JCT than what was recorded");
}

/// A Slurm site's own jobs; asks no daemon.
Expected<void> replay_accounting(const WhatifOptions& options, const NetworkOptions& network) {
  if (options.cluster.empty())
    return fail("--sacct needs --cluster, the machines that the jobs ran on: 16x8xA100, or a file");
  std::vector<std::string> notes;
  std::vector<Duration> waits;
  auto workload =
      read_workload(options.sacct, {.format = "sacct", .notes = &notes, .waits = &waits});
  if (!workload) return tl::make_unexpected(workload.error());
  for (const std::string& text : notes) note(fmt::format("{}: {}", options.sacct, text));
  if (workload->jobs.empty())
    return fail("{}: there is no job in it that could be replayed", options.sacct);
  auto cluster = load_cluster(options.cluster, Catalogue::builtin());
  if (!cluster) return tl::make_unexpected(cluster.error());
  if (const std::size_t all = workload->jobs.size(); options.drop_larger)
    note(fmt::format("{}: {} of {} jobs left out: too large for the cluster ({})", options.sacct,
                     drop_larger(*cluster, *workload, &waits), all, describe(*cluster)));
  if (auto ok = mark_by_rule(options.trials, *workload); !ok) return ok;

  const auto& policies = options.policies.empty() ? kForAccounting : options.policies;
  Replay replay{std::move(*cluster), std::move(*workload), network, {}, {}};
  if (auto ok = replay.prepare(policies, options.settings); !ok) return ok;
  if (waits.empty())
    note(fmt::format("{}: has no column Start, so what was recorded cannot be shown",
                     options.sacct));
  else
    replay.outcomes.push_back(recorded(replay.workload, waits));
  if (auto ok = replay.try_all(policies, options.settings, options.settings); !ok) return ok;
  if (auto ok = replay.show(options.json()); !ok || options.json()) return ok;
  recommend_for_slurm(options, replay);
  return {};
}

/// What was recorded is of jobs that are done; what is replayed is of all that ran.
void note_other_jobs(std::size_t recorded, std::size_t replayed) {
  if (recorded == replayed) return;
  note(fmt::format(
      "the row `{}` is of the jobs that were done ({}), and the others are of all that "
      "ran ({}): those that failed or were cancelled are replayed for as long as they ran",
      kRecorded, recorded, replayed));
}

/// Without --policy: two that are worth a comparison.
std::string others_to_compare(const std::string& now) {
  std::string line;
  for (const char* policy : {"trainyard", "fifo-easy", "fitgpp"})
    if (policy != now && line.find(',') == std::string::npos)
      line += (line.empty() ? "" : ",") + std::string(policy);
  return "trainyard whatif --policy " + line;
}

/// The least that the simulator is off. The daemon does not record under which policy a job ran, so
/// that it was one of those that are simulated is assumed.
double least_error(const Replay& replay) {
  double least = std::numeric_limits<double>::infinity();
  for (std::size_t i = 1; i < replay.outcomes.size(); ++i)
    least = std::min(least, error_of(replay.outcomes[0], replay.outcomes[i]).value_or(least));
  return std::isfinite(least) ? least : 0;
}

/// What to type next, by what was found out: a policy that is better than the present one, on the
/// jobs that both finished, by more than the simulator is off.
void recommend(const WhatifOptions& options, const Replay& replay, const Candidate& present) {
  if (replay.candidates.empty()) return hint(options, others_to_compare(present.policy));
  const Candidate& best = replay.best();
  const Outcome& now = replay.outcomes[present.outcome];
  const double gain = gain_of(now, replay.outcomes[best.outcome]).value_or(0);
  const bool is_elsewhere = !options.cluster.empty();  // no policy is set for other machines
  const double error = is_elsewhere ? 0 : least_error(replay);
  if (gain > error && !is_elsewhere)
    return hint(options, "trainyard policy set" + best.as_options(" "));
  if (gain <= 0)
    note(fmt::format("none of them has a shorter mean JCT than {}, which decides now",
                     present.policy));
  else if (gain <= error)
    note_too_close(gain, present.policy, error);
  hint(options, "trainyard policies");
}

/// The daemon's jobs, on its machines unless others are named.
Expected<void> replay_history(const WhatifOptions& options, const NetworkOptions& network) {
  auto client = Client::open(options.client);
  if (!client) return tl::make_unexpected(client.error());
  auto workload = history(*client);
  if (!workload) return tl::make_unexpected(workload.error());
  auto cluster = options.cluster.empty() ? present_cluster(*client)
                                         : load_cluster(options.cluster, Catalogue::builtin());
  if (!cluster) return tl::make_unexpected(cluster.error());
  Replay replay{std::move(*cluster), std::move(*workload), network, {}, {}};
  const auto present = client->get("/v1/policy");
  if (!present) return tl::make_unexpected(present.error());

  auto real = recorded(*client);
  if (!real) return tl::make_unexpected(real.error());
  replay.outcomes.push_back(std::move(*real));
  const std::string now = present->at("policy");
  const std::vector<std::string> set = present->at("settings");
  if (auto ok = replay.prepare(joined(options.policies, {now}), options.settings); !ok) return ok;
  if (auto ok = replay.simulate(now, now + " (now), simulated", set); !ok) return ok;
  const Candidate decides{now, set, replay.outcomes.size() - 1};
  if (options.policies.empty() && !options.settings.empty()) {
    const auto all = joined(set, options.settings);
    const std::string name = fmt::format("{} with {}", now, fmt::join(options.settings, " "));
    if (auto ok = replay.try_out(now, name, all, all); !ok) return ok;
  }
  if (auto ok = replay.try_all(options.policies, joined(shared_settings(set), options.settings),
                               options.settings);
      !ok)
    return ok;
  if (auto ok = replay.show(options.json()); !ok || options.json()) return ok;
  note_other_jobs(replay.outcomes[0].jobs, replay.workload.jobs.size());
  recommend(options, replay, decides);
  return {};
}

Expected<void> whatif(const WhatifOptions& options) {
  const auto network = parse_network(options.network);
  if (!network) return tl::make_unexpected(network.error());
  if (options.sacct.empty() && (options.drop_larger || !options.trials.below.empty()))
    return fail(
        "--trial-below and --drop-larger are for --sacct: the daemon's own jobs have classes, "
        "and fit");
  return options.sacct.empty() ? replay_history(options, *network)
                               : replay_accounting(options, *network);
}

}  // namespace

void add_whatif_command(Command& program) {
  const auto options = std::make_shared<WhatifOptions>();
  Command& command =
      add_daemon_command(program, "whatif",
                         "Replays the jobs that were done, here or at a Slurm site, in the "
                         "simulator, under other policies or on another cluster.",
                         "trainyard whatif --policy srtf,fifo\n"
                         "trainyard whatif --set yard.min_run=5m       # the present policy, with "
                         "and without it\n"
                         "trainyard whatif --sacct jobs.txt --cluster 16x8xA100 --trial-below 1h\n"
                         "trainyard whatif --policy fitgpp --cluster 4x8xV100 --json",
                         *options);
  command.option("--policy", &options->policies,
                 "presets or lines, with commas between; without it, --set is tried on the present "
                 "policy",
                 {.type = "POLICY,...", .separator = ','});
  add_set_option(command, options->settings);
  command.option("--cluster", &options->cluster,
                 "a file or a short description [the daemon's machines]");
  command.option("--sacct", &options->sacct,
                 "replay what `sacct --parsable2` printed instead of the daemon's jobs; - is "
                 "standard input. Without --policy: under fifo-easy and trainyard",
                 {.type = "FILE"});
  add_trial_rule_options(command, options->trials);
  command.flag("--drop-larger", &options->drop_larger,
               "leave out jobs of --sacct that the cluster could never run");
  add_network_option(command, options->network);
  command.action = [options] { return whatif(*options); };
}

}  // namespace trainyard::cli
