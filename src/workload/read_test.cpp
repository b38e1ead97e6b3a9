// The samples of every format, recognition, and the real traces where they are at hand.
#include "workload/read.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <functional>

namespace trainyard {
namespace {

/// The repository's root, found from this file or, in another checkout, from the working directory.
std::filesystem::path root() {
  for (std::filesystem::path p : {std::filesystem::path(__FILE__), std::filesystem::current_path()})
    for (; p != p.root_path() && !p.empty(); p = p.parent_path())
      if (std::filesystem::exists(p / "examples" / "workloads")) return p;
  return ".";
}

struct Sample {
  const char* format;
  const char* file;
  std::size_t jobs;
  std::vector<std::string> notes;
  std::function<void(const Workload&)> check;
};

const std::vector<Sample>& samples() {
  static const std::vector<Sample> all{
      {"native",
       "native.csv",
       12,
       {},
       [](const Workload& w) {
         EXPECT_EQ(w.jobs[0].job_class, JobClass::trial);
         EXPECT_EQ(w.jobs[4].duration, seconds(22'500));  // 180000 x 0.125 s
         EXPECT_EQ(w.jobs[4].min_workers, 2);
         EXPECT_EQ(w.jobs[4].max_workers, 8);
         EXPECT_EQ(w.kinds[index(w.jobs[4].kind)], "V100");
         EXPECT_EQ(w.names[6], "pretrain, long");
         EXPECT_EQ(w.jobs[6].gpus(), 16);
         EXPECT_EQ(w.jobs[7].per_worker.milli_cpus, 500);
       }},
      {"philly-json",
       "philly.json",
       10,
       {"1 job left out: never started", "1 job left out: still running when the trace was taken"},
       [](const Workload& w) {
         EXPECT_EQ(w.names[0], "application_1000");
         EXPECT_EQ(w.jobs[0].estimate, w.jobs[0].duration);
       }},
      {"philly-csv",
       "philly.csv",
       14,
       {"1 job left out: ran for 0 seconds"},
       [](const Workload& w) { EXPECT_TRUE(w.names.empty()); }},
      {"helios",
       "helios.csv",
       13,
       {"1 job left out: asked for no GPU"},
       [](const Workload& w) {
         EXPECT_EQ(w.names[0], "70001");
         EXPECT_EQ(w.users[index(w.jobs[0].user)], "grace");
         EXPECT_EQ(w.jobs[0].duration, seconds(144));
         EXPECT_EQ(w.jobs[0].workers, 4);
         EXPECT_EQ(w.jobs[0].per_worker.milli_cpus, 2500);  // 10 CPUs for 4 workers
         EXPECT_EQ(w.jobs[1].submit, Time{} + seconds(548));
       }},
      {"pai2020",
       "pai2020.csv",
       10,
       {"1 job left out: never started", "1 job left out: still running when the trace was taken",
        "1 job left out: asked for no GPU"},
       [](const Workload& w) {
         EXPECT_EQ(w.names[0], "jobalpha");
         EXPECT_EQ(w.jobs[0].workers, 2);
         EXPECT_EQ(w.jobs[0].per_worker, (Resources{1, 6000, 30'000}));
         EXPECT_EQ(w.jobs[1].per_worker.gpus, 1);  // half a GPU
         EXPECT_EQ(w.jobs[2].workers, 4);
         EXPECT_EQ(w.jobs[2].per_worker.gpus, 2);
         EXPECT_EQ(w.jobs[3].workers, 4);  // a chief and three workers
         EXPECT_EQ(w.jobs[3].duration, seconds(3610));
       }},
      {"openb",
       "openb.csv",
       12,
       {"jobs that name several kinds of GPU and take any kind here: 1",
        "1 job left out: asked for no GPU", "1 job left out: never started"},
       [](const Workload& w) {
         EXPECT_EQ(w.jobs[0].duration, seconds(32'868 - 1385));
         EXPECT_EQ(w.jobs[0].per_worker, (Resources{1, 8000, 30'000}));
         EXPECT_EQ(w.kinds[index(w.jobs[2].kind)], "V100M16");
         EXPECT_EQ(w.jobs[0].job_class, JobClass::trial);  // LS
         EXPECT_EQ(w.jobs[2].job_class, JobClass::batch);  // BE
         EXPECT_EQ(w.jobs[3].job_class, JobClass::batch);  // Burstable
       }},
      {"tiresias",
       "tiresias.csv",
       12,
       {},
       [](const Workload& w) {
         EXPECT_EQ(w.jobs[1].submit, Time{} + seconds(59));  // 99 - 40
         EXPECT_EQ(w.jobs[0].iterations, 805U);
         EXPECT_EQ(w.models[index(w.jobs[2].model)], "inception3");
         EXPECT_EQ(w.jobs[2].workers, 8);
       }},
      {"swf",
       "swf.swf",
       9,
       {"1 job left out: never started", "1 job left out: ran for 0 seconds",
        "1 job left out: a part of a job that another line sums up (status 2 to 4)"},
       [](const Workload& w) {
         EXPECT_EQ(w.jobs[0].per_worker.memory_mib, 2049);  // 2097153 KiB, rounded up
         EXPECT_GE(w.jobs[0].estimate, w.jobs[0].duration);
       }},
      {"sacct",
       "sacct.txt",
       10,
       {"1 job left out: never started", "1 job left out: still running when the trace was taken",
        "1 job left out: asked for no GPU", "1 job left out: ran for 0 seconds"},
       [](const Workload& w) {
         EXPECT_EQ(w.names[0], "4201");
         EXPECT_EQ(w.jobs[0].workers, 8);
         EXPECT_EQ(w.jobs[0].per_worker, (Resources{1, 8000, 32 * 1024}));
         EXPECT_EQ(w.jobs[0].estimate, hours(17) + minutes(44) + seconds(54));
         EXPECT_EQ(w.kinds[index(w.jobs[1].kind)], "v100");
         EXPECT_EQ(w.jobs[1].per_worker.memory_mib, 25'600);
         EXPECT_EQ(w.jobs[1].estimate, w.jobs[1].duration);  // UNLIMITED
       }},
      {"dally-json",
       "dally.json",
       12,
       {},
       [](const Workload& w) {
         EXPECT_EQ(w.jobs[0].workers, 2);  // of the 75'158 iterations of all each does half
         EXPECT_EQ(w.jobs[0].iterations, 37'579U);
         EXPECT_EQ(w.jobs[0].duration, microseconds(15'042'873'700));
         EXPECT_EQ(w.jobs[0].per_worker.milli_cpus, 3500);
       }},
      {"muri", "muri.csv", 11, {"1 job left out: ran for 0 seconds"}, [](const Workload& w) {
         EXPECT_EQ(w.jobs[1].submit, Time{} + seconds(27));  // 42000 ms - 15000 ms
         EXPECT_EQ(w.jobs[1].duration, seconds(6390));
         EXPECT_EQ(w.jobs[1].workers, 8);
         EXPECT_EQ(w.models[index(w.jobs[1].model)], "vgg16");
         EXPECT_EQ(w.jobs[2].duration, microseconds(389'700'000));
       }}};
  return all;
}

TEST(ReadWorkload, SamplesOfEveryFormat) {
  EXPECT_EQ(samples().size(), formats().size());
  for (const Sample& sample : samples()) {
    SCOPED_TRACE(sample.file);
    const std::string path = root() / "examples" / "workloads" / sample.file;
    std::vector<std::string> notes;
    const auto workload = read_workload(path, {.notes = &notes});
    ASSERT_TRUE(workload) << workload.error().message;
    EXPECT_EQ(notes, sample.notes);
    EXPECT_EQ(workload->source, path);
    ASSERT_EQ(workload->jobs.size(), sample.jobs);
    EXPECT_EQ(workload->jobs.front().submit, Time{});
    EXPECT_TRUE(std::is_sorted(workload->jobs.begin(), workload->jobs.end(),
                               [](const Job& a, const Job& b) { return a.submit < b.submit; }));
    sample.check(*workload);
    EXPECT_TRUE(read_workload(path, {.format = sample.format})) << "named";
  }
}

TEST(ReadWorkload, ASampleIsRecognisedAsItsFormatAlone) {
  for (const Sample& sample : samples()) {
    std::ifstream file(root() / "examples" / "workloads" / sample.file);
    const std::string text((std::istreambuf_iterator<char>(file)), {});
    for (const FormatEntry& entry : formats())
      EXPECT_EQ(entry.recognise(text), entry.name == sample.format)
          << sample.file << " as " << entry.name;
  }
}

TEST(ReadWorkload, ANegativeRunIsAnErrorInAnImport) {
  const auto helios =
      parse_workload("job_id,gpu_num,submit_time,duration\n1,1,2020-01-01 00:00:00,-5\n", "x",
                     {.format = "helios"});
  ASSERT_FALSE(helios);
  EXPECT_NE(helios.error().message.find("x:2: field 'duration': value '-5' is negative"),
            std::string::npos)
      << helios.error().message;
  const auto openb = parse_workload(
      "name,cpu_milli,memory_mib,num_gpu,creation_time,deletion_time,scheduled_time\n"
      "a,1,1,1,5,7,9\n",
      "x", {.format = "openb"});
  ASSERT_FALSE(openb);
  EXPECT_EQ(openb.error().message,
            "x:2: field 'deletion_time': lies 2s before the start; an end comes after it");
}

TEST(ReadWorkload, SacctColumnsStandInAnyOrder) {
  const auto workload = parse_workload(
      "ReqTRES|End|Start|Submit|JobID\n"
      "gres/gpu:a100=2,gres/gpu:v100=1|2024-01-02T00:00:01|2024-01-01T00:00:00|"
      "2024-01-01T00:00:00|7_1\n",
      "x");
  ASSERT_TRUE(workload) << workload.error().message;
  ASSERT_EQ(workload->jobs.size(), 1U);
  EXPECT_EQ(workload->jobs[0].workers, 3);
  EXPECT_EQ(workload->jobs[0].kind, kAnyKind);
  EXPECT_EQ(workload->jobs[0].duration, days(1) + seconds(1));
  EXPECT_FALSE(parse_workload("JobID|Submit\n", "x"));
}

TEST(ReadWorkload, SacctTellsWaitsAndWhatCommentsSayToTrainyard) {
  std::vector<Duration> waits;
  const auto workload = parse_workload(
      "JobID|Submit|Start|Elapsed|AllocTRES|Comment\n"
      "2|2024-03-04T08:01:00|2024-03-04T08:00:00|00:10:00|gres/gpu=1|class=trial\n"
      "1|2024-03-04T08:00:00|2024-03-04T08:00:30|00:10:00|gres/gpu=1|"
      "trainyard: class=trial grace=5 model=resnet50\n",
      "sacct.txt", {.format = "sacct", .waits = &waits});
  ASSERT_TRUE(workload) << workload.error().message;
  EXPECT_EQ(workload->names, (std::vector<std::string>{"1", "2"}));
  EXPECT_EQ(waits, (std::vector<Duration>{seconds(30), {}}));  // a clock that was set back
  EXPECT_EQ(workload->jobs[0].job_class, JobClass::trial);
  EXPECT_EQ(workload->models[index(workload->jobs[0].model)], "resnet50");
  EXPECT_EQ(workload->jobs[1].job_class, JobClass::batch);  // that comment is somebody else's
}

TEST(ReadWorkload, UnknownFilesAreToldWhatIsLookedFor) {
  const auto nothing = parse_workload("a,b\n1,2\n", "x");
  ASSERT_FALSE(nothing);
  for (const FormatEntry& entry : formats())
    EXPECT_NE(nothing.error().message.find(entry.mark), std::string::npos) << entry.name;
  EXPECT_FALSE(parse_workload("", "x"));
  EXPECT_FALSE(parse_workload(std::string("\0\xff\x01", 3), "x"));
  EXPECT_FALSE(read_workload("/nonexistent/file.csv"));
  EXPECT_FALSE(read_workload("/"));
}

TEST(ReadWorkload, AFormatThatIsNotKnownIsNamedWithThoseThatAre) {
  const auto refused = parse_workload("1\n", "x", {.format = "phily-csv"});
  ASSERT_FALSE(refused);
  EXPECT_NE(
      refused.error().message.find(
          "'phily-csv' is not a workload format, did you mean 'philly-csv'?; known are native"),
      std::string::npos)
      << refused.error().message;
}

TEST(ReadWorkload, JsonThatIsCutOrTooDeepIsRefused) {
  const std::string whole =
      R"([{"attempts":[],"jobid":"a","submitted_time":"2020-01-01 00:00:00"}])";
  EXPECT_TRUE(parse_workload(whole, "x", {.format = "philly-json"}));
  for (std::size_t cut = 0; cut < whole.size(); ++cut)
    EXPECT_FALSE(parse_workload(whole.substr(0, cut), "x", {.format = "philly-json"})) << cut;
  const std::string deep = "[{\"attempts\":" + std::string(100'000, '[');
  const auto refused = parse_workload(deep, "x", {.format = "philly-json"});
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().message, "x:1: the job is nested more than 32 levels deep");
  EXPECT_FALSE(parse_workload(whole + "x", "x", {.format = "philly-json"}));
}

class RealTraces : public testing::Test {
 protected:
  std::string path(const char* file) { return root() / ".." / "shared" / "traces" / file; }
  std::optional<Workload> read(const char* file) {
    if (!std::filesystem::exists(path(file))) return {};
    auto workload = read_workload(path(file));
    EXPECT_TRUE(workload) << workload.error().message;
    if (!workload) return {};
    return std::move(*workload);
  }
};

TEST_F(RealTraces, Philly) {
  const auto workload = read("philly/philly.csv");
  if (!workload) GTEST_SKIP() << "no philly/philly.csv in ../shared/traces";
  EXPECT_EQ(workload->jobs.size(), 82'247U);
}

TEST_F(RealTraces, Dally) {
  const auto batch = read("dally/batch_500.json"), week = read("dally/poisson_week.json");
  if (!batch || !week) GTEST_SKIP() << "no dally/*.json in ../shared/traces";
  EXPECT_EQ(batch->jobs.size(), 500U);
  ASSERT_EQ(week->jobs.size(), 411U);
  EXPECT_EQ(week->jobs.front().submit, Time{});
  std::int64_t gpus = 0;
  for (const Job& job : week->jobs) gpus += job.gpus();
  EXPECT_EQ(gpus, 3805);
  double gpu_days = 0;
  for (const Job& job : batch->jobs) gpu_days += job.gpus() * job.duration.seconds() / 86400;
  EXPECT_NEAR(gpu_days, 543.9, 0.1);
}

}  // namespace
}  // namespace trainyard
