#include "study/reproduce/write.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <nlohmann/json.hpp>
#include <regex>
#include <sstream>

#include "study/json.h"
#include "study/report/well_formed.h"
#include "study/reproduce/tables.h"
#include "study/reproduce/testing.h"
#include "study/schema_checker.h"

namespace trainyard {
namespace {

using testing::HasSubstr;

std::ptrdiff_t occurrences(const std::string& text, const std::string& pattern) {
  const std::regex regex(pattern);
  return std::distance(std::sregex_iterator(text.begin(), text.end(), regex), {});
}

/// A study in which nothing is defined.
Study undefined_study() {
  Study study = sample_study();
  for (Measure& measure : study.measures)
    measure.value = [](const Outcome&) { return std::nan(""); };
  return study;
}

TEST(StudyJson, FollowsTheSchema) {
  const Study study = sample_study(), undefined = undefined_study();
  SchemaChecker check("study.json");
  EXPECT_EQ(check(to_json(sample_findings(study))), Problems{});
  EXPECT_EQ(check(nlohmann::ordered_json::parse(
                to_text(to_json(sample_findings(undefined, {.quick = true, .seeds = 1}))))),
            Problems{});
}

TEST(StudyJson, HasTheClaimsAndATableForTheBaseAndEachSweep) {
  const Study study = sample_study();
  const Findings findings = sample_findings(study);
  const auto json = to_json(findings);
  EXPECT_EQ(json["study"], "sample");
  EXPECT_EQ(json["seeds"], (std::vector<int>{1, 2, 3}));
  const auto claim = json["claims"][1];
  EXPECT_EQ(claim["id"], "much");
  EXPECT_EQ(claim["paper"], 0.99);
  EXPECT_EQ(claim["goal"], nullptr);
  EXPECT_EQ(claim["holds"], false);
  EXPECT_EQ(claim["verdict"], "fails");
  EXPECT_EQ(claim["ours"], findings.claims[1].ours.mean);
  EXPECT_LE(claim["low"], claim["ours"]);
  EXPECT_GE(claim["high"], claim["ours"]);
  ASSERT_EQ(json["tables"].size(), 3U);
  EXPECT_EQ(json["tables"][1]["rows"].size(), 3U);
  for (const auto& table : json["tables"])
    for (const auto& row : table["rows"]) EXPECT_EQ(row["values"].size(), table["columns"].size());
}

TEST(StudyOutput, TheSameBytesWhateverTheThreads) {
  const Study study = sample_study();
  const Findings one = sample_findings(study, {}, 1), two = sample_findings(study, {}, 3);
  EXPECT_EQ(to_text(to_json(one)), to_text(to_json(two)));
  EXPECT_EQ(to_markdown(one), to_markdown(two));
  EXPECT_EQ(to_html(one), to_html(two));
}

TEST(StudyOutput, TheTerminalHasClaimsThenTables) {
  const Study study = sample_study();
  const std::string text = to_terminal_text(sample_findings(study), false);
  EXPECT_THAT(text, HasSubstr("full run: 200 jobs, 3 seeds, 33 runs"));
  EXPECT_TRUE(std::regex_search(text, std::regex("It saves 99% +≥ 99.0 % .* fails"))) << text;
  EXPECT_LT(text.find("It saves 99%"), text.find("By policy"));
  EXPECT_THAT(text, HasSubstr("means over 3 seeds"));
}

TEST(StudyOutput, AGoalOfOurOwnIsNeverUnderThePapersName) {
  Study study = sample_study();
  study.claims[1].source = "our aim";
  const Findings findings = sample_findings(study);
  const auto json = to_json(findings)["claims"][1];
  EXPECT_EQ(json["paper"], nullptr);
  EXPECT_EQ(json["goal"], 0.99);
  const std::string text = to_markdown(findings);
  EXPECT_THAT(text, HasSubstr("| claim | paper | our goal | measured |"));
  EXPECT_THAT(text, HasSubstr("| It saves 99% (our aim) |  | ≥ 99.0 % |"));
  EXPECT_THAT(text, HasSubstr("| It saves something (abstract) | ≥ 0.0 % |  |"));
}

TEST(StudyOutput, OneTableOfSeveralStudies) {
  const Study study = sample_study();
  Study other = study;
  other.name = "another";
  const std::vector<Findings> all{sample_findings(study), sample_findings(other)};
  const std::string text = claims_to_markdown(all);
  EXPECT_THAT(text, HasSubstr("| sample | It saves 99% | ≥ 99.0 % |"));
  EXPECT_THAT(text, HasSubstr("| another | It saves 99% | ≥ 99.0 % |"));
  EXPECT_THAT(claims_to_terminal_text(all, false), HasSubstr("our goal"));
}

TEST(StudyOutput, MarkdownSaysHowItWasMade) {
  Study study = sample_study();
  study.claims[0].text = "A | B";
  study.discussion = [](const Findings& findings) {
    return std::vector<std::string>{fmt::format("{} claims.", findings.claims.size())};
  };
  const std::string text = to_markdown(sample_findings(study));
  EXPECT_EQ(text.find("# A sample of a study\n\nMade by `trainyard reproduce sample` (full run"),
            0U);
  EXPECT_THAT(text, HasSubstr("| A \\| B (abstract) | ≥ 0.0 % |"));
  EXPECT_THAT(text, HasSubstr("- las: `--policy \"las\"` `--set order.thresholds=1h`\n"));
  EXPECT_THAT(text, HasSubstr("## Threshold of las\n\n| order.thresholds | saved by srtf (%) |"));
  EXPECT_TRUE(text.ends_with("## Discussion\n\n3 claims.\n")) << text;
  // Every row of a table has as many cells as its header.
  std::ptrdiff_t cells = 0;
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);) {
    const std::ptrdiff_t here = occurrences(line, R"((^|[^\\])\|)");
    if (line.empty()) cells = 0;
    EXPECT_TRUE(cells == 0 || here == cells) << line;
    if (line.starts_with("|")) cells = here;
  }
}

TEST(StudyOutput, AMapComesFirstAndMarksItsRegions) {
  Study study = sample_study();
  study.sweeps.push_back(map_sweep("A map", {"load", workload_key("load"), {"0.5", "1.5"}},
                                   {"trial", workload_key("trial"), {"0", "0.3", "1"}},
                                   {{"S", "srtf saves something", "srtf", Direction::at_least, 0},
                                    {"N", "never", "srtf", Direction::at_least, 2}},
                                   {"srtf", "wait"}));
  const Findings findings = sample_findings(study);
  const std::string text = to_markdown(findings), html = to_html(findings);
  EXPECT_THAT(text, HasSubstr("| saved by srtf (%); load down, trial across | 0 | 0.3 | 1 |"));
  EXPECT_EQ(occurrences(text, "## A map"), 1);
  EXPECT_LT(text.find("## A map"), text.find("## By policy"));
  EXPECT_GT(occurrences(text, R"(\| S [0-9])"), 0);
  EXPECT_EQ(occurrences(text, R"(\| N )"), 0);
  EXPECT_THAT(text, HasSubstr("S: srtf saves something. N: never."));
  EXPECT_LT(to_terminal_text(findings, false).find("A map"),
            to_terminal_text(findings, false).find("By policy"));
  EXPECT_EQ(not_well_formed(html), "");
  EXPECT_THAT(html, HasSubstr("class=\"shade1\""));
}

TEST(StudyOutput, ForemostTablesStandBeforeTheClaimsInsteadOfTheSweepsTheyAreMadeFrom) {
  Study study = sample_study();
  study.sweeps[0].is_for_foremost = true;
  study.foremost = [](const Findings& findings) {
    TableFinding table = findings.sweeps[0].table;
    table.title = "What comes first";
    return std::vector<TableFinding>{table};
  };
  const Findings findings = sample_findings(study, {.quick = true});
  for (const std::string& text : {to_markdown(findings), to_html(findings)}) {
    EXPECT_LT(text.find("What comes first"), text.find("Claims"));
    EXPECT_EQ(text.find(">Load<"), std::string::npos);
    EXPECT_EQ(text.find("## Load"), std::string::npos);
  }
  EXPECT_LT(to_terminal_text(findings, false).find("What comes first"),
            to_terminal_text(findings, false).find("It saves 99%"));
  EXPECT_EQ(to_json(findings)["tables"][0]["title"], "What comes first");
}

TEST(StudyOutput, ThePageIsWellFormedAndNeedsNothingElse) {
  Study study = sample_study();
  study.title = "<b>&\"";
  study.claims[0].text = "</table><script>";
  const std::string html = to_html(sample_findings(study));
  EXPECT_EQ(not_well_formed(html), "");
  for (const char* reference : {"http", "src=", "url(", "@import", "nan"})
    EXPECT_EQ(html.find(reference), std::string::npos) << reference;
  EXPECT_EQ(occurrences(html, "href="), occurrences(html, "href=\"data:text/csv,"));
}

TEST(StudyOutput, ASweepHasAChartForEachUnit) {
  const Study study = sample_study();
  const std::string html = to_html(sample_findings(study));
  EXPECT_EQ(occurrences(html, "<figure>"), 1 + 2) << "shares; shares and seconds";
  EXPECT_EQ(occurrences(html, "class=\"area\""), 1 + 3) << "the interval of each line";
  EXPECT_EQ(occurrences(html, ">30 min</text>"), 2) << "from 10 min to 10 h on a logarithmic axis";
  EXPECT_EQ(
      occurrences(to_html(sample_findings(study, {.quick = true, .seeds = 1})), "class=\"area\""),
      0);
}

TEST(StudyOutput, APlotHasALineForWhatIsClaimedOfItsMeasures) {
  Study study = sample_study();
  const std::string html = to_html(sample_findings(study, {.quick = true}));
  EXPECT_EQ(occurrences(html, "class=\"[^\"]* reference\""), 2 * 3)
      << "three claims on srtf, in two charts";
  EXPECT_EQ(occurrences(html, ">paper ≥ 99.0 %</text>"), 2);
  study.claims[1].source = "our aim";
  study.claims[1].at = "load = 0.9";
  study.claims[2].at = "Load";
  const std::string narrower = to_html(sample_findings(study, {.quick = true}));
  EXPECT_EQ(occurrences(narrower, ">our goal ≥ 99.0 %</text>"), 1) << "where it was taken";
  EXPECT_EQ(occurrences(narrower, "class=\"[^\"]* reference\""), 3 + 1);
}

TEST(StudyOutput, AColumnHasOneUnit) {
  Study study = sample_study();
  study.measures[2].value = [](const Outcome& o) {
    return o.metric("las", "preemptions") > o.metric("srtf", "preemptions") ? 12.0 : 11'520.0;
  };
  const SummaryTable table =
      table_of(sample_findings(study, {.quick = true}).sweeps[1].table, study.quick);
  EXPECT_EQ(table.header[3].find("mean wait under fifo ("), 0U);
  for (const auto& row : table.rows)
    EXPECT_EQ(row[3].text.find_first_not_of("0123456789."), std::string::npos);
}

TEST(StudyOutput, WhatIsNotDefinedIsADash) {
  const Study study = undefined_study();
  const Findings findings = sample_findings(study, {.quick = true});
  for (const std::string& text :
       {to_terminal_text(findings, false), to_markdown(findings), to_html(findings)})
    EXPECT_EQ(text.find("nan"), std::string::npos) << text;
  EXPECT_EQ(not_well_formed(to_html(findings)), "");
}

}  // namespace
}  // namespace trainyard
