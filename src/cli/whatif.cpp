// trainyard whatif: the jobs that the daemon has run, replayed in the simulator under other
// policies, or on another cluster.
#include <algorithm>
#include <nlohmann/json.hpp>

#include "cli/answer_text.h"
#include "cli/client.h"
#include "cli/options.h"
#include "perf/catalogue_speed.h"
#include "sim/simulation.h"
#include "workload/read.h"

namespace trainyard::cli {
namespace {

using nlohmann::json;

struct WhatifOptions : AskOptions {
  std::vector<std::string> policies;
  std::vector<std::string> settings;
  std::string cluster;
  std::string network = "alone";
};

/// One line of the comparison.
struct Outcome {
  std::string name;
  std::size_t jobs = 0;
  double makespan_s = 0;
  Summary jct_s, wait_s;
  double trial_jct_s = 0, batch_jct_s = 0;
  std::uint64_t pauses = 0;
};

/// What really happened, from the daemon's own records.
Expected<Outcome> recorded(Client& client) {
  Outcome outcome;
  outcome.name = "recorded";
  std::vector<double> jct, wait, trial, batch;
  double first = 0, last = 0;
  std::int64_t before = 0;
  for (bool more = true; more;) {
    const auto page = client.get(fmt::format("/v1/jobs?state=done&limit=1000&before={}", before));
    if (!page) return tl::make_unexpected(page.error());
    for (const json& job : page->at("jobs")) {
      before = job.at("job");
      if (job.at("done_s").get<double>() <= 0) continue;
      const double submitted = job.at("submitted"), ended = job.at("ended");
      first = jct.empty() ? submitted : std::min(first, submitted);
      last = std::max(last, ended);
      jct.push_back(ended - submitted);
      wait.push_back(job.at("waited_s"));
      (job.at("class") == "trial" ? trial : batch).push_back(jct.back());
      outcome.pauses += job.at("pauses").get<std::uint64_t>();
    }
    more = page->at("more");
  }
  outcome.jobs = jct.size();
  outcome.makespan_s = last - first;
  outcome.jct_s = summarize(jct), outcome.wait_s = summarize(wait);
  outcome.trial_jct_s = summarize(trial).mean, outcome.batch_jct_s = summarize(batch).mean;
  return outcome;
}

Expected<Outcome> simulated(const std::string& name, const Cluster& cluster,
                            const Workload& workload, const PolicySpec& policy,
                            const NetworkOptions& network) {
  Simulation simulation(cluster, workload, policy, {.network = network});
  if (auto ok = check_flow_rules(simulation.policy().flow_rules(), network); !ok)
    return fail_at(name, ok.error());
  simulation.run();
  const Result r = simulation.result();
  return Outcome{name,         r.finished,         r.makespan_s,       r.all.jct_s,
                 r.all.wait_s, r.trial.jct_s.mean, r.batch.jct_s.mean, r.preemptions};
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
std::vector<std::string> shared_settings(const std::vector<std::string>& present,
                                         const WhatifOptions& options) {
  std::vector<std::string> settings;
  for (const std::string& setting : present)
    if (setting.starts_with("yard.") || setting.starts_with("queue.")) settings.push_back(setting);
  settings.insert(settings.end(), options.settings.begin(), options.settings.end());
  return settings;
}

Expected<void> whatif(const WhatifOptions& options) {
  const auto network = parse_network(options.network);
  if (!network) return tl::make_unexpected(network.error());
  auto client = Client::open(options.client);
  if (!client) return tl::make_unexpected(client.error());
  const auto workload = history(*client);
  if (!workload) return tl::make_unexpected(workload.error());
  const auto cluster =
      options.cluster.empty() ? present_cluster(*client) : read_cluster(options.cluster);
  if (!cluster) return tl::make_unexpected(cluster.error());
  if (auto ok = check_fits(*workload, *cluster); !ok) return ok;
  if (auto ok = check_measures(*workload, *cluster, Catalogue::builtin()); !ok) return ok;
  const auto present = client->get("/v1/policy");
  if (!present) return tl::make_unexpected(present.error());

  std::vector<Outcome> outcomes;
  auto real = recorded(*client);
  if (!real) return tl::make_unexpected(real.error());
  outcomes.push_back(std::move(*real));
  const std::string now = present->at("policy");
  const auto simulate = [&](const std::string& policy, const std::string& name,
                            const std::vector<std::string>& settings) -> Expected<void> {
    const auto spec = PolicySpec::parse(policy, settings);
    if (!spec) return tl::make_unexpected(spec.error());
    auto outcome = simulated(name, *cluster, *workload, *spec, *network);
    if (!outcome) return tl::make_unexpected(outcome.error());
    outcomes.push_back(std::move(*outcome));
    return {};
  };
  if (auto ok = simulate(now, now + " (now), simulated", present->at("settings")); !ok) return ok;
  const std::vector<std::string> settings = shared_settings(present->at("settings"), options);
  for (const std::string& policy : options.policies)
    if (auto ok = simulate(policy, policy + ", simulated", settings); !ok) return ok;
  if (auto ok = options.json ? print_json(to_json(outcomes)) : print(to_text(outcomes)); !ok)
    return ok;
  bool unfinished = false;
  for (std::size_t i = 1; i < outcomes.size(); ++i)
    unfinished =
        warn_of_unfinished(outcomes[i].name, outcomes[i].jobs, workload->jobs.size(), "") ||
        unfinished;
  if (unfinished) throw ExitWith{kJobsUnfinished};
  if (options.json) return {};
  hint(options,
       "trainyard policy set " + (options.policies.empty() ? "fitgpp" : options.policies[0]));
  return {};
}

}  // namespace

void add_whatif_command(Command& program) {
  const auto options = std::make_shared<WhatifOptions>();
  Command& command =
      add_daemon_command(program, "whatif",
                         "Replays the jobs that were done in the simulator, under other policies "
                         "or on another cluster.",
                         "trainyard whatif --policy srtf,fifo\n"
                         "trainyard whatif --policy fitgpp --cluster 4x8xV100 --json",
                         *options);
  command.option("--policy", &options->policies, "presets or lines, with commas between",
                 {.type = "POLICY,...", .separator = ','});
  add_set_option(command, options->settings);
  command.option("--cluster", &options->cluster,
                 "a file or a short description [the daemon's machines]");
  add_network_option(command, options->network);
  command.action = [options] { return whatif(*options); };
}

}  // namespace trainyard::cli
