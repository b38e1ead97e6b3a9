#include "study/reproduce/journal.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <cmath>
#include <cstdlib>
#include <filesystem>
#include <fstream>

#include "base/random.h"

namespace trainyard {
namespace {

class Journal : public testing::Test {
 protected:
  Journal() { std::filesystem::remove_all(folder_); }
  ~Journal() override { std::filesystem::remove_all(folder_); }

  std::unique_ptr<RunJournal> open(const std::string& program = "build 1") {
    auto journal = RunJournal::open(path_, program);
    EXPECT_TRUE(journal) << journal.error().message;
    return std::move(*journal);
  }
  void write(const std::string& text) const { std::ofstream(path_, std::ios::app) << text; }

  const std::filesystem::path folder_ =
      std::filesystem::temp_directory_path() / fmt::format("trainyard-journal-{}", getpid());
  const std::string path_ = folder_ / "below" / "study.jsonl";
  const StudyRun run_{"2x4xV100", "poisson:jobs=10", 1, "fifo", {"queue.patience=1h"}};
};

TEST_F(Journal, KeepsWhatWasAddedToTheBit) {
  Random random(1);
  Metrics metrics;
  for (int i = 0; i < 1000; ++i)
    metrics[fmt::format("m{}", i)] =
        std::ldexp(random.uniform(-1, 1), static_cast<int>(random.below(200)) - 100);
  open()->add(run_, metrics);
  const auto journal = open();
  ASSERT_NE(journal->find(run_), nullptr);
  EXPECT_EQ(*journal->find(run_), metrics);
}

TEST_F(Journal, WhatIsNoNumberStaysSo) {
  open()->add(run_, {{"x", std::nan("")}});
  EXPECT_TRUE(std::isnan(open()->find(run_)->at("x")));
}

TEST_F(Journal, KnowsNoOtherRunAndNoOtherBuild) {
  open()->add(run_, {{"x", 1}});
  EXPECT_EQ(open("build 2")->find(run_), nullptr);
  const auto journal = open();
  const auto differs = [&](auto change) {
    StudyRun other = run_;
    change(other);
    return journal->find(other) == nullptr;
  };
  EXPECT_TRUE(differs([](StudyRun& r) { r.cluster = "1x8xV100"; }));
  EXPECT_TRUE(differs([](StudyRun& r) { r.workload = "poisson:jobs=11"; }));
  EXPECT_TRUE(differs([](StudyRun& r) { r.seed = 2; }));
  EXPECT_TRUE(differs([](StudyRun& r) { r.policy = "srtf"; }));
  EXPECT_TRUE(differs([](StudyRun& r) { r.settings = {}; }));
  EXPECT_FALSE(differs([](StudyRun&) {}));
}

TEST_F(Journal, ATraceThatChangedIsAnotherOne) {
  std::filesystem::create_directory(folder_);
  StudyRun run = run_;
  run.workload = folder_ / "jobs.csv";
  std::ofstream(run.workload) << "submit,duration\n0,1\n";
  open()->add(run, {{"x", 1}});
  EXPECT_NE(open()->find(run), nullptr);
  std::ofstream(run.workload) << "submit,duration\n0,2\n";
  EXPECT_EQ(open()->find(run), nullptr);
}

TEST_F(Journal, GoesOnAfterATornLine) {
  StudyRun second = run_, third = run_;
  second.seed = 2, third.seed = 3;
  open()->add(run_, {{"x", 1}});
  open()->add(second, {{"x", 2}});
  std::filesystem::resize_file(path_, std::filesystem::file_size(path_) - 5);
  open()->add(third, {{"x", 3}});
  const auto journal = open();
  ASSERT_NE(journal->find(run_), nullptr);
  EXPECT_EQ(journal->find(second), nullptr);
  ASSERT_NE(journal->find(third), nullptr);
  EXPECT_EQ(journal->find(third)->at("x"), 3);
}

TEST_F(Journal, IgnoresLinesThatAreNone) {
  open()->add(run_, {{"x", 1}});
  write("\n[]\n{}\n{\"mark\":5,\"metrics\":{}}\n{\"mark\":\"a\",\"metrics\":7}\n\xff\xfe\n{{{\n");
  EXPECT_NE(open()->find(run_), nullptr);
}

TEST_F(Journal, IsNotSharedByTwo) {
  const auto first = open();
  const auto second = RunJournal::open(path_, "build 1");
  ASSERT_FALSE(second);
  EXPECT_NE(second.error().message.find("another run of the study has it"), std::string::npos);
}

TEST_F(Journal, IsGoneWhenTheStudyIsComplete) {
  const auto journal = open();
  journal->add(run_, {{"x", 1}});
  journal->remove();
  EXPECT_FALSE(std::filesystem::exists(path_));
}

TEST_F(Journal, AFolderThatCannotBeMadeIsAnError) {
  std::filesystem::create_directory(folder_);
  std::ofstream(folder_ / "below") << "a file";
  EXPECT_FALSE(RunJournal::open(path_, "build 1"));
}

}  // namespace
}  // namespace trainyard
