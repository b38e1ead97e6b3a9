#include "workload/info.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "workload/info_print.h"
#include "workload/testing.h"

namespace trainyard {
namespace {

TEST(Info, CountsAndSums) {
  const Cluster cluster = parse_cluster_shorthand("1x3xV100").value();
  const WorkloadInfo info = inspect(three_jobs(), &cluster);
  EXPECT_EQ(info.jobs, 3U);
  EXPECT_EQ(info.trial, 1U);
  EXPECT_EQ(info.batch, 2U);
  EXPECT_EQ(info.users, 1U);
  EXPECT_EQ(info.models, 0U);
  EXPECT_EQ(info.gpu_s, 100 + 400 + 40);
  EXPECT_EQ(info.duration.p50_s, 100);
  EXPECT_EQ(info.demands.size(), 3U);
  EXPECT_EQ(info.demands[2].gpus, 4);
  EXPECT_EQ(info.demands[2].gpu_s, 400);
  EXPECT_EQ(info.fit->too_large, 1U);
  EXPECT_DOUBLE_EQ(info.fit->offered_load.value(), 540.0 / (3 * 100));
}

TEST(Info, ATraceOfWhichMuchRunsAfterItsEndIsTooShortForALoad) {
  const Cluster cluster = parse_cluster_shorthand("1x8xV100").value();
  EXPECT_TRUE(inspect(three_jobs(), &cluster).fit->is_too_short) << "300 of 540 GPU-seconds";
  Workload workload;
  for (std::int64_t i = 0; i < 100; ++i) workload.jobs.push_back(job_of(100 * i, 100, 8));
  EXPECT_FALSE(inspect(workload, &cluster).fit->is_too_short);
}

TEST(Info, RunningDemandFreesBeforeItTakes) {
  const RunningDemand running = inspect(three_jobs(), nullptr).running;
  // 1 from 0, 5 from 50, then at 100 the first leaves and the third comes: 6 until 120, 4 to 150.
  EXPECT_EQ(running.peak_gpus, 6);
  EXPECT_EQ(running.peak_at, Time{} + seconds(100));
  EXPECT_DOUBLE_EQ(running.mean_gpus, 540.0 / 150);
}

TEST(Info, NoJobsAndJobsAtOnce) {
  const Cluster cluster = parse_cluster_shorthand("1x8xV100").value();
  const WorkloadInfo none = inspect(Workload{}, &cluster);
  EXPECT_EQ(none.running.mean_gpus, 0);
  EXPECT_TRUE(none.bins.empty());
  EXPECT_FALSE(to_text(none, Bars::plain).empty());
  Workload at_once;
  at_once.jobs = {job_of(0, 1, 1), job_of(0, 1, 1)};
  EXPECT_FALSE(inspect(at_once, &cluster).fit->offered_load.has_value());
}

TEST(Info, BinsHoldEveryJobOnce) {
  Workload workload;
  for (std::int64_t s = 1; s < 100'000'000; s *= 3) workload.jobs.push_back(job_of(0, s, 1));
  const WorkloadInfo info = inspect(workload, nullptr);
  std::size_t sum = 0;
  for (const DurationBin& bin : info.bins) sum += bin.jobs;
  EXPECT_EQ(sum, workload.jobs.size());
  EXPECT_EQ(info.bins.front().from, seconds(1));
  EXPECT_EQ(info.bins.back().to, Duration::max());
}

TEST(Info, DrawsBarsInAsciiWhenAsked) {
  const WorkloadInfo info = inspect(three_jobs(), nullptr);
  const std::string plain = to_text(info, Bars::plain);
  EXPECT_TRUE(std::ranges::all_of(plain, [](char c) { return c == '\n' || (c >= 32 && c < 127); }));
  EXPECT_NE(plain.find("####"), std::string::npos);
  EXPECT_NE(to_text(info, Bars::blocks).find("█"), std::string::npos);
}

TEST(Info, JsonHoldsTheFigures) {
  Workload workload = three_jobs();
  workload.source = "bytes \xff that are not UTF-8";
  const auto json = nlohmann::json::parse(to_json(inspect(workload, nullptr)));
  EXPECT_EQ(json["jobs"], 3);
  EXPECT_EQ(json["running_gpus"]["peak"], 6);
  EXPECT_EQ(json["demands"].size(), 3U);
  EXPECT_TRUE(json["cluster"].is_null());
}

TEST(Distances, ZeroToItselfAndOneWhenApart) {
  const Workload a = three_jobs();
  for (const Distance& d : distances(a, a)) EXPECT_EQ(d.ks, 0) << d.what;
  Workload b = a;
  for (Job& j : b.jobs) j.duration = hours(5);
  const auto apart = distances(a, b);
  EXPECT_EQ(apart[0].ks, 1);
  EXPECT_EQ(apart[1].ks, 0);
  EXPECT_EQ(apart.back().what, "duration, 3-4 GPUs");
}

}  // namespace
}  // namespace trainyard
