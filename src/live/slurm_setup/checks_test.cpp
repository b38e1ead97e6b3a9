#include "live/slurm_setup/checks.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

namespace trainyard {
namespace {

using FindingKind = SlurmFinding::Kind;

constexpr std::string_view kGood =
    "JobSubmitPlugins=lua\nSelectType=select/cons_tres\nSelectTypeParameters=CR_Core_Memory\n"
    "GresTypes=gpu\nDefMemPerGPU=8000\nTopologyPlugin=topology/tree\n"
    "AccountingStorageTRES=gres/"
    "gpu\nSchedulerParameters=batch_sched_delay=1\nAccountingStoreFlags=job_comment\nPartitionName="
    "train Nodes=n[1-8]\n";

std::vector<std::string> found(FindingKind kind, std::string_view conf) {
  const auto parsed = SlurmConf::parse(conf, "slurm.conf");
  EXPECT_TRUE(parsed);
  std::vector<std::string> texts;
  for (const SlurmFinding& finding : check_slurm_conf(&*parsed, "train"))
    if (finding.kind == kind) texts.push_back(finding.text);
  return texts;
}

std::vector<std::string> harmful(std::string_view more) {
  return found(FindingKind::harmful, std::string(kGood) + std::string(more));
}

TEST(SlurmSetup, HasNothingAgainstWhatItAsksFor) {
  EXPECT_TRUE(found(FindingKind::missing, kGood).empty());
  EXPECT_TRUE(found(FindingKind::harmful, kGood).empty());
  EXPECT_TRUE(found(FindingKind::advice, kGood).empty());
}

TEST(SlurmSetup, WithoutAFileNamesEveryLine) {
  const auto findings = check_slurm_conf(nullptr, "train");
  const auto is_missing = [](const SlurmFinding& one) { return one.kind == FindingKind::missing; };
  EXPECT_EQ(std::ranges::count_if(findings, is_missing), 5);
  for (const SlurmFinding& finding : findings) EXPECT_FALSE(finding.why.empty());
}

TEST(SlurmSetup, KeepsWhatOtherListsHave) {
  EXPECT_THAT(found(FindingKind::missing,
                    "JobSubmitPlugins=throttle\nSelectType=select/linear\n"
                    "GresTypes=gpu,nic\nPartitionName=train Nodes=ALL\n"),
              testing::ElementsAre("JobSubmitPlugins=throttle,lua", "SelectType=select/cons_tres"));
}

TEST(SlurmSetup, FindsWhatWorksAgainstIt) {
  EXPECT_THAT(harmful("PreemptType=preempt/qos\n"),
              testing::ElementsAre("PreemptType=preempt/qos"));
  EXPECT_TRUE(harmful("PreemptType=preempt/qos\nPreemptMode=OFF\n").empty());
  EXPECT_THAT(harmful("JobRequeue=0\n"), testing::ElementsAre("JobRequeue=0"));
  EXPECT_THAT(harmful("MinJobAge=10\n"), testing::ElementsAre("MinJobAge=10"));
  EXPECT_TRUE(harmful("MinJobAge=0\n").empty());  // never forgotten
  EXPECT_THAT(harmful("SchedulerParameters=bf_interval=30,defer\n"), testing::SizeIs(1));
  EXPECT_THAT(harmful("SlurmctldParameters=enable_user_top\n"), testing::SizeIs(1));
}

TEST(SlurmSetup, FindsWhatMayRefuseReportsOfProgress) {
  EXPECT_THAT(harmful("SlurmctldParameters=rl_enable,rl_bucket_size=10\n"),
              testing::ElementsAre("SlurmctldParameters=rl_enable,rl_bucket_size=10"));
  EXPECT_THAT(found(FindingKind::advice, "JobSubmitPlugins=lua,throttle\n"),
              testing::Contains("JobSubmitPlugins=lua,throttle"));
  EXPECT_THAT(found(FindingKind::advice, "JobSubmitPlugins=lua\n"),
              testing::Not(testing::Contains("JobSubmitPlugins=lua")));
}

TEST(SlurmSetup, FindsNodesThatAnotherPartitionHas) {
  EXPECT_THAT(harmful("PartitionName=debug Nodes=n[8-9]\n"),
              testing::ElementsAre("PartitionName=debug"));
  EXPECT_THAT(harmful("PartitionName=all Nodes=ALL\n"), testing::ElementsAre("PartitionName=all"));
  EXPECT_TRUE(harmful("PartitionName=debug Nodes=n9,n10\n").empty());
}

}  // namespace
}  // namespace trainyard
