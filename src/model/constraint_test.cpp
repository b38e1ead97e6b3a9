#include "model/constraint.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace trainyard {
namespace {

using testing::ElementsAre;

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

TEST(Constraint, AMachineHasWhatWasDeclaredForIt) {
  Cluster cluster = machine_of("V100");
  cluster.machines[0].features = {"IB", "rack-7", "v100"};
  EXPECT_THAT(features_of(cluster, cluster.machines[0]),
              ElementsAre("v100", "ib", "rack_7", "dgx_1"));
  EXPECT_TRUE(meets(*parse_constraint("ib&Rack_7"), cluster, cluster.machines[0]));
}

TEST(Constraint, FeaturesAreToldForMachinesThatAreAlike) {
  const Cluster cluster = *parse_cluster_toml(
      "[[rack]]\n[[rack.machine]]\ncount = 3\nkind = \"V100\"\nfeatures = [\"ib\"]\n"
      "[[rack.machine]]\nkind = \"T4\"\n",
      "");
  EXPECT_EQ(describe_features(cluster), "r0m0 to r0m2 have v100, ib; r0m3 has t4");
}

TEST(Constraint, OneAlternativeMustHoldWhole) {
  const Cluster cluster = machine_of("NVIDIA A100-SXM4-80GB");
  const auto holds = [&](const char* text) {
    return meets(*parse_constraint(text), cluster, cluster.machines[0]);
  };
  for (const char* text : {"a100", "A100", "a100&80gb", "a100,sxm4", "h100|a100", "[h100|a100]",
                           "v100&32gb|a100&80gb", "dgx-1", "nvidia_a100-sxm4-80gb"})
    EXPECT_TRUE(holds(text)) << text;
  EXPECT_TRUE(meets({}, cluster, cluster.machines[0]));
  for (const char* text : {"h100", "a100&40gb", "v100|h100", "a10"})
    EXPECT_FALSE(holds(text)) << text;
}

TEST(Constraint, AKindOfGpuGoesByItsWholeNameOrAWordOfIt) {
  Cluster cluster = machine_of("V100-SXM2-16GB");
  Machine other = cluster.machines[0];
  ASSERT_TRUE(cluster.add_machines(1, other, "V100-SXM2-32GB"));
  ASSERT_TRUE(cluster.add_machines(1, other, "V100"));
  ASSERT_TRUE(cluster.add_machines(1, other, "A100-SXM4-40GB"));
  const auto named = [&](const char* name) {
    const auto kind = kind_named(name, cluster);
    return kind ? cluster.kinds[index(*kind)] : kind.error().message;
  };
  EXPECT_EQ(named("v100-sxm2_32gb"), "V100-SXM2-32GB");
  EXPECT_EQ(named("v100"), "V100") << "the whole name of one, though a word of others";
  EXPECT_EQ(named("a100"), "A100-SXM4-40GB");
  EXPECT_EQ(named("sxm2"),
            "asks for GPUs of kind 'sxm2', and there are several: name one of V100-SXM2-16GB, "
            "V100-SXM2-32GB");
  EXPECT_EQ(named("dgx-1"),
            "asks for GPUs of kind 'dgx-1', and there are only: V100-SXM2-16GB, V100-SXM2-32GB, "
            "V100, A100-SXM4-40GB");
}

TEST(Constraint, WhatIsNoneIsRefused) {
  for (const char* text : {"", "|", "a|", "&a", "a100*2", "(a|b)&c", "!a", "[a]|b", "a b", "--"})
    EXPECT_FALSE(parse_constraint(text)) << text;
}

}  // namespace
}  // namespace trainyard
