#include "policy/running.h"

#include <gtest/gtest.h>

#include "yard/testing.h"

namespace trainyard {
namespace {

struct Listening : YardListener {
  explicit Listening(HandYard& h) : yard(h.yard) { h.yard.listen(*this); }
  void on_phase(JobId job, Phase from, Phase to) override { running.on_phase(yard, job, from, to); }

  [[nodiscard]] std::vector<JobId> in_order() const {
    std::vector<JobId> jobs;
    running.ends().each([&](const auto& entry) { return jobs.push_back(entry.job), true; });
    return jobs;
  }

  const Yard& yard;
  RunningByEnd running;
};

TEST(RunningByEnd, ListsWhoStartsOrRunsByExpectedEnd) {
  HandYard h("1x8xV100");
  Listening l(h);
  const JobId late = h.running(gang(2, 1, hours(3)), 0), soon = h.running(gang(2, 1, hours(1)), 0);
  const JobId loading = h.submit(costly(gang(2, 1, hours(1)), {}, {}, hours(1)));
  EXPECT_EQ(l.in_order(), (std::vector{soon, late}));
  HandYard::must(h.start(loading, on(0, 2)));
  EXPECT_EQ(l.in_order(), (std::vector{soon, loading, late}));
  EXPECT_EQ(l.running.end_of(loading), Time{} + hours(2));
  h.tell(EventKind::finished, soon);
  EXPECT_EQ(l.in_order(), (std::vector{loading, late}));
  EXPECT_EQ(l.running.end_of(soon), Time{} + hours(1)) << "known still, for those who ask then";
}

TEST(RunningByEnd, ALoadThatTookLongerMovesTheEnd) {
  HandYard h("1x8xV100");
  Listening l(h);
  const JobId job = h.submit(costly(gang(2, 1, hours(1)), {}, {}, minutes(1)));
  HandYard::must(h.start(job, on(0, 2)));
  h.at(minutes(5));
  h.tell(EventKind::loaded, job);
  EXPECT_EQ(l.running.end_of(job), Time{} + minutes(65));
  EXPECT_EQ(l.in_order(), std::vector{job});
}

TEST(RunningByEnd, WhoDrainsIsNotListed) {
  HandYard h("1x8xV100");
  Listening l(h);
  const JobId job = h.running(costly(gang(8), minutes(1), {}, {}), 0);
  HandYard::must(h.make_room(h.submit(gang(8)), on(0, 8), {job}));
  EXPECT_TRUE(l.in_order().empty());
}

TEST(RunningByEnd, TiesByNumber) {
  HandYard h("1x8xV100");
  Listening l(h);
  const JobId a = h.running(gang(1), 0), b = h.running(gang(1), 0);
  EXPECT_EQ(l.in_order(), (std::vector{a, b}));
}

}  // namespace
}  // namespace trainyard
