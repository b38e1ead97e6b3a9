#include "live/loop/report_order.h"

#include <gtest/gtest.h>

namespace trainyard {
namespace {

using Kind = RunReport::Kind;

EngineReport told(Kind kind, JobNumber job, std::vector<WorkerPlace> places = {}) {
  RunReport report;
  report.kind = kind, report.id = {job, 1}, report.places = std::move(places);
  return report;
}

/// "1 runs", "1 runs there", "1 ended", "1 tells", "cluster".
std::vector<std::string> words(const std::vector<EngineReport>& reports) {
  std::vector<std::string> all;
  for (const EngineReport& report : reports) {
    const auto* run = std::get_if<RunReport>(&report);
    if (run == nullptr) {
      all.emplace_back("cluster");
      continue;
    }
    const char* what = is_end(run->kind)             ? "ended"
                       : run->kind == Kind::progress ? "tells"
                       : run->places.empty()         ? "runs"
                                                     : "runs there";
    all.push_back(fmt::format("{} {}", run->id.job, what));
  }
  return all;
}

const std::vector<WorkerPlace> kThere{{MachineId{0}, {1}}};
using Words = std::vector<std::string>;

TEST(ReportOrder, AStartOnGpusOfTheEnginesChoiceComesAfterTheEndsOfOthers) {
  EXPECT_EQ(words(in_order({told(Kind::started, 1, kThere), told(Kind::progress, 1),
                            told(Kind::started, 2), told(Kind::exited, 3)})),
            (Words{"2 runs", "3 ended", "1 runs there", "1 tells"}));
}

TEST(ReportOrder, ItComesBeforeTheNextCluster) {
  EXPECT_EQ(words(in_order({told(Kind::started, 1, kThere), told(Kind::exited, 2), ClusterReport{},
                            told(Kind::exited, 3)})),
            (Words{"2 ended", "1 runs there", "cluster", "3 ended"}));
}

TEST(ReportOrder, OfARunThatHasEndedTooItDoesNotMatterWhereItWas) {
  EXPECT_EQ(words(in_order(
                {told(Kind::started, 1, kThere), told(Kind::exited, 1), told(Kind::exited, 2)})),
            (Words{"1 runs", "1 ended", "2 ended"}));
}

}  // namespace
}  // namespace trainyard
