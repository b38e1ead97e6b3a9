#include "policy/preempt/gain.h"

#include <gtest/gtest.h>

namespace trainyard {
namespace {

constexpr double kMinute = 60e6;

GainVictim victim(double left, double leave, double load, double gpus = 1) {
  return {left * kMinute, leave * kMinute, load * kMinute, gpus};
}

double gain_min(const GainWaiter& w, std::initializer_list<GainVictim> victims) {
  PauseGain gain(w);
  for (const GainVictim& v : victims) gain.add(v);
  return gain.gain() / kMinute;
}

TEST(PauseGain, WholeIsTheFloor) {
  constexpr double k2to52 = 4503599627370496;
  for (const double x : {0.0, 0.25, 1.0, 1.75, 1e9 + 0.5, k2to52 - 0.5, k2to52, 3e20,
                         std::numeric_limits<double>::infinity()}) {
    EXPECT_EQ(whole(x), std::floor(x));
    EXPECT_EQ(whole(-x), std::floor(-x));
  }
}

TEST(PauseGain, OneSlotIsTheSumOfCompletionTimesWithoutLessWith) {
  GainWaiter w{10 * kMinute, 2 * kMinute};
  // Not pausing: 60 and 60 + 2 + 10. Pausing: 1 + 2 + 10 and 1 + 2 + 10 + 2 + 60.
  EXPECT_EQ(gain_min(w, {victim(60, 1, 2)}), 60 + 72 - 13 - 75);
  w.others_per_gpu = 3;
  EXPECT_EQ(gain_min(w, {victim(60, 1, 2)}), 60 + 72 - 13 - 75 - 3 * 3);
}

TEST(PauseGain, OthersAreDelayedByTheGpuTimeThatIsLost) {
  const GainWaiter w{10 * kMinute, 0, 1, 16.0 / 64};  // 16 jobs wait beside it for 64 GPUs
  EXPECT_EQ(gain_min(w, {victim(60, 1, 3, 8)}), 60 - 10 - 2 - 3 - 16 * 4 * 8 / 64);
}

TEST(PauseGain, WithoutAPauseItWaitsForTheFirstRoomAndNotForTheVictim) {
  GainWaiter w{10 * kMinute, 2 * kMinute};
  w.first_room = w.all_started = 30 * kMinute;
  EXPECT_EQ(gain_min(w, {victim(60, 1, 2)}), 30 - 10 - 2 - 2 - 2);
  w.first_room = w.all_started = 90 * kMinute;
  EXPECT_EQ(gain_min(w, {victim(60, 1, 2)}), 60 - 10 - 2 - 2 - 2) << "but the victim ends first";
}

TEST(PauseGain, WhoComesBackToASlowerPlaceLosesThatOnItsGpus) {
  GainWaiter w{10 * kMinute, 2 * kMinute};
  w.others_per_gpu = 0.25;
  GainVictim moved = victim(60, 1, 3, 8);
  moved.after = 5 * kMinute;
  EXPECT_EQ(gain_min(w, {moved}) - gain_min(w, {victim(60, 1, 3, 8)}), -5 - 5 * 0.25 * 8);
}

TEST(PauseGain, ACloseRoomIsWorthWhatItSavesTheWaiterAndThoseThatWaitForItsGpus) {
  GainWaiter w{10 * kMinute, 2 * kMinute};
  w.others_per_gpu = 0.25;
  PauseGain usual(w), close(w);
  usual.add(victim(60, 1, 3)), close.add(victim(60, 1, 3));
  close.add_room(4 * kMinute, 2);
  EXPECT_EQ((close.gain() - usual.gain()) / kMinute, 4 * (1 + 0.25 * 2));
}

TEST(PauseGain, EverySecondRoomGoesToJobsThatComeMeanwhile) {
  EXPECT_EQ(all_started(10 * kMinute, 1), 10 * kMinute) << "but not the first";
  EXPECT_EQ(all_started(10 * kMinute, 4), 70 * kMinute);
}

/// 16 jobs of one GPU wait beside it. Each of 8 that start gains what the victim would have stayed.
TEST(PauseGain, AWideVictimSparesTheWaitsOfAllThatFindRoomInWhatItFrees) {
  GainWaiter w{10 * kMinute, 0, 1, 16.0 / 64};
  w.first_room = 60 * kMinute, w.all_started = all_started(w.first_room, 17);
  PauseGain gain(w);
  gain.add(victim(60, 1, 3, 8)).take_part(part_of(1, 8));
  EXPECT_EQ(gain.spared() / kMinute, 8 * 60);
  EXPECT_EQ(gain.gain() / kMinute, 8 * 60 - 10.0 / 8 - 2 - 3 - 16 * 4 * 8 / 64);
}

TEST(PauseGain, SeveralVictimsAreEachSuspendedAndLeaveTogether) {
  const GainWaiter w{10 * kMinute, 2 * kMinute};
  EXPECT_EQ(gain_min(w, {victim(60, 1, 2), victim(50, 3, 4)}),
            60 - 2 * 10 - 3 - (1 + 2 + 2) - (3 + 2 + 4));
}

TEST(PauseGain, FreePausesLoseNothing) {
  const GainWaiter w{40 * kMinute, 0};
  EXPECT_EQ(gain_min(w, {victim(60, 0, 0), victim(50, 0, 0)}), 0) << "SRTF would pause both";
}

TEST(PauseGain, ATrialJobsTimeHasAPriceOnBothSides) {
  GainWaiter w{10 * kMinute, 2 * kMinute, 5};
  EXPECT_EQ(gain_min(w, {victim(60, 1, 2)}), 5 * (60 - 1) - (10 + 1 + 2 + 2));
  w.first_room = 8 * kMinute;
  w.all_started = 24 * kMinute;
  EXPECT_EQ(gain_min(w, {victim(60, 1, 2)}), 24 + 4 * 8 - 5 * 1 - (10 + 1 + 2 + 2))
      << "those who move up have none";
  w = {10 * kMinute, 2 * kMinute};
  GainVictim trial = victim(60, 1, 2);
  trial.price = 3;
  EXPECT_EQ(gain_min(w, {trial}), 60 - 1 - 3 * (10 + 1 + 2 + 2));
}

TEST(PauseGain, TheLongestCostOutweighsTheLongestJob) {
  const double years = 3'650'000.0 * 24 * 60;
  EXPECT_LT(gain_min({1, 0}, {victim(years, years, 0)}), 0);
}

}  // namespace
}  // namespace trainyard
