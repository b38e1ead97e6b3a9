#include "study/studies.h"

#include <gtest/gtest.h>

#include <fstream>
#include <nlohmann/json.hpp>
#include <set>

#include "study/report/well_formed.h"
#include "study/reproduce/testing.h"
#include "study/reproduce/write.h"
#include "workload/generate/generate.h"

namespace trainyard {
namespace {

template <class List>
void expect_own_ids(const List& list, const std::string& study) {
  std::set<std::string> ids;
  for (const auto& one : list) EXPECT_TRUE(ids.insert(one.id).second) << study << ": " << one.id;
}

TEST(Studies, HaveNamesOfTheirOwnAndSomethingToClaim) {
  std::set<std::string> names;
  for (const Study& study : studies()) {
    EXPECT_TRUE(names.insert(study.name).second) << study.name;
    EXPECT_FALSE(study.claims.empty()) << study.name;
    EXPECT_FALSE(study.paper.empty()) << study.name;
    EXPECT_FALSE(study.assumptions.empty()) << study.name;
    EXPECT_LT(study.quick.jobs, study.full.jobs) << study.name;
    EXPECT_GT(study.quick.seeds, 1) << study.name << ": one seed has no interval";
    expect_own_ids(study.measures, study.name);
    expect_own_ids(study.claims, study.name);
  }
}

/// What the preset was chosen by is in no figure on it.
TEST(Studies, OursSeesNoSeedAndNoPartOfALogThatChoicesSaw) {
  const Study study = trainyard_study();
  for (const bool quick : {false, true})
    for (const StudyRun& run :
         sample_plan(study, {.quick = quick, .traces = folder_of_empty_traces()}).runs) {
      EXPECT_GE(run.seed, 1001U);
      const bool has_windows =
          run.workload.starts_with("trace:") && run.workload.find(",jobs=") != std::string::npos;
      EXPECT_TRUE(!has_windows || run.workload.find("from=0.6") != std::string::npos)
          << run.workload;
    }
}

/// ./yard studies writes the pages: that of all has a row for each, and that of each its claims.
TEST(Studies, HavePagesWithEveryClaim) {
  const auto page_of = [](const std::string& name) {
    std::ifstream file(fmt::format("docs/studies/{}.md", name));
    return std::string{std::istreambuf_iterator(file), {}};
  };
  const std::string all = page_of("README");
  for (const Study& study : studies()) {
    EXPECT_NE(all.find(fmt::format("| [{0}]({0}.md) |", study.name)), std::string::npos);
    const std::string page = page_of(study.name);
    for (const Claim& claim : study.claims)
      EXPECT_NE(page.find(fmt::format("| {} (", claim.text)), std::string::npos)
          << study.name << ": " << claim.text << "; ./yard studies brings it up to date";
  }
}

TEST(Studies, NeedNoFileOfTheWorkingDirectory) {
  const std::string folder = folder_of_empty_traces();
  for (const Study& study : studies())
    for (const StudyRun& run : sample_plan(study, {.traces = folder}).runs) {
      const std::string file = trace_file(run.workload);
      EXPECT_TRUE(file.empty() || file.starts_with(folder)) << run.workload;
      EXPECT_EQ(run.workload.find("../"), std::string::npos) << run.workload;
    }
}

/// Every metric, policy and measure that a study names exists: it is run, with few jobs, and with
/// the public traces where they are.
TEST(Studies, RunThroughWithFewJobs) {
  const std::string traces =
      std::filesystem::is_directory("../shared/traces") ? "../shared/traces" : "";
  for (const Study& original : studies()) {
    Study study = original;
    study.quick.jobs = 100;
    const Findings findings = sample_findings(study, {.quick = true, .seeds = 1, .traces = traces});
    EXPECT_LE(findings.claims.size(), study.claims.size());
    EXPECT_TRUE(traces.empty() || findings.claims.size() == study.claims.size());
    EXPECT_EQ(not_well_formed(to_html(findings)), "") << study.name;
    EXPECT_NE(to_markdown(findings).find(study.title), std::string::npos);
  }
}

}  // namespace
}  // namespace trainyard
