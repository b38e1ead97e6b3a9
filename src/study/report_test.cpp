#include "study/report.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <sstream>

#include "study/testing.h"
#include "study/well_formed.h"

namespace trainyard {
namespace {

std::size_t figures(const std::string& html) {
  std::size_t count = 0;
  for (std::size_t at = html.find("<figure>"); at != std::string::npos;
       at = html.find("<figure>", at + 1))
    ++count;
  return count;
}

TEST(Report, IsWellFormedAndNeedsNothingElse) {
  const std::string html = to_html(sample_comparison({"fifo", "srtf", "fitgpp"}, {1, 2, 3}));
  EXPECT_EQ(not_well_formed(html), "");
  for (const char* reference : {"http", "src=", "href=", "url(", "@import"})
    EXPECT_EQ(html.find(reference), std::string::npos) << reference;
  EXPECT_EQ(html.find("nan"), std::string::npos);
}

TEST(Report, NamesWhatWasRun) {
  const std::string html = to_html(sample_comparison({"fifo", "order=srtf place=lwf"}, {11, 12}));
  for (const char* text : {">fifo<", ">order=srtf place=lwf<", "sample trace", "2 machines",
                           ">11, 12<", "<code>trainyard compare</code>"})
    EXPECT_NE(html.find(text), std::string::npos) << text;
}

TEST(Report, ThreeDistributionsAndAPanelOfUtilisationForEachPolicy) {
  EXPECT_EQ(figures(to_html(sample_comparison({"a", "bb"}, {1}, {.trial_share = 0}))), 3 + 2U);
  EXPECT_EQ(figures(to_html(sample_comparison({"a", "bb"}, {1}))), 9 + 2U) << "by class as well";
}

TEST(Report, TextIsEscaped) {
  Comparison comparison = sample_comparison({"<script>alert('x')</script>&\"\xff"}, {1});
  comparison.workload = comparison.cluster = comparison.command = "</title><b>\x01";
  const std::string html = to_html(comparison);
  EXPECT_EQ(not_well_formed(html), "");
  EXPECT_EQ(html.find("<b>"), std::string::npos);
  EXPECT_EQ(html.find("<script>alert"), std::string::npos);
}

TEST(Report, TellsOfJobsThatDidNotFinish) {
  Comparison comparison = sample_comparison({"fifo", "srtf"}, {1, 2}, {.jobs = 100});
  EXPECT_EQ(to_html(comparison).find("did not finish"), std::string::npos);
  comparison.policies[1].runs[0].result.finished = 97;
  EXPECT_NE(to_html(comparison).find("srtf: 3 of 200 jobs did not finish"), std::string::npos);
}

TEST(Report, NoPoliciesNoJobsOneJob) {
  EXPECT_EQ(not_well_formed(to_html({})), "");
  for (const std::size_t jobs : {0, 1}) {
    const std::string html = to_html(sample_comparison({"fifo"}, {1}, {.jobs = jobs}));
    EXPECT_EQ(not_well_formed(html), "");
    EXPECT_EQ(html.find("nan"), std::string::npos);
  }
}

TEST(Report, ThreadsDoNotChangeAByte) {
  const std::vector<std::string> policies{"fifo", "srtf", "las"};
  EXPECT_EQ(to_html(sample_comparison(policies, {1, 2, 3}, {}, 1)),
            to_html(sample_comparison(policies, {1, 2, 3}, {}, 2)));
}

TEST(Report, IsWrittenWhole) {
  const auto folder =
      std::filesystem::temp_directory_path() / fmt::format("trainyard-report-{}", getpid());
  std::filesystem::create_directory(folder);
  const std::string path = folder / "report.html";
  const Comparison comparison = sample_comparison({"fifo"}, {1});
  ASSERT_TRUE(write_report({}, path));
  ASSERT_TRUE(write_report(comparison, path)) << "over an older one";
  std::ostringstream text;
  text << std::ifstream(path).rdbuf();
  EXPECT_EQ(text.str(), to_html(comparison));
  EXPECT_EQ(std::distance(std::filesystem::directory_iterator(folder), {}), 1) << "nothing else";

  const std::string nowhere = folder / "missing" / "report.html";
  const auto written = write_report(comparison, nowhere);
  ASSERT_FALSE(written);
  EXPECT_EQ(written.error().message, nowhere + ": cannot be written: No such file or directory");
  std::filesystem::remove_all(folder);
}

}  // namespace
}  // namespace trainyard
