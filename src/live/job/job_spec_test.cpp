#include "live/job/job_spec.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <rapidcheck/gtest.h>
#include <csignal>
#include <nlohmann/json.hpp>

namespace trainyard {
namespace {

using nlohmann::json;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;

std::string spec_problem(const std::string& text) {
  const auto spec = parse_job_spec(text);
  return spec ? "" : spec.error().message;
}

/// A job of which only these fields are given beside the command.
std::string problem_of(const json& fields) {
  json job{{"command", {"true"}}};
  job.update(fields);
  return spec_problem(job.dump());
}

TEST(JobSpec, WhatIsNotGivenHasDefaults) {
  const auto spec = parse_job_spec(R"({"command": ["/usr/bin/python3", "train.py"]})");
  ASSERT_TRUE(spec) << spec.error().message;
  EXPECT_EQ(spec->name, "python3");
  EXPECT_THAT(spec->command, ElementsAre("/usr/bin/python3", "train.py"));
  EXPECT_EQ(spec->workers, 1);
  EXPECT_EQ(spec->per_worker, (Resources{.gpus = 1}));
  EXPECT_EQ(spec->grace, seconds(30));
  EXPECT_EQ(spec->job_class, JobClass::batch);
  EXPECT_EQ(spec->signal, StopSignal{});
}

TEST(JobSpec, AllFieldsAreRead) {
  const auto spec = parse_job_spec(R"({
    "name": "resnet", "script": "#!/bin/sh\nexec \"$@\"\n", "command": ["a", ""],
    "directory": "/home/ada", "environment": {"PATH": "/bin", "_X1": ""}, "class": "trial",
    "workers": 4, "gpus": 2, "cpus": 1.5, "memory": "64GiB", "time": "1h30m", "grace": 90,
    "signal": "B:USR1@60", "model": "ResNet-50", "after": [3, 7], "exclusive": true,
    "constraint": "a100|h100", "gpu_kind": "A100-SXM4-80GB", "array": "0-9%2", "output": "%j.out", "error": "/dev/null",
    "open_mode": "append"})");
  ASSERT_TRUE(spec) << spec.error().message;
  EXPECT_EQ(spec->name, "resnet");
  EXPECT_EQ(spec->per_worker, (Resources{.gpus = 2, .milli_cpus = 1500, .memory_mib = 65536}));
  EXPECT_EQ(spec->time, minutes(90));
  EXPECT_EQ(spec->grace, seconds(90));
  EXPECT_EQ(spec->signal.number, SIGUSR1);
  EXPECT_TRUE(spec->signal.leader_only);
  EXPECT_THAT(spec->after, ElementsAre(3, 7));
  EXPECT_EQ(spec->environment.at("_X1"), "");
  const auto again = job_spec_from_json(to_json(*spec));
  ASSERT_TRUE(again) << again.error().message;
  EXPECT_EQ(*again, *spec);
}

TEST(JobSpec, TheNumberOfWorkersMayBeARange) {
  const auto elastic = parse_job_spec(
      R"({"command": ["x"], "workers": "2..8", "measured_on": "V100", "time": "1h"})");
  ASSERT_TRUE(elastic) << elastic.error().message;
  EXPECT_EQ(elastic->sizes(), (WorkerRange{2, 8}));
  EXPECT_EQ(elastic->measured_on, "V100");
  EXPECT_EQ(to_json(*elastic).at("workers"), "2..8");
  EXPECT_EQ(*job_spec_from_json(to_json(*elastic)), *elastic);
  const auto rigid = parse_job_spec(R"({"command": ["x"], "workers": "4"})");
  ASSERT_TRUE(rigid) << rigid.error().message;
  EXPECT_EQ(*rigid, *parse_job_spec(R"({"command": ["x"], "workers": 4})"));
  JobSpec later = *elastic;
  ASSERT_TRUE(set_job_field(later, "workers", 3));
  EXPECT_EQ(later.sizes(), (WorkerRange{3, 3}));
}

TEST(JobSpec, WhatIsWrongIsNamed) {
  EXPECT_THAT(spec_problem("{"), HasSubstr("not JSON: byte 2 of 1"));
  EXPECT_THAT(spec_problem("[]"), HasSubstr("a JSON object"));
  EXPECT_THAT(spec_problem("{}"), HasSubstr("nothing to run"));
  EXPECT_THAT(spec_problem(R"({"command": [""]})"), HasSubstr("nothing to run"));
  EXPECT_THAT(problem_of({{"gpu", 1}}), HasSubstr("unknown field 'gpu', did you mean 'gpus'?"));
  EXPECT_THAT(problem_of({{"workers", 0}}), HasSubstr("workers: '0' is not a whole number from 1"));
  EXPECT_THAT(problem_of({{"workers", "8..2"}}),
              HasSubstr("workers: '8..2' ends before it begins; write 2..8"));
  EXPECT_THAT(problem_of({{"workers", "2-8"}}),
              HasSubstr("workers: '2-8' is neither a whole number from 1 to 4096 nor a range"));
  EXPECT_THAT(problem_of({{"workers", "2..8"}, {"exclusive", true}}),
              HasSubstr("workers: 2..8 is a range, and a job that takes the whole machine"));
  EXPECT_THAT(problem_of({{"workers", 1.5}}), HasSubstr("workers: '1.5' is not a whole number"));
  EXPECT_THAT(problem_of({{"gpus", 0}}), HasSubstr("gpus: '0'"));
  EXPECT_THAT(problem_of({{"gpus", 1025}}), HasSubstr("from 1 to 1024"));
  EXPECT_THAT(problem_of({{"gpus", UINT64_MAX}}), HasSubstr("from 1 to 1024"));
  EXPECT_THAT(problem_of({{"cpus", -1}}), HasSubstr("cpus: "));
  EXPECT_THAT(problem_of({{"memory", "much"}}), HasSubstr("memory: "));
  EXPECT_THAT(problem_of({{"time", "1x"}}), HasSubstr("time: '1x' is not a time"));
  EXPECT_THAT(problem_of({{"time", -1}}), HasSubstr("time: "));
  EXPECT_THAT(problem_of({{"time", nullptr}}), HasSubstr("time: 'null' is neither a duration"));
  EXPECT_THAT(problem_of({{"grace", "2h"}}), HasSubstr("grace: '2h' is longer than 1h"));
  EXPECT_THAT(problem_of({{"class", "Batch"}}), HasSubstr("class: 'Batch' is neither"));
  EXPECT_THAT(problem_of({{"directory", "home"}}), HasSubstr("directory: 'home' does not begin"));
  EXPECT_THAT(problem_of({{"script", "echo"}}), HasSubstr("script: its first line"));
  EXPECT_THAT(problem_of({{"exclusive", "yes"}}), HasSubstr("exclusive: 'yes' is neither"));
  EXPECT_THAT(problem_of({{"open_mode", "a"}}), HasSubstr("open_mode: 'a' is neither append"));
  EXPECT_THAT(problem_of({{"output", "a\nb"}}), HasSubstr("output: "));
  EXPECT_THAT(problem_of({{"array", "5-1"}}), HasSubstr("array: '5-1': ends before it begins"));
  EXPECT_THAT(problem_of({{"constraint", "a*2"}}), HasSubstr("constraint: 'a*2' is not"));
  EXPECT_THAT(problem_of({{"gpu_kind", "a|b"}}), HasSubstr("gpu_kind: 'a|b' is not a kind of GPU"));
  EXPECT_THAT(problem_of({{"gpu_kind", "a b"}}), HasSubstr("gpu_kind: 'a b' is not"));
  EXPECT_THAT(problem_of({{"gpu_kind", 100}}), HasSubstr("gpu_kind: '100' is not a text"));
  EXPECT_THAT(problem_of({{"after", {0}}}), HasSubstr("after: '0' is not"));
  EXPECT_THAT(problem_of({{"after", 3}}), HasSubstr("after: is not a list"));
  EXPECT_THAT(problem_of({{"command", "true"}}), HasSubstr("command: 'true' is not a list"));
  EXPECT_THAT(problem_of({{"command", {"a", 1}}}), HasSubstr("command: word 1: '1' is not a text"));
  EXPECT_THAT(problem_of({{"name", "a\nb"}}), HasSubstr("name: "));
  EXPECT_THAT(problem_of({{"environment", {{"1X", ""}}}}), HasSubstr("'1X' is not a name"));
  EXPECT_THAT(problem_of({{"environment", {{"A=B", ""}}}}), HasSubstr("'A=B' is not a name"));
  EXPECT_THAT(problem_of({{"environment", {{"", ""}}}}), HasSubstr("is not a name"));
}

TEST(JobSpec, NulBytesAreRefusedWhereverTheyStand) {
  const std::string nul("a\0b", 3);
  for (const json& fields :
       {json{{"name", nul}}, json{{"model", nul}}, json{{"signal", nul}},
        json{{"directory", "/" + nul}}, json{{"script", "#!" + nul}}, json{{"command", {nul}}},
        json{{"environment", {{"A", nul}}}}, json{{"environment", {{nul, "a"}}}}})
    EXPECT_NE(problem_of(fields), "") << fields;
}

TEST(JobSpec, SizesAreBounded) {
  const auto text = [](std::size_t size) { return std::string(size, 'x'); };
  EXPECT_EQ(problem_of({{"name", text(256)}}), "");
  EXPECT_THAT(problem_of({{"name", text(257)}}), HasSubstr("name: 257 bytes"));
  EXPECT_EQ(problem_of({{"script", "#!" + text((1 << 20) - 2)}}), "");
  EXPECT_THAT(problem_of({{"script", "#!" + text(1 << 20)}}), HasSubstr("script: "));
  EXPECT_EQ(problem_of({{"command", {text((128 << 10) - 1)}}}), "");
  EXPECT_THAT(problem_of({{"command", {text(128 << 10)}}}), HasSubstr("command: word 0"));
  EXPECT_THAT(problem_of({{"command", std::vector(9, text(120'000))}}), HasSubstr("command: is"));
  json variables = json::object();
  for (int i = 0; i < 8; ++i) variables["V" + std::to_string(i)] = text((128 << 10) - 4);
  EXPECT_EQ(problem_of({{"environment", variables}}), "");
  variables["ONE_MORE"] = "";
  EXPECT_THAT(problem_of({{"environment", variables}}), HasSubstr("environment: is larger"));
  EXPECT_THAT(problem_of({{"environment", {{"A", text((128 << 10) - 2)}}}}), HasSubstr("'A': "));
  EXPECT_THAT(problem_of({{"directory", "/" + text(4095)}}), HasSubstr("directory: "));
  EXPECT_EQ(problem_of({{"after", std::vector(64, 1)}}), "");
  EXPECT_THAT(problem_of({{"after", std::vector(65, 1)}}), HasSubstr("after: "));
}

TEST(JobSpec, WhatIsDeepOrHugeIsRefused) {
  const std::string deep = std::string(100'000, '[') + std::string(100'000, ']');
  EXPECT_THAT(spec_problem("{\"command\":[\"x\"],\"gpus\":" + deep + "}"),
              HasSubstr("one too many"));
  json value = 1;
  for (int i = 0; i < 100'000; ++i) {
    json around = json::array();
    around.push_back(std::move(value));
    value = std::move(around);
  }
  JobSpec spec;
  EXPECT_EQ(set_job_field(spec, "gpus", value).error().message,
            "gpus: a list is not a whole number from 1 to 1024");
  EXPECT_THAT(problem_of({{"name", json::object()}}), HasSubstr("name: an object is not a text"));
  EXPECT_THAT(spec_problem(R"({"command": ["x"], "cpus": 1e999})"), HasSubstr("1e999"));
  EXPECT_THAT(problem_of({{"gpus" + std::string(60, 's'), 1}}), HasSubstr("unknown field"));
  EXPECT_THAT(problem_of({{std::string(65, 'x') + "gpus", 1}}), Not(HasSubstr("did you mean")));
}

TEST(JobSpec, ANameIsMadeWhereNoneIsGiven) {
  EXPECT_EQ(parse_job_spec(R"({"command": ["/opt/"]})")->name, "job");
  EXPECT_EQ(parse_job_spec(R"({"command": ["a\tb"]})")->name, "job");
  EXPECT_EQ(parse_job_spec(R"({"command": ["a\u202eb"]})")->name, "job");
  EXPECT_EQ(parse_job_spec(R"({"script": "#!/bin/sh"})")->name, "script");
  EXPECT_EQ(parse_job_spec(R"({"command": ["x"], "name": ""})")->name, "");
}

RC_GTEST_PROP(JobSpec, IsReadBackAsItWasWritten, ()) {
  JobSpec spec;
  spec.name = *rc::gen::string<std::string>();
  spec.name.erase(std::remove_if(spec.name.begin(), spec.name.end(),
                                 [](char c) { return c < 0x20 || c == 0x7f; }),
                  spec.name.end());
  spec.command = *rc::gen::container<std::vector<std::string>>(rc::gen::elementOf(
      std::vector<std::string>{"", "a", "--x=1", "\n", "\xc3\xa9", "\"quoted\""}));
  spec.command.insert(spec.command.begin(), "run");
  spec.job_class = *rc::gen::element(JobClass::trial, JobClass::batch);
  spec.workers = *rc::gen::inRange(1, 4097);
  if (*rc::gen::arbitrary<bool>() && spec.workers < 4096)
    spec.max_workers = *rc::gen::inRange(spec.workers + 1, 4097);
  spec.measured_on = *rc::gen::element<std::string>("", "V100", "RTX 2080 Ti");
  spec.per_worker = {*rc::gen::inRange(1, 65), *rc::gen::inRange(0, 1'000'000),
                     *rc::gen::inRange(0, 100'000'000)};
  spec.time = {*rc::gen::inRange<std::int64_t>(0, days(36'500).us)};
  spec.grace = {*rc::gen::inRange<std::int64_t>(0, hours(1).us)};
  spec.signal = {*rc::gen::element(SIGUSR1, SIGTERM, 0, 40), false, {}};
  if (spec.signal.number != 0) {
    spec.signal.leader_only = *rc::gen::arbitrary<bool>();
    spec.signal.ahead = seconds(*rc::gen::inRange(0, 1000));
  }
  const auto again = parse_job_spec(to_json(spec).dump());
  RC_ASSERT(again.has_value());
  RC_ASSERT(*again == spec);
}

TEST(TimeLimit, IsReadInAllItsForms) {
  EXPECT_EQ(*parse_time_limit("90"), minutes(90));
  EXPECT_EQ(*parse_time_limit("5:30"), minutes(5) + seconds(30));
  EXPECT_EQ(*parse_time_limit("02:00:00"), hours(2));
  EXPECT_EQ(*parse_time_limit("1-6"), days(1) + hours(6));
  EXPECT_EQ(*parse_time_limit("1-6:30"), days(1) + hours(6) + minutes(30));
  EXPECT_EQ(*parse_time_limit("2-00:00:01"), days(2) + seconds(1));
  EXPECT_EQ(*parse_time_limit("90s"), seconds(90));
  EXPECT_EQ(*parse_time_limit("2h"), hours(2));
  EXPECT_EQ(*parse_time_limit("1d12h"), days(1) + hours(12));
  EXPECT_EQ(*parse_time_limit("1.5h"), minutes(90));
  for (const char* text : {"0", "0:00", "0s", "UNLIMITED", "INFINITE"})
    EXPECT_EQ(*parse_time_limit(text), Duration{}) << text;
  for (const char* text : {"", "-", "-1", "1-", "a", "1:", ":1", "1-2-3", "1:2:3:4", "1.5", "1h30",
                           "1-1:2:3:4", "1-2h", "2h:30", "99999999999999999999", "+1", "1 "})
    EXPECT_FALSE(parse_time_limit(text)) << text;
  EXPECT_THAT(parse_time_limit("1h30").error().message, HasSubstr("'1h30' is not a time; write"));
}

TEST(StopSignal, IsReadAsSbatchReadsIt) {
  EXPECT_EQ(*parse_stop_signal("USR1@90"), (StopSignal{SIGUSR1, false, seconds(90)}));
  EXPECT_EQ(*parse_stop_signal("SIGUSR2"), (StopSignal{SIGUSR2, false, {}}));
  EXPECT_EQ(*parse_stop_signal("B:TERM"), (StopSignal{SIGTERM, true, {}}));
  EXPECT_EQ(*parse_stop_signal("B:10@0"), (StopSignal{SIGUSR1, true, {}}));
  for (int number = 1; number <= SIGRTMAX; ++number) {
    if (number == SIGKILL || number == SIGSTOP) continue;
    const StopSignal signal{number, number % 2 == 0, seconds(number % 3)};
    const auto again = parse_stop_signal(format(signal));
    ASSERT_TRUE(again) << again.error().message;
    EXPECT_EQ(*again, signal);
  }
  EXPECT_EQ(format(StopSignal{}), "");
}

TEST(StopSignal, WhatIsNoneIsRefused) {
  for (const char* text : {"", "B:", "USR1@", "USR1@x", "USR1@-1", "USR1@1@2", "@90", "0", "65",
                           "1x", "USR3", "R:USR1", "usr1", " USR1", "KILL", "9", "SIGSTOP"})
    EXPECT_FALSE(parse_stop_signal(text)) << text;
  EXPECT_THAT(parse_stop_signal("USR").error().message, HasSubstr("did you mean 'USR1'?"));
  EXPECT_THAT(parse_stop_signal("KILL").error().message, HasSubstr("no program can act on"));
}

TEST(JobSpec, ItsSignalComesAheadOfItsLimit) {
  JobSpec spec;
  spec.time = hours(1);
  EXPECT_EQ(asked_after(spec), Duration{}) << "none was declared";
  spec.signal = *parse_stop_signal("USR1@90");
  EXPECT_EQ(asked_after(spec), hours(1) - seconds(90));
  spec.signal = *parse_stop_signal("B:USR1");
  EXPECT_EQ(asked_after(spec), minutes(59)) << "60 s, as sbatch has it";
  spec.time = {};
  EXPECT_EQ(asked_after(spec), Duration{}) << "there is no limit";
  spec.time = seconds(90);
  spec.signal = *parse_stop_signal("USR1@90");
  spec.grace = seconds(90);
  EXPECT_EQ(asked_after(spec), Duration{});
  EXPECT_THAT(warnings(spec),
              ElementsAre(HasSubstr("cannot come 1m 30s before a limit of 1m 30s")));
}

TEST(JobSpec, OnlyAScriptRunsOnce) {
  EXPECT_FALSE(parse_job_spec(R"({"command": ["true"], "runs_once": true})"));
  EXPECT_FALSE(parse_job_spec(R"({"script": "#!/bin/sh", "gpus_per_task": true})"));
  EXPECT_FALSE(parse_job_spec(R"({"script": "#!/bin/sh", "runs_once": 1})"));
  const auto spec =
      parse_job_spec(R"({"script": "#!/bin/sh", "runs_once": true, "gpus_per_task": true})");
  ASSERT_TRUE(spec) << spec.error().message;
  EXPECT_TRUE(spec->runs_once && spec->gpus_per_task);
  EXPECT_EQ(*parse_job_spec(to_json(*spec).dump()), *spec);
}

TEST(JobSpec, WarnsOfAScriptThatStartsNoTasks) {
  JobSpec spec;
  spec.runs_once = true;
  spec.workers = 4;
  spec.script = "#!/bin/bash\nsrun python3 train.py\n";
  EXPECT_THAT(warnings(spec), IsEmpty());
  spec.script = "#!/bin/bash\npython3 train.py\n";
  EXPECT_THAT(warnings(spec), ElementsAre(HasSubstr("no srun to start its 4 tasks")));
  spec.workers = 1;
  EXPECT_THAT(warnings(spec), IsEmpty());
}

TEST(JobSpec, WarnsOfAGraceThatIsTooShortForTheSignal) {
  JobSpec spec;
  spec.signal = *parse_stop_signal("USR1@90");
  EXPECT_THAT(warnings(spec), ElementsAre(HasSubstr("a grace of 30s is shorter than the 1m 30s")));
  spec.grace = seconds(90);
  EXPECT_THAT(warnings(spec), IsEmpty());
}

TEST(JobSpec, NamesThatAreNotVisibleAreReadAndNotSubmitted) {
  for (const char* field : {"name", "model", "measured_on", "output", "error"})
    for (const char* text : {"a\\u202eb", "a\\u009bb", "a\\u200bb", "a\\u2028b", "\\ufeff"}) {
      const std::string job = fmt::format(R"({{"command": ["x"], "{}": "{}"}})", field, text);
      EXPECT_TRUE(parse_job_spec(job)) << job;
      const auto submitted = parse_submission(job);
      ASSERT_FALSE(submitted) << job;
      EXPECT_THAT(submitted.error().message, testing::HasSubstr("that is not visible")) << job;
    }
  EXPECT_TRUE(parse_submission(R"({"command": ["x"], "name": "café 日本"})"));
}

}  // namespace
}  // namespace trainyard
