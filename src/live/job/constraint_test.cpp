#include "live/job/constraint.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace trainyard {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

Cluster machine_of(const std::string& kind) {
  Cluster cluster;
  cluster.add_rack(0);
  Machine machine;
  machine.capacity = {.gpus = 4, .milli_cpus = 4000, .memory_mib = 4096};
  EXPECT_TRUE(cluster.add_machines(1, machine, kind));
  cluster.machines[0].name = "dgx-1";
  return cluster;
}

TEST(Constraint, AMachineHasItsNameItsKindAndTheWordsOfIt) {
  const Cluster cluster = machine_of("NVIDIA A100-SXM4-80GB");
  EXPECT_THAT(features_of(cluster, cluster.machines[0]),
              ElementsAre("nvidia_a100_sxm4_80gb", "nvidia", "a100", "sxm4", "80gb", "dgx_1"));
}

TEST(Constraint, OneAlternativeMustHoldWhole) {
  const Cluster cluster = machine_of("NVIDIA A100-SXM4-80GB");
  for (const char* text : {"", "a100", "A100", "a100&80gb", "a100,sxm4", "h100|a100", "[h100|a100]",
                           "v100&32gb|a100&80gb", "dgx-1", "nvidia_a100-sxm4-80gb"})
    EXPECT_EQ(unmet(text, cluster, cluster.machines[0]), "") << text;
  for (const char* text : {"h100", "a100&40gb", "v100|h100", "a10"})
    EXPECT_THAT(unmet(text, cluster, cluster.machines[0]),
                HasSubstr(fmt::format("'{}', and dgx-1 has only: nvidia_a100_sxm4_80gb, ", text)));
}

TEST(Constraint, WhatIsNoneIsRefused) {
  for (const char* text : {"", "|", "a|", "&a", "a100*2", "(a|b)&c", "!a", "[a]|b", "a b", "--"})
    EXPECT_FALSE(parse_constraint(text)) << text;
}

}  // namespace
}  // namespace trainyard
