#include "live/engine/local/report_file.h"

#include <gtest/gtest.h>
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

  [[nodiscard]] ReportFile reader(uid_t owner = ::geteuid()) const {
    const std::filesystem::path own(folder_);
    return {{own.parent_path(), own.filename()}, owner};
  }

  std::string folder_;
};

TEST_F(ReportFileTest, TellsWhatIsNewOnce) {
  ReportFile report = reader();
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
  ReportFile report = reader();
  write("report.json", "{\"step\": ");
  EXPECT_FALSE(report.read());
  write("next", R"({"step": 5})");
  std::filesystem::rename(folder_ + "/next", path());
  EXPECT_EQ(report.read()->step, 5);
}

TEST_F(ReportFileTest, ALargeOneAndAnotherUsersAreNotRead) {
  write("report.json", R"({"step": 1})" + std::string(64 * 1024, ' '));
  EXPECT_FALSE(reader().read());
  write("report.json", R"({"step": 1})");
  EXPECT_TRUE(reader().read());
  EXPECT_FALSE(reader(::geteuid() + 1).read());
}

}  // namespace
}  // namespace trainyard
