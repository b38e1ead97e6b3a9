#include "live/slurm_setup/slurm_conf.h"

#include <gtest/gtest.h>

namespace trainyard {
namespace {

SlurmConf parsed(std::string_view text) {
  auto conf = SlurmConf::parse(text, "slurm.conf");
  EXPECT_TRUE(conf) << (conf ? "" : conf.error().message);
  return conf ? *conf : SlurmConf();
}

TEST(SlurmConf, TakesTheLastSettingOfANameInAnyCase) {
  const SlurmConf conf = parsed("GresTypes=gpu # and so on\n\n  grestypes = \"gpu,nic\"  \n");
  ASSERT_NE(conf.find("GRESTYPES"), nullptr);
  EXPECT_EQ(conf.find("GresTypes")->value, "gpu,nic");
  EXPECT_EQ(conf.find("GresTypes")->line, 3u);
  EXPECT_EQ(conf.find("Gres"), nullptr);
}

TEST(SlurmConf, JoinsLinesThatEndWithABackslash) {
  const SlurmConf conf =
      parsed("PartitionName=train \\\n  Nodes=r1n[1-4] \\\n  State=UP\nKillWait=5\n");
  ASSERT_NE(conf.partition("train"), nullptr);
  EXPECT_EQ(conf.partition("train")->line, 1u);
  EXPECT_EQ(conf.partition("train")->find("nodes")->value, "r1n[1-4]");
  EXPECT_EQ(conf.find("KillWait")->line, 4u);
}

TEST(SlurmConf, GivesPartitionsWhatTheirDefaultsSayUntilTheySayOtherwise) {
  const SlurmConf conf = parsed(
      "PartitionName=DEFAULT PreemptMode=OFF State=UP\n"
      "PartitionName=train Nodes=ALL\nPartitionName=other State=DOWN\n");
  ASSERT_EQ(conf.partitions().size(), 2u);
  EXPECT_EQ(conf.partition("train")->find("PreemptMode")->value, "OFF");
  EXPECT_EQ(conf.partition("other")->find("State")->value, "DOWN");
}

TEST(SlurmConf, TellsWhichLineIsNone) {
  const auto conf = SlurmConf::parse("A=1\nB\n", "slurm.conf");
  ASSERT_FALSE(conf);
  EXPECT_EQ(conf.error().message, "slurm.conf:2: 'B' is not NAME=VALUE");
}

TEST(SlurmConf, DoesNotReadIncludedFiles) {
  EXPECT_EQ(parsed("Include nodes.conf\n").includes(), std::vector<std::size_t>{1});
}

TEST(SlurmConf, ExpandsNodeNames) {
  const std::vector<std::string> expected{"r1n08", "r1n09", "r1n10", "r1n12", "login"};
  EXPECT_EQ(expand_node_names("r1n[08-10,12],login", 5), expected);
  EXPECT_FALSE(expand_node_names("r1n[08-10,12],login", 4));
  EXPECT_FALSE(expand_node_names("n[1-4", 9));
  EXPECT_FALSE(expand_node_names("n[4-1]", 9));
  EXPECT_FALSE(expand_node_names("n[0-18446744073709551615]", 9));
  EXPECT_FALSE(expand_node_names("r[1-2]n[1-2]", 9));
}

}  // namespace
}  // namespace trainyard
