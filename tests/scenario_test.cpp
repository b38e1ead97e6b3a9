// Every file of tests/scenarios/: a cluster, a policy, a few jobs and faults, and the timeline that
// was worked out by hand (the arithmetic is in the file's comment). Times are in seconds.
//
//   policy = "order=fifo"            # as for --policy
//   settings = ["yard.min_run=0"]    # as for --set
//   cluster = "1x2xV100"             # or the text of a cluster file; kinds as in kind_speeds.h
//   [[job]]                          # gpus, cpus and memory are those of one worker
//   name = "A"
//   submit = 0
//   duration = 100                   # estimate, load, grace, save, checkpoint_interval, ...
//   constraint = "ib"                # features of its machines; share = true: CPUs and memory by
//                                    # the machine's share for its GPUs
//   expect = { start = 0, finish = 100, pauses = 0, on = ["r0m0"] }   # of the first start
//   [[fault]]
//   at = 60
//   machine = "r0m0"
//   up = false
//
// A mistake that was found somewhere becomes a file here.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <map>
#include <optional>
#include <set>

#include "base/toml.h"
#include "reference_simulator.h"
#include "sim/simulation.h"
#include "testing.h"

namespace trainyard {
namespace {

const std::filesystem::path kFolder = "tests/scenarios";

struct Expectation {
  reference::Outcome outcome;
  std::set<std::string> on;  // empty: wherever
};

struct Scenario {
  PolicySpec policy;
  Cluster cluster;
  Workload workload;
  std::vector<Fault> faults;
  std::vector<Event> revisions;
  std::vector<Expectation> expected;  // by job
};

[[noreturn]] void refuse(const std::string& what) {
  throw std::runtime_error(what);
}

/// The fields of a table, each of which must be taken.
class Fields {
 public:
  explicit Fields(const toml::table& table) : table_(table) {
    for (const auto& field : table) unread_.insert(std::string(field.first.str()));
  }

  const toml::node* find(const std::string& key) { return unread_.erase(key), table_.get(key); }

  template <class T>
  T get(const std::string& key, T fallback) {
    const toml::node* node = find(key);
    if (node == nullptr) return fallback;
    const auto value = node->value<T>();
    if (!value) refuse(key + ": a value of another type is wanted");
    return *value;
  }

  Duration seconds(const std::string& key, Duration fallback = {}) {
    return Duration{std::llround(get<double>(key, fallback.seconds()) * 1e6)};
  }

  void finish() const {
    if (!unread_.empty()) refuse("unknown field " + trainyard::quoted(*unread_.begin()));
  }

 private:
  const toml::table& table_;
  std::set<std::string> unread_;
};

Expectation read_expectation(const toml::node* node) {
  if (node == nullptr || !node->is_table()) refuse("a job needs expect = { start, finish }");
  Fields fields(*node->as_table());
  Expectation expected;
  expected.outcome.start = Time{} + fields.seconds("start", seconds(-1));
  expected.outcome.finish = Time{} + fields.seconds("finish", seconds(-1));
  expected.outcome.pauses = fields.get<std::int64_t>("pauses", 0);
  if (const toml::node* on = fields.find("on"))
    for (const toml::node& machine : *on->as_array())
      expected.on.insert(*machine.value<std::string>());
  fields.finish();
  return expected;
}

void read_job(const toml::table& table, Scenario& scenario) {
  Fields fields(table);
  Workload& workload = scenario.workload;
  Job job;
  workload.names.push_back(fields.get<std::string>("name", "?"));
  job.submit = Time{} + fields.seconds("submit");
  job.duration = fields.seconds("duration");
  job.estimate = fields.seconds("estimate", job.duration);
  job.grace = fields.seconds("grace");
  job.save = fields.seconds("save");
  job.load = fields.seconds("load");
  job.checkpoint_interval = fields.seconds("checkpoint_interval");
  job.checkpoint_cost = fields.seconds("checkpoint_cost");
  job.workers = static_cast<std::int32_t>(fields.get<std::int64_t>("workers", 1));
  job.min_workers = static_cast<std::int32_t>(fields.get<std::int64_t>("min_workers", job.workers));
  job.max_workers = static_cast<std::int32_t>(fields.get<std::int64_t>("max_workers", job.workers));
  job.per_worker.gpus = static_cast<std::int32_t>(fields.get<std::int64_t>("gpus", 1));
  job.per_worker.milli_cpus = static_cast<std::int32_t>(fields.get<std::int64_t>("cpus", 0)) * 1000;
  job.per_worker.memory_mib = unwrap(parse_memory(fields.get<std::string>("memory", "0")));
  const auto read_kind = [&](const char* key, KindId& kind) {
    if (const std::string name = fields.get<std::string>(key, ""); !name.empty())
      kind = KindId{static_cast<std::uint16_t>(workload.kinds.add(name))};
  };
  MachineTerms terms;
  terms.shares_cpus = terms.shares_memory = fields.get<bool>("share", false);
  if (const std::string text = fields.get<std::string>("constraint", ""); !text.empty())
    terms.constraint = unwrap(parse_constraint(text));
  if (terms != MachineTerms{}) job.terms = workload.terms.add(terms);
  read_kind("kind", job.kind);
  read_kind("measured_on", job.measured_on);
  if (const std::string model = fields.get<std::string>("model", ""); !model.empty())
    job.model = ModelId{static_cast<std::uint16_t>(workload.models.add(model))};
  if (fields.get<std::string>("class", "batch") == "trial") job.job_class = JobClass::trial;
  scenario.expected.push_back(read_expectation(fields.find("expect")));
  fields.finish();
  workload.jobs.push_back(job);
}

void read_fault(const toml::table& table, Scenario& scenario) {
  Fields fields(table);
  const Time at = Time{} + fields.seconds("at");
  const auto name = fields.get<std::string>("machine", "");
  const bool up = fields.get<bool>("up", false);
  const double speed = fields.get<double>("speed", 0);
  fields.finish();
  const auto& machines = scenario.cluster.machines;
  const auto found = std::find_if(machines.begin(), machines.end(),
                                  [&](const Machine& machine) { return machine.name == name; });
  if (found == machines.end()) refuse("there is no machine " + trainyard::quoted(name));
  Fault fault{at, MachineId{static_cast<std::uint32_t>(found - machines.begin())}, up};
  if (speed > 0) fault.speed = speed;
  scenario.faults.push_back(fault);
}

void read_revision(const toml::table& table, Scenario& scenario) {
  Fields fields(table);
  const Time at = Time{} + fields.seconds("at");
  const auto name = fields.get<std::string>("job", "");
  const Duration estimate = fields.seconds("estimate");
  fields.finish();
  const auto& names = scenario.workload.names;
  const auto found = std::find(names.begin(), names.end(), name);
  if (found == names.end()) refuse("there is no job " + trainyard::quoted(name));
  const JobId job{static_cast<std::uint32_t>(found - names.begin())};
  scenario.revisions.push_back(Event::estimate_of(at, job, {.work = estimate}));
}

Scenario read_scenario(const std::string& file) {
  const toml::parse_result parsed = toml::parse_file(file);
  if (!parsed) refuse(std::string(parsed.error().description()));
  Fields fields(parsed.table());
  Scenario scenario;
  std::vector<std::string> settings;
  if (const toml::node* node = fields.find("settings"))
    for (const toml::node& setting : *node->as_array())
      settings.push_back(*setting.value<std::string>());
  scenario.policy = unwrap(PolicySpec::parse(fields.get<std::string>("policy", ""), settings));
  const auto cluster = fields.get<std::string>("cluster", "");
  scenario.cluster =
      unwrap(cluster.find('\n') == std::string::npos ? parse_cluster_shorthand(cluster)
                                                     : parse_cluster_toml(cluster, file));
  const auto each_table = [&](const char* key, auto read) {
    const toml::node* node = fields.find(key);
    if (node == nullptr) return;
    for (const toml::node& item : *node->as_array()) read(*item.as_table(), scenario);
  };
  each_table("job", read_job);
  each_table("fault", read_fault);
  each_table("revision", read_revision);
  fields.finish();
  if (auto ok = check_fits(scenario.workload, scenario.cluster); !ok) refuse(ok.error().message);
  return scenario;
}

/// A market for open jobs has nothing to do where none is open.
bool is_left_to_the_stages(const Scenario& scenario) {
  if (scenario.policy.decides_jointly()) return false;
  return scenario.policy.member("joint") == "none" ||
         std::ranges::none_of(scenario.workload.jobs, [](const Job& job) {
           return job.min_workers != job.max_workers || job.measured_on != kAnyKind;
         });
}

/// Where each job first started.
class FirstPlaces : public YardListener {
 public:
  explicit FirstPlaces(const Yard& yard) : yard_(yard) {}
  void on_phase(JobId job, Phase /*from*/, Phase to) override {
    if (to != Phase::starting || places_.contains(job)) return;
    for (const Share& share : yard_.placement(job))
      places_[job].insert(yard_.cluster().machine(share.machine).name);
  }
  [[nodiscard]] const std::set<std::string>& of(JobId job) { return places_[job]; }

 private:
  const Yard& yard_;
  std::map<JobId, std::set<std::string>> places_;
};

std::string row(const std::string& name, const reference::Outcome& outcome,
                const std::set<std::string>& on) {
  return fmt::format("  {:<6} {:>12} {:>12} {:>6}  {}\n", name, outcome.start.seconds(),
                     outcome.finish.seconds(), outcome.pauses, fmt::join(on, " "));
}

void expect_timeline(const Scenario& scenario, const std::vector<reference::Outcome>& found,
                     FirstPlaces* places) {
  std::string wanted_rows, found_rows;
  for (std::size_t j = 0; j < scenario.expected.size(); ++j) {
    const JobId job{static_cast<std::uint32_t>(j)};
    const Expectation& wanted = scenario.expected[j];
    const bool anywhere = wanted.on.empty() || places == nullptr;
    const std::set<std::string> nowhere;
    wanted_rows +=
        row(scenario.workload.job_name(job), wanted.outcome, anywhere ? nowhere : wanted.on);
    found_rows +=
        row(scenario.workload.job_name(job), found[j], anywhere ? nowhere : places->of(job));
  }
  const std::string head =
      fmt::format("  {:<6} {:>12} {:>12} {:>6}  {}\n", "job", "start", "finish", "pauses", "on");
  EXPECT_EQ(wanted_rows, found_rows) << "expected:\n"
                                     << head << wanted_rows << "found:\n"
                                     << head << found_rows;
}

class Scenarios : public testing::TestWithParam<std::string> {};

TEST_P(Scenarios, RunsAsComputedByHand) {
  const Scenario scenario = read_scenario((kFolder / (GetParam() + ".toml")).string());
  const PolicySpec& spec = scenario.policy;
  Simulation simulation(scenario.cluster, scenario.workload, spec,
                        {.seed = 1,
                         .faults = scenario.faults,
                         .models = &kinds_alone(),
                         .revisions = scenario.revisions});
  FirstPlaces places(simulation.yard());
  simulation.listen(places);
  simulation.run();
  std::vector<reference::Outcome> found;
  for (std::size_t j = 0; j < scenario.workload.jobs.size(); ++j) {
    const JobState& state = simulation.yard().state(JobId{static_cast<std::uint32_t>(j)});
    found.push_back({state.first_start, state.end(), state.pauses});
  }
  expect_timeline(scenario, found, &places);
  EXPECT_EQ(simulation.refused(), 0u);
}

TEST_P(Scenarios, RunsAsComputedByHandInTheReference) {
  const Scenario scenario = read_scenario((kFolder / (GetParam() + ".toml")).string());
  const PolicySpec& spec = scenario.policy;
  if (spec.member("preempt") == "random") GTEST_SKIP() << "the reference does not draw lots";
  if (!is_left_to_the_stages(scenario)) GTEST_SKIP() << "the reference has no joint policies";
  if (const std::string by = spec.params("queue").choice("estimates");
      by != "declared" && by != "residual")
    GTEST_SKIP() << "the reference goes by what jobs declare, or by residual estimates";
  const auto jobs = static_cast<std::int64_t>(scenario.workload.jobs.size());
  if (spec.member("backfill") == "easy" && spec.params("backfill").whole("depth") < jobs)
    GTEST_SKIP() << "the reference looks at all jobs";
  expect_timeline(scenario,
                  reference::simulate(
                      {scenario.cluster, scenario.workload, scenario.faults, scenario.revisions},
                      reference::settings_of(spec)),
                  nullptr);
}

std::vector<std::string> scenario_names() {
  std::vector<std::string> names;
  std::error_code absent;
  for (const auto& entry : std::filesystem::directory_iterator(kFolder, absent))
    if (entry.path().extension() == ".toml") names.push_back(entry.path().stem().string());
  std::sort(names.begin(), names.end());
  return names;
}

TEST(ScenarioFiles, AreFound) {
  EXPECT_GE(scenario_names().size(), 25u) << "the tests run in the root of the project";
}

GTEST_ALLOW_UNINSTANTIATED_PARAMETERIZED_TEST(Scenarios);
INSTANTIATE_TEST_SUITE_P(File, Scenarios, testing::ValuesIn(scenario_names()),
                         [](const auto& file) { return file.param; });

}  // namespace
}  // namespace trainyard
