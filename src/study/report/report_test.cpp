#include "study/report/report.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <regex>
#include <sstream>

#include "study/report/well_formed.h"
#include "study/testing.h"

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
  for (const char* reference : {"http", "src=", "href=\"h", "href=\"/", "url(", "@import"})
    EXPECT_EQ(html.find(reference), std::string::npos) << reference;
  EXPECT_EQ(html.find("nan"), std::string::npos);
}

TEST(Report, NamesWhatWasRun) {
  const std::string html = to_html(sample_comparison({"fifo", "order=srtf place=lwf"}, {11, 12}));
  for (const char* text : {">fifo<", ">order=srtf place=lwf<", "sample trace", "2 machines",
                           ">11, 12<", "<code>trainyard compare</code>"})
    EXPECT_NE(html.find(text), std::string::npos) << text;
}

TEST(Report, HasTheTailsOfWaitsValuesAndPointsToExport) {
  Comparison comparison = sample_comparison({"a", "bb"}, {1, 2});
  for (PolicyRuns& policy : comparison.policies)
    for (trainyard::Run& run : policy.runs) run.by_size[2] = run.batch;
  const std::string html = to_html(comparison);
  for (const char* text : {"Longest waits, trial jobs", "By class and size", ">3 to 4<", "p99 ",
                           "<circle class=\"value\"", "download=\"Waiting%20time%2C"})
    EXPECT_NE(html.find(text), std::string::npos) << text;
  EXPECT_EQ(html.find(">5 to 8<"), std::string::npos) << "there are none";
  EXPECT_EQ(not_well_formed(html), "");
}

TEST(Report, DistributionsATailAndAPanelOfUtilisationForEachPolicy) {
  EXPECT_EQ(figures(to_html(sample_comparison({"a", "bb"}, {1}, {.trial_share = 0}))), 4 + 2U);
  EXPECT_EQ(figures(to_html(sample_comparison({"a", "bb"}, {1}))), 12 + 2U) << "by class as well";
}

TEST(Report, PricesOfGpuTimeWhereTheBoundWasAskedFor) {
  Comparison comparison = sample_comparison({"a", "bb"}, {1}, {.trial_share = 0});
  comparison.bounds = {{3, 20, 10, {{0, 5, 9}, {0.5, 0.25}}}};
  const std::string html = to_html(comparison);
  EXPECT_EQ(figures(html), 4 + 1 + 2U);
  EXPECT_NE(html.find("What GPU time was worth"), std::string::npos);
  EXPECT_NE(html.find(">lower bound<"), std::string::npos) << "a row of the table";
  EXPECT_EQ(not_well_formed(html), "");
  comparison.bounds = {{3, 20, 20, {{0, 9}, {0}}}};
  EXPECT_EQ(to_html(comparison).find("What GPU time was worth"), std::string::npos)
      << "it has no price";
}

TEST(Report, AccuracyOverTimeWhereCurvesAreKnown) {
  Comparison comparison = sample_comparison({"a", "bb"}, {1, 2}, {.trial_share = 0});
  Duration interval = seconds(10);
  for (PolicyRuns& policy : comparison.policies) {
    for (trainyard::Run& run : policy.runs) {
      run.result.learning.jobs = 3;
      run.result.learning.interval = interval += seconds(5);
      run.result.learning.accuracy = {0, 0.5, 1};
    }
  }
  const std::string html = to_html(comparison);
  EXPECT_EQ(figures(html), 4 + 1 + 2U);
  EXPECT_NE(html.find("How jobs learnt"), std::string::npos);
  EXPECT_EQ(not_well_formed(html), "");
  comparison.policies[1].runs[1].result.learning = {};
  EXPECT_EQ(figures(to_html(comparison)), 4 + 2U) << "not of all";
}

/// What the summary needs at least: its cells do not wrap, its titles do between words.
double least_width(const std::string& html) {
  constexpr double kCharacter = 9, kPadding = 18;  // of a wide font at 14 px
  const std::size_t begin = html.find("<table>"), end = html.find("</table>");
  const std::string table = html.substr(begin, end - begin);
  const std::regex row("<tr.*?</tr>"), cell("<t[hd][^>]*>(.*?)</t[hd]>"), tag("<[^>]*>");
  std::vector<std::size_t> columns;
  for (std::sregex_iterator r(table.begin(), table.end(), row), none; r != none; ++r) {
    const std::string text = r->str();
    std::size_t c = 0;
    for (std::sregex_iterator d(text.begin(), text.end(), cell); d != none; ++d, ++c) {
      std::string words = std::regex_replace((*d)[1].str(), tag, "\n");
      if (text.find("scope=\"col\"") != std::string::npos || c == 0)
        std::ranges::replace(words, ' ', '\n');
      columns.resize(std::max(columns.size(), c + 1));
      std::istringstream lines(words);
      for (std::string line; std::getline(lines, line);)
        columns[c] = std::max(columns[c], line.size());
    }
  }
  double width = 0;
  for (const std::size_t longest : columns)
    width += kPadding + kCharacter * static_cast<double>(longest);
  return width;
}

TEST(Report, SevenPoliciesFitIntoAWindowOf1280Pixels) {
  const std::vector<std::string> policies{
      "fifo", "fifo-easy", "srtf", "las", "tiresias", "fitgpp+xion", "dally-consolidated"};
  Comparison comparison = sample_comparison(policies, {1, 2, 3});
  for (PolicyRuns& policy : comparison.policies)
    for (auto& run : policy.runs)
      run.result.preemptions = 1'234'567 + run.result.seed, run.result.trial.slowdown.p95 *= 1000;
  const double width = least_width(to_html(comparison));
  EXPECT_GT(width, 600) << "ten columns were seen";
  EXPECT_LE(width, 1280 - 64) << "what the window leaves beside the page's margins";
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
