#include "model/cluster.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <filesystem>
#include <fstream>

namespace trainyard {
namespace {

constexpr std::string_view kMixed = R"(
[[rack]]
count = 2
uplink_gbps = 400
[[rack.machine]]
count = 3
gpus = 8
kind = "V100"
cpus = 96
memory = "768GiB"
nic_gbps = 25
[[rack.machine]]
gpus = 4
kind = "T4"

[[rack]]
[[rack.machine]]
count = 2
gpus = 0
kind = "T4"
cpus = "500m"
memory = 1.5
)";

std::string error_of(std::string_view toml) {
  const auto cluster = parse_cluster_toml(toml, "c.toml");
  return cluster ? "no error" : cluster.error().message;
}

/// The error of one field in the machine table, which is line 3.
std::string machine_error(std::string_view field) {
  return error_of(fmt::format("[[rack]]\n[[rack.machine]]\n{}\n", field));
}

TEST(ClusterToml, EveryFieldArrives) {
  const auto cluster = parse_cluster_toml(kMixed, "c.toml");
  ASSERT_TRUE(cluster) << cluster.error().message;
  ASSERT_EQ(cluster->machines.size(), 10U);
  const Machine& v100 = cluster->machine(MachineId{2});
  EXPECT_EQ(v100.capacity, (Resources{8, 96'000, 768 * 1024}));
  EXPECT_EQ(v100.nic_gbps, 25);
  EXPECT_EQ(cluster->kinds[index(v100.kind)], "V100");
  const Machine& cpu_only = cluster->machine(MachineId{9});
  EXPECT_EQ(cpu_only.capacity, (Resources{0, 500, 1536}));
  EXPECT_EQ(cluster->kinds[index(cpu_only.kind)], "T4");
  EXPECT_EQ(cluster->total_gpus, 2 * (3 * 8 + 4));
  EXPECT_EQ(cluster->largest_machine_gpus, 8);
}

TEST(ClusterToml, MachinesOfARackStandTogetherAndAreNamed) {
  const auto cluster = parse_cluster_toml(kMixed, "c.toml");
  ASSERT_TRUE(cluster);
  ASSERT_EQ(cluster->racks.size(), 3U);
  EXPECT_EQ(cluster->racks[1].first_machine, 4U);
  EXPECT_EQ(cluster->racks[1].machine_count, 4U);
  EXPECT_EQ(cluster->racks[1].uplink_gbps, 400);
  EXPECT_EQ(cluster->racks[2].first_machine, 8U);
  EXPECT_EQ(cluster->racks[2].uplink_gbps, 0);
  EXPECT_EQ(cluster->machines[7].rack, RackId{1});
  EXPECT_EQ(cluster->machines[7].name, "r1m3");
  EXPECT_EQ(cluster->machines[8].name, "r2m0");
}

TEST(ClusterToml, DefaultsGrowWithTheGpus) {
  const auto cluster = parse_cluster_toml("[[rack]]\n[[rack.machine]]\n", "c.toml");
  ASSERT_TRUE(cluster);
  EXPECT_EQ(cluster->machines[0].capacity, (Resources{8, 96'000, 768 * 1024}));
  EXPECT_EQ(cluster->machines[0].nic_gbps, 1600);
  const auto without_gpus = parse_cluster_toml("[[rack]]\n[[rack.machine]]\ngpus = 0", "c.toml");
  ASSERT_TRUE(without_gpus);
  EXPECT_EQ(without_gpus->machines[0].capacity, (Resources{0, 12'000, 96 * 1024}));
}

TEST(ClusterToml, ErrorsNameLineFieldValueAndWhatWouldBeRight) {
  EXPECT_EQ(machine_error("gpus = 1025"),
            "c.toml:3: gpus = '1025'; it must be a whole number from 0 to 1024");
  EXPECT_EQ(machine_error("gpus = 7.5"),
            "c.toml:3: gpus = '7.5'; it must be a whole number from 0 to 1024");
  EXPECT_EQ(machine_error("count = 0"),
            "c.toml:3: count = '0'; it must be a whole number from 1 to 1000000");
  EXPECT_EQ(machine_error("count = \"two\""),
            "c.toml:3: count = 'two'; it must be a whole number from 1 to 1000000");
  EXPECT_EQ(machine_error("kind = \"\""),
            "c.toml:3: kind = ''; it must be a text of 1 to 100 characters");
  EXPECT_EQ(machine_error("kind = 100"),
            "c.toml:3: kind = '100'; it must be a text of 1 to 100 characters");
  EXPECT_EQ(machine_error("nic_gbps = -1"),
            "c.toml:3: nic_gbps = '-1'; it must be a number from 0 to 1e9");
  EXPECT_EQ(machine_error("nic_gbps = nan"),
            "c.toml:3: nic_gbps = 'nan'; it must be a number from 0 to 1e9");
  EXPECT_EQ(machine_error("nic_gbps = \"fast\""),
            "c.toml:3: nic_gbps = 'fast'; it must be a number from 0 to 1e9");
  EXPECT_EQ(error_of("[[rack]]\nuplink_gbps = true\n"),
            "c.toml:2: uplink_gbps = 'true'; it must be a number from 0 to 1e9");
}

TEST(ClusterToml, ErrorsOfAmountsSayHowToWriteOne) {
  constexpr std::string_view kCpus =
      "is not a number of CPUs; write cores or thousandths, as in 4, 0.5, 500m";
  EXPECT_EQ(machine_error("cpus = \"many\""), fmt::format("c.toml:3: cpus: 'many' {}", kCpus));
  EXPECT_EQ(machine_error("cpus = -4"), fmt::format("c.toml:3: cpus: '-4' {}", kCpus));
  EXPECT_EQ(machine_error("cpus = inf"), fmt::format("c.toml:3: cpus: 'inf' {}", kCpus));
  EXPECT_EQ(machine_error("cpus = true"), fmt::format("c.toml:3: cpus: 'true' {}", kCpus));
  EXPECT_EQ(machine_error("memory = \"64PB\""),
            "c.toml:3: memory: '64PB' has the unknown unit 'PB'; known are KiB, MiB, GiB and TiB");
  EXPECT_EQ(machine_error("memory = [1]"),
            "c.toml:3: memory: '[ 1 ]' is not an amount of memory; write it as 64GiB or 512MiB");
}

TEST(ClusterToml, UnknownFieldsAreRefusedWithASuggestion) {
  EXPECT_EQ(machine_error("gpu = 8"), "c.toml:3: unknown field 'gpu', did you mean 'gpus'?");
  EXPECT_EQ(machine_error("colour = 8"), "c.toml:3: unknown field 'colour'");
  EXPECT_EQ(error_of("[[rack]]\nuplink = 1\n"), "c.toml:2: unknown field 'uplink'");
  EXPECT_EQ(error_of("[[racks]]\n"), "c.toml:1: unknown field 'racks', did you mean 'rack'?");
}

TEST(ClusterToml, RacksAndMachinesMustExist) {
  EXPECT_EQ(error_of(""), "c.toml: no racks; describe at least one in a [[rack]] table");
  EXPECT_EQ(error_of("[[rack]]\n[[rack]]\n"),
            "c.toml:1: a rack without machines; add a [[rack.machine]] table");
  EXPECT_EQ(error_of("rack = 3\n"), "c.toml:1: rack = '3'; it must be one or more [[rack]] tables");
  EXPECT_EQ(error_of("rack = []\n"),
            "c.toml:1: rack = '[]'; it must be one or more [[rack]] tables");
  EXPECT_EQ(error_of("[[rack]]\nmachine = \"V100\"\n"),
            "c.toml:2: machine = 'V100'; it must be one or more [[machine]] tables");
}

TEST(ClusterToml, TheFirstErrorOfATableIsTold) {
  EXPECT_EQ(machine_error("count = 0\ngpus = 99"),
            "c.toml:3: count = '0'; it must be a whole number from 1 to 1000000");
}

TEST(ClusterToml, BrokenTomlIsToldWithItsLine) {
  EXPECT_TRUE(error_of("[[rack]]\ncount = = 2\n").starts_with("c.toml:2: ")) << error_of("");
  EXPECT_TRUE(error_of("[[rack").starts_with("c.toml:1: "));
}

TEST(ClusterToml, HasLimits) {
  EXPECT_EQ(error_of("[[rack]]\ncount = 1000\n[[rack.machine]]\ncount = 1001\n"),
            "c.toml: the cluster has more than 1000000 machines");
  std::string many_kinds;
  for (int i = 0; i <= 1000; ++i)
    many_kinds += fmt::format("[[rack]]\n[[rack.machine]]\nkind = \"K{}\"\n", i);
  EXPECT_EQ(error_of(many_kinds), "c.toml: the cluster has more than 1000 kinds of GPU");
}

TEST(ClusterShorthand, MachinesGpusKind) {
  const auto cluster = parse_cluster_shorthand("16x8xV100");
  ASSERT_TRUE(cluster) << cluster.error().message;
  EXPECT_EQ(cluster->racks.size(), 1U);
  EXPECT_EQ(cluster->machines.size(), 16U);
  EXPECT_EQ(cluster->total_gpus, 128);
  EXPECT_EQ(cluster->kinds[0], "V100");
  EXPECT_EQ(cluster->machines[0].capacity, (Resources{8, 96'000, 768 * 1024}));
}

TEST(ClusterShorthand, RacksMachinesGpusKind) {
  const auto cluster = parse_cluster_shorthand("4x16x8xGTX 1080");
  ASSERT_TRUE(cluster) << cluster.error().message;
  EXPECT_EQ(cluster->racks.size(), 4U);
  EXPECT_EQ(cluster->racks[3].first_machine, 48U);
  EXPECT_EQ(cluster->total_gpus, 512);
  EXPECT_EQ(cluster->kinds[0], "GTX 1080");
}

TEST(ClusterShorthand, RefusesTheRest) {
  for (const char* text :
       {"", "V100", "8xV100", "16x8", "16x8x", "0x8xV100", "16x0xV100", "x8xV100", "-1x8xV100",
        "1.5x8xV100", "16X8XV100", "99999999999999999999x8xV100"})
    EXPECT_FALSE(parse_cluster_shorthand(text)) << text;
  EXPECT_EQ(parse_cluster_shorthand("big").error().message,
            "'big' is not a cluster; name a .toml file, or write machines x GPUs x kind as in "
            "16x8xV100, or racks x machines x GPUs x kind as in 4x16x8xV100");
  EXPECT_EQ(parse_cluster_shorthand("2x1025xV100").error().message,
            "'2x1025xV100': 1025 GPUs in a machine; 1024 is the most");
  EXPECT_EQ(parse_cluster_shorthand("1000001x8xV100").error().message,
            "'1000001x8xV100': the cluster has more than 1000000 machines");
  EXPECT_EQ(parse_cluster_shorthand("9000000000000000000x1x8xV100").error().message,
            "'9000000000000000000x1x8xV100': the cluster has more than 1000000 machines");
}

RC_GTEST_PROP(ClusterShorthand, CountsAddUp, ()) {
  const auto racks = *rc::gen::inRange(1, 20), machines = *rc::gen::inRange(1, 20);
  const auto gpus = *rc::gen::inRange(1, kMaxGpusPerMachine + 1);
  const auto cluster = parse_cluster_shorthand(fmt::format("{}x{}x{}xA100", racks, machines, gpus));
  RC_ASSERT(cluster.has_value());
  RC_ASSERT(cluster->machines.size() == static_cast<std::size_t>(racks * machines));
  RC_ASSERT(cluster->total_gpus == racks * machines * gpus);
}

class ClusterFile : public testing::Test {
 protected:
  void TearDown() override { std::filesystem::remove(path_); }

  const std::string path_ = testing::TempDir() + "trainyard_cluster_test.toml";
};

TEST_F(ClusterFile, IsReadByItsName) {
  std::ofstream(path_) << kMixed;
  const auto cluster = read_cluster(path_);
  ASSERT_TRUE(cluster) << cluster.error().message;
  EXPECT_EQ(cluster->machines.size(), 10U);
}

TEST_F(ClusterFile, IsNamedInErrors) {
  EXPECT_EQ(read_cluster(path_).error().message, path_ + ": cannot be opened; is the path right?");
  std::ofstream(path_) << "[[rack]]\ncount = -1\n";
  EXPECT_EQ(read_cluster(path_).error().message,
            path_ + ":2: count = '-1'; it must be a whole number from 1 to 1000000");
}

TEST(ReadCluster, AnythingElseIsShorthand) {
  EXPECT_EQ(read_cluster("2x4xT4")->total_gpus, 8);
  EXPECT_FALSE(read_cluster("cluster.json"));
}

TEST(DescribeCluster, CountsEachKind) {
  EXPECT_EQ(describe(*parse_cluster_toml(kMixed, "c.toml")),
            "3 racks, 10 machines, 56 GPUs (48 V100, 8 T4)");
  EXPECT_EQ(describe(*parse_cluster_shorthand("1x1xT4")), "1 rack, 1 machine, 1 GPU (1 T4)");
}

}  // namespace
}  // namespace trainyard
