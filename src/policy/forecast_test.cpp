// When a job may be expected to start, on yards made by hand.
#include "policy/forecast.h"

#include <gtest/gtest.h>

#include "policy/testing.h"

namespace trainyard {
namespace {

std::optional<Time> start_of(const HandYard& h, const std::vector<JobId>& queue, bool may_pass,
                             std::int32_t most_machines = 100) {
  const auto expected = forecast(
      h.yard, queue, [=](JobId) { return most_machines; }, may_pass);
  return expected ? std::optional(expected->start) : std::nullopt;
}

class Forecasts : public testing::Test {
 protected:
  Forecasts() : h("1x4xV100") {
    a = h.running(gang(3, 1, hours(2)), 0);
    b = h.submit(gang(4, 1, hours(1)));
    c = h.submit(gang(2, 1, hours(1)));
    d = h.submit(gang(1, 1, hours(9)));
  }
  HandYard h;
  JobId a{}, b{}, c{}, d{};
};

TEST_F(Forecasts, TheExampleOfTheHeader) {
  EXPECT_EQ(start_of(h, {b}, false), Time{} + hours(2));
  EXPECT_EQ(start_of(h, {b, c}, false), Time{} + hours(3));
  EXPECT_EQ(start_of(h, {b, c}, true), Time{} + hours(3));
  EXPECT_EQ(start_of(h, {b, c, d}, true), Time{}) << "it fits beside a";
  EXPECT_EQ(forecast(
                h.yard, std::vector{b, c}, [](JobId) { return 1; }, false)
                ->relies_on,
            (std::vector{a, b}));
}

TEST_F(Forecasts, NobodyKnowsWhenAnOverrunEnds) {
  h.at(hours(3));
  EXPECT_EQ(start_of(h, {b}, false), std::nullopt);
  EXPECT_EQ(start_of(h, {d}, false), h.yard.now());
}

TEST_F(Forecasts, ARoomThatIsBeingMadeIsNotGivenToOthers) {
  const JobId victim = h.running(costly(gang(1, 1, hours(9)), minutes(5), {}, {}), 0);
  const JobId heir = h.submit(gang(1, 1, hours(5)));
  HandYard::must(h.make_room(heir, on(0, 1), {victim}));
  EXPECT_EQ(start_of(h, {d}, false), Time{} + hours(2)) << "the heir has the victim's GPU";
  EXPECT_EQ(start_of(h, {b}, false), Time{} + minutes(5) + hours(5));
}

TEST_F(Forecasts, MachinesThatAreDownHoldNothing) {
  h.tell(EventKind::machine_closed, MachineId{0});
  EXPECT_EQ(start_of(h, {d}, false), std::nullopt);
}

TEST(Forecast, KeepsToAsFewMachinesAsAreAllowed) {
  HandYard h("2x4xV100");
  h.running(gang(3, 1, hours(1)), 0), h.running(gang(3, 1, hours(2)), 1);
  const JobId job = h.submit(gang(2));
  EXPECT_EQ(start_of(h, {job}, false), Time{});
  EXPECT_EQ(start_of(h, {job}, false, 1), Time{} + hours(1));
}

}  // namespace
}  // namespace trainyard
