#include "live/engine/local/report_file.h"

#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>

namespace trainyard {
namespace {

class ReportFileTest : public testing::Test {
 protected:
  void SetUp() override {
    std::string name = std::filesystem::temp_directory_path() / "trainyard-report-XXXXXX";
    ASSERT_NE(::mkdtemp(name.data()), nullptr);
    folder_ = name;
  }
  void TearDown() override { std::filesystem::remove_all(folder_); }

  void write(const std::string& name, const std::string& text) {
    std::ofstream(folder_ + "/" + name) << text;
  }
  [[nodiscard]] std::string path() const { return folder_ + "/report.json"; }

  std::string folder_;
};

TEST_F(ReportFileTest, TellsWhatIsNewOnce) {
  ReportFile report(folder_, ::geteuid());
  EXPECT_FALSE(report.read());
  write("report.json", R"({"step": 3})");
  EXPECT_EQ(report.read()->step, 3);
  EXPECT_FALSE(report.read());
  write("next", R"({"step": 4})");
  std::filesystem::rename(folder_ + "/next", path());
  EXPECT_EQ(report.read()->step, 4);
  write("next", R"({"step": 4, "unknown": 1})");
  std::filesystem::rename(folder_ + "/next", path());
  EXPECT_FALSE(report.read()) << "the same again";
}

TEST_F(ReportFileTest, WhatMakesNoSenseIsPassedOver) {
  ReportFile report(folder_, ::geteuid());
  write("report.json", "{\"step\": ");
  EXPECT_FALSE(report.read());
  write("next", R"({"step": 5})");
  std::filesystem::rename(folder_ + "/next", path());
  EXPECT_EQ(report.read()->step, 5);
}

TEST_F(ReportFileTest, NoTrickIsFollowed) {
  write("other", R"({"step": 1})");
  const std::string other = folder_ + "/other";
  ReportFile report(folder_, ::geteuid());
  const auto refused = [&](const char* trick) {
    EXPECT_FALSE(report.read()) << trick;
    std::filesystem::remove_all(path());
  };
  std::filesystem::create_symlink(other, path());
  refused("a symbolic link");
  std::filesystem::create_hard_link(other, path());
  refused("a second name of some file");
  ASSERT_EQ(::mkfifo(path().c_str(), 0600), 0);
  refused("a FIFO that nobody writes to");
  std::filesystem::create_directory(path());
  refused("a directory");
  write("report.json", R"({"step": 1})" + std::string(64 * 1024, ' '));
  refused("a large file");
  write("report.json", "");
  ASSERT_EQ(::truncate(path().c_str(), off_t{1} << 40), 0);
  refused("a terabyte of nothing");
  write("report.json", R"({"step": 1})");
  EXPECT_TRUE(report.read()) << "or the tricks were not what was refused";
  EXPECT_FALSE(ReportFile(folder_, ::geteuid() + 1).read()) << "somebody else's";
}

}  // namespace
}  // namespace trainyard
