// The examples, and the page that describes the format, must stay true.
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <sstream>

#include "model/cluster.h"

namespace trainyard {
namespace {

std::string read(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  EXPECT_TRUE(file) << path << ": run in the root of the project";
  std::ostringstream text;
  text << file.rdbuf();
  return text.str();
}

TEST(ClusterExamples, AreWhatTheySay) {
  const auto small = read_cluster("examples/clusters/small.toml");
  ASSERT_TRUE(small) << small.error().message;
  EXPECT_EQ(describe(*small), "1 rack, 4 machines, 32 GPUs (32 GPU)");
  const auto mixed = read_cluster("examples/clusters/mixed.toml");
  ASSERT_TRUE(mixed) << mixed.error().message;
  EXPECT_EQ(describe(*mixed), "5 racks, 49 machines, 320 GPUs (256 V100, 64 T4)");
  EXPECT_EQ(mixed->racks[0].uplink_gbps, 400);
  EXPECT_EQ(mixed->machines.back().capacity, (Resources{0, 64'000, 1024 * 1024}));
  const auto pods = read_cluster("examples/clusters/pods.toml");
  ASSERT_TRUE(pods) << pods.error().message;
  EXPECT_EQ(describe(*pods), "8 racks, 64 machines, 512 GPUs (512 A100)");
  ASSERT_EQ(pods->tiers.size(), 4U);
  EXPECT_EQ(pods->tiers[3].link_gbps(), 1600);
}

TEST(ClusterExamples, AreAllReadByThisTest) {
  std::size_t files = 0;
  for (const auto& entry : std::filesystem::directory_iterator("examples/clusters")) {
    EXPECT_TRUE(read_cluster(entry.path().string())) << entry.path();
    ++files;
  }
  EXPECT_EQ(files, 3U);
}

/// The blocks between ```toml and ```, in order.
std::vector<std::string> toml_blocks(const std::string& page) {
  std::vector<std::string> blocks;
  constexpr std::string_view kOpen = "```toml\n";
  for (std::size_t at = page.find(kOpen); at != std::string::npos; at = page.find(kOpen, at + 1)) {
    const std::size_t begin = at + kOpen.size();
    blocks.push_back(page.substr(begin, page.find("```", begin) - begin));
  }
  return blocks;
}

TEST(ClusterPage, ShowsTheExamplesAsTheyAre) {
  const auto blocks = toml_blocks(read("docs/clusters.md"));
  ASSERT_EQ(blocks.size(), 3U);
  EXPECT_TRUE(read("examples/clusters/mixed.toml").ends_with("\n" + blocks[0]));
  EXPECT_TRUE(read("examples/clusters/pods.toml").ends_with("\n" + blocks[1]));
  EXPECT_TRUE(read("examples/clusters/small.toml").ends_with("\n" + blocks[2]));
}

TEST(ClusterPage, NamesEveryFieldThatIsRead) {
  const std::string page = read("docs/clusters.md");
  for (const char* field : {"count", "uplink_gbps", "gpus", "kind", "cpus", "memory", "nic_gbps",
                            "gbps", "latency_us", "oversubscription", "name", "racks"})
    EXPECT_NE(page.find(fmt::format("| `{}` |", field)), std::string::npos) << field;
}

}  // namespace
}  // namespace trainyard
