#include "live/engine/local/run_places.h"

#include <gmock/gmock.h>
#include <sys/stat.h>

#include <filesystem>
#include <fstream>

#include "live/system/testing.h"

namespace trainyard {
namespace {

namespace fs = std::filesystem;
using testing::ElementsAre;
using testing::IsEmpty;

class RunPlacesTest : public testing::Test {
 protected:
  void SetUp() override {
    fs::create_directories(state_ + "/runs");
    fs::create_directories(state_ + "/checkpoints");
  }
  std::unique_ptr<RunPlaces> open() {
    auto places = RunPlaces::open(state_);
    EXPECT_TRUE(places) << places.error().message;
    return std::move(*places);
  }
  /// A run of an older daemon, with these files.
  void leave_old(const std::string& run, const std::vector<std::string>& files) {
    fs::create_directories(state_ + "/runs/" + run);
    for (const std::string& file : files) std::ofstream(state_ + "/runs/" + run + "/" + file);
  }

  TemporaryDirectory root_;
  std::string state_ = root_.path();
  std::string own_ = fmt::format("u{}/jobs", ::geteuid());
};

TEST_F(RunPlacesTest, ANewRunIsInItsUsersFolder) {
  const auto places = open();
  const auto folders = places->folders_for({17, 2}, ::geteuid(), ::getegid());
  ASSERT_TRUE(folders);
  EXPECT_EQ(folders->runs, "runs/" + own_);
  EXPECT_EQ(folders->checkpoints, "checkpoints/" + own_);
  EXPECT_THAT(places->runs(), IsEmpty());
  fs::create_directory(state_ + "/" + folders->runs + "/17.2");
  EXPECT_THAT(places->runs(), ElementsAre(RunId{17, 2}));
  EXPECT_EQ(places->run({17, 2}), state_ + "/runs/" + own_ + "/17.2");
}

TEST_F(RunPlacesTest, EachUserHasAFolder) {
  if (::geteuid() != 0) GTEST_SKIP() << "only root has jobs of others";
  const auto folders = open()->folders_for({17, 2}, 1234, 1234);
  ASSERT_TRUE(folders);
  EXPECT_EQ(folders->runs, "runs/u1234/jobs");
  fs::create_directory(state_ + "/runs/u1234/jobs/17.2");
  fs::create_directory(state_ + "/checkpoints/u1234/jobs/17");
  const auto next = open();  // as after a restart
  EXPECT_EQ(next->run({17, 2}), state_ + "/runs/u1234/jobs/17.2");
  EXPECT_EQ(next->checkpoints(17).told_to_user(), state_ + "/checkpoints/u1234/jobs/17");
  EXPECT_THAT(next->jobs_with_checkpoints(), ElementsAre(17));
}

TEST_F(RunPlacesTest, TheTimesOfAUsersFolderTellOfNoRun) {
  const auto places = open();
  const auto times = [&] {
    struct stat about {};
    EXPECT_EQ(::stat(fmt::format("{}/runs/u{}", state_, ::geteuid()).c_str(), &about), 0);
    return std::tuple(about.st_mtim.tv_sec, about.st_mtim.tv_nsec, about.st_ctim.tv_sec,
                      about.st_ctim.tv_nsec, about.st_nlink);
  };
  const auto before = times();
  for (std::uint32_t run = 1; run < 100; ++run) {
    const auto folders = places->folders_for({17, run}, ::geteuid(), ::getegid());
    ASSERT_TRUE(folders);
    fs::create_directory(fmt::format("{}/{}/17.{}", state_, folders->runs, run));
  }
  EXPECT_EQ(times(), before);
}

TEST_F(RunPlacesTest, WhatOlderDaemonsLeftIsFoundWhereItIs) {
  leave_old("17.1", {"run.json", "lock"});
  fs::create_directory(state_ + "/checkpoints/17");
  const auto places = open();
  EXPECT_EQ(places->run({17, 1}), state_ + "/runs/17.1");
  EXPECT_THAT(places->runs(), ElementsAre(RunId{17, 1}));
  const auto again = places->folders_for({17, 2}, ::geteuid(), ::getegid());
  ASSERT_TRUE(again);
  EXPECT_EQ(again->runs, "runs/" + own_);
  EXPECT_EQ(again->checkpoints, "checkpoints") << "a job keeps the path that it was told";
}

TEST_F(RunPlacesTest, WhatOlderDaemonsLeftIsHiddenUnlessAProcessMayNeedIt) {
  leave_old("1.1", {"run.json", "started", "exit.json"});
  leave_old("2.1", {"out.0.0"});
  leave_old("3.1", {"run.json", "started", "exit.json"});
  leave_old("3.2", {"run.json", "started", "lock"});
  leave_old("4.1", {"run.json"});
  for (const char* job : {"1", "2", "3", "4", "9"})
    fs::create_directory(state_ + "/checkpoints/" + job);
  const auto places = open();
  KeptLog log;
  places->hide_old(log);
  const std::string hidden = state_ + "/runs/" + own_, seen = state_ + "/runs";
  EXPECT_EQ(places->run({1, 1}), hidden + "/1.1");
  EXPECT_EQ(places->run({2, 1}), hidden + "/2.1") << "it was forgotten";
  EXPECT_EQ(places->run({3, 1}), hidden + "/3.1");
  EXPECT_EQ(places->run({3, 2}), seen + "/3.2") << "it may live";
  EXPECT_EQ(places->run({4, 1}), seen + "/4.1") << "its supervisor may come late";
  const auto is_hidden = [&](JobNumber job) {
    return places->checkpoints(job).told_to_user().starts_with(state_ + "/checkpoints/" + own_);
  };
  EXPECT_TRUE(is_hidden(1) && is_hidden(2) && is_hidden(9));
  EXPECT_FALSE(is_hidden(3) || is_hidden(4)) << "a run has been told the path";
}

}  // namespace
}  // namespace trainyard
