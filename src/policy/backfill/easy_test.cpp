#include <gtest/gtest.h>

#include <array>
#include <set>

#include "base/random.h"
#include "policy/members.h"
#include "policy/testing.h"

namespace trainyard {
namespace {

Job lasting(std::int32_t workers, Duration duration) {
  return gang(workers, 1, duration);
}

/// Two machines of 8. Job 0 holds machine 0 for two hours; job 1, the head, wants all 16 and can
/// have them in two hours.
class EasyBackfill : public testing::Test {
 protected:
  EasyBackfill() : h("2x8xV100", "fifo-easy") {
    h.submit(lasting(8, hours(2)));
    h.submit(lasting(16, hours(1)));
    h.decide();
  }

  /// Submits it, decides, and says whether it runs.
  bool starts(const Job& job) {
    const JobId id = h.submit(job);
    h.decide();
    return h.phase(id) == Phase::running;
  }
  [[nodiscard]] std::optional<Time> reserved() const {
    return h.policy->explain(JobId{1}).expected_start;
  }

  HandPolicy h;
};

TEST_F(EasyBackfill, TheHeadIsToStartWhenItsGangFits) {
  EXPECT_EQ(h.phases(), "running queued");
  EXPECT_EQ(reserved(), Time{} + hours(2));
}

TEST_F(EasyBackfill, WhoEndsBeforeMayGo) {
  EXPECT_TRUE(starts(lasting(4, hours(2))));
  EXPECT_FALSE(starts(lasting(4, hours(2) + microseconds(1))));
  EXPECT_TRUE(starts(lasting(2, hours(1)))) << "also behind one that may not";
}

TEST_F(EasyBackfill, LoadingAndCheckpointsCountTowardsTheEnd) {
  EXPECT_FALSE(starts(costly(lasting(1, hours(2)), {}, {}, minutes(1))));
  Job saving = lasting(1, hours(2));
  saving.checkpoint_interval = minutes(30), saving.checkpoint_cost = minutes(1);
  EXPECT_FALSE(starts(saving));
  saving.duration = saving.estimate = minutes(116);  // and three checkpoints of a minute
  EXPECT_TRUE(starts(saving));
}

TEST_F(EasyBackfill, AnEarlyEndBringsTheReservationForward) {
  EXPECT_TRUE(starts(lasting(4, hours(1))));
  h.at(minutes(30));
  h.tell(EventKind::finished, JobId{0});
  h.decide();
  EXPECT_EQ(reserved(), Time{} + hours(1)) << "when the backfilled one ends";
  EXPECT_FALSE(starts(lasting(4, minutes(31))));
  EXPECT_TRUE(starts(lasting(4, minutes(30))));
}

/// One machine of 8: a job holds 6 for two hours, and the head wants 4.
TEST(EasyCounting, LeavesToOthersWhatTheHeadWillNotNeed) {
  for (const bool counts : {false, true}) {
    HandPolicy pool("1x8xV100", "fifo-easy",
                    {counts ? "backfill.holds=count" : "backfill.holds=machines"});
    pool.submit(lasting(6, hours(2)));
    const JobId head = pool.submit(lasting(4, hours(1)));
    const JobId day = pool.submit(lasting(1, hours(24))),
                night = pool.submit(lasting(1, hours(12)));
    pool.decide();
    EXPECT_EQ(pool.phase(day) == Phase::running, counts);
    EXPECT_EQ(pool.phase(night) == Phase::running, counts);
    EXPECT_EQ(pool.policy->explain(head).expected_start, Time{} + hours(2));
  }
}

TEST(EasyCounting, KeepsWhatTheHeadNeeds) {
  HandPolicy pool("1x8xV100", "fifo-easy", {"backfill.holds=count"});
  pool.submit(lasting(4, hours(2)));
  pool.submit(lasting(7, hours(1)));
  const JobId one = pool.submit(lasting(1, hours(24))), two = pool.submit(lasting(1, hours(24)));
  pool.decide();
  EXPECT_EQ(pool.phase(one), Phase::running) << "one of eight is left beside the head";
  EXPECT_EQ(pool.phase(two), Phase::queued);
}

TEST_F(EasyBackfill, OthersMayGoForAnyTimeBesideTheReservation) {
  HandPolicy wide("3x8xV100", "fifo-easy");
  wide.submit(lasting(8, hours(2)));
  wide.submit(lasting(8, hours(3)));
  wide.submit(lasting(4, hours(9)));  // on machine 2
  wide.submit(gang(1, 8));            // the head: a whole machine, 0 in two hours
  wide.decide();
  const JobId longer = wide.submit(lasting(4, hours(99)));
  wide.decide();
  EXPECT_EQ(wide.phase(longer), Phase::running);
  EXPECT_EQ(wide.yard.placement(longer), on(2, 4));
  EXPECT_EQ(wide.policy->explain(JobId{3}).expected_start, Time{} + hours(2));
}

TEST_F(EasyBackfill, AnEmptyMachineThatFailsVoidsTheReservation) {
  HandPolicy wide("3x8xV100", "fifo-easy");
  wide.submit(lasting(8, hours(2)));   // machine 0
  wide.submit(lasting(8, hours(5)));   // machine 1
  wide.submit(lasting(16, hours(1)));  // the head: machines 0 and 2 in two hours
  wide.decide();
  EXPECT_EQ(wide.policy->explain(JobId{2}).expected_start, Time{} + hours(2));
  wide.tell(EventKind::machine_down, MachineId{2});
  wide.decide();
  EXPECT_EQ(wide.policy->explain(JobId{2}).expected_start, Time{} + hours(5));
  wide.tell(EventKind::machine_up, MachineId{2});
  wide.decide();
  EXPECT_EQ(wide.policy->explain(JobId{2}).expected_start, Time{} + hours(2));
}

TEST_F(EasyBackfill, RoomTakenByOneAheadOfTheHeadVoidsTheReservation) {
  HandPolicy short_first("2x8xV100", "order=sjf backfill=easy");
  short_first.submit(lasting(8, hours(2)));
  short_first.decide();
  const JobId head = short_first.submit(lasting(16, hours(20)));
  short_first.decide();
  EXPECT_EQ(short_first.policy->explain(head).expected_start, Time{} + hours(2));
  short_first.submit(lasting(8, hours(10)));  // shorter, so ahead: takes machine 1
  short_first.decide();
  EXPECT_EQ(short_first.phases(), "running queued running");
  EXPECT_EQ(short_first.policy->explain(head).expected_start, Time{} + hours(10));
}

TEST_F(EasyBackfill, AnOutlivedEstimateMovesTheReservation) {
  h.at(hours(3));  // job 0 was to end an hour ago
  h.decide();
  EXPECT_EQ(reserved(), Time{} + hours(3)) << "any moment now";
  EXPECT_FALSE(starts(lasting(1, minutes(1))));
}

TEST_F(EasyBackfill, DepthLimitsHowFarItLooks) {
  HandPolicy shallow("2x8xV100", "fifo-easy", {"backfill.depth=1"});
  shallow.submit(lasting(8, hours(2)));
  shallow.submit(lasting(16, hours(1)));
  shallow.submit(lasting(1, hours(9)));
  const JobId third = shallow.submit(lasting(2, hours(1)));
  shallow.decide();
  EXPECT_EQ(shallow.phase(third), Phase::queued);
  shallow.tell(EventKind::cancelled, JobId{2});
  shallow.decide();
  EXPECT_EQ(shallow.phase(third), Phase::running);
}

TEST(NoBackfill, NobodyPasses) {
  HandPolicy h("1x8xV100", "fifo");
  h.submit(gang(6)), h.submit(gang(4)), h.submit(gang(1));
  h.decide();
  EXPECT_EQ(h.phases(), "running queued queued");
}

TEST(GreedyBackfill, WhoeverFitsGoes) {
  HandPolicy h("1x8xV100", "backfill=greedy");
  h.submit(gang(6)), h.submit(gang(4)), h.submit(gang(1)), h.submit(gang(4)), h.submit(gang(1));
  h.decide();
  EXPECT_EQ(h.phases(), "running queued running queued running");
}

// --- Which jobs are looked at, against a list of all that wait
// ------------------------------------

/// A queue of made-up jobs. A job of a lane finds room while there is some left for its lane:
/// beside the reservation, or at all.
class MadeUp final : public Dispatcher {
 public:
  MadeUp(HandYard& h, Queue& queue, std::vector<std::array<int, 2>> room)
      : h_(h), queue_(queue), room_(std::move(room)) {}

  [[nodiscard]] const Yard& yard() const { return h_.yard; }
  [[nodiscard]] const Queue& queue() const override { return queue_; }
  [[nodiscard]] RoomFinder& finder() override { return finder_; }
  [[nodiscard]] PlaceStage& place() override { return *place_; }
  [[nodiscard]] bool is_closed(LaneId lane) const override { return closed.contains(lane); }
  [[nodiscard]] JobId next_to_try(JobId) override { return kNoJob; }
  bool try_start(JobId) override { return false; }
  bool try_place(JobId job, const Avoid* avoid) override {
    const auto lane = LaneId{static_cast<std::uint32_t>(index(job) % room_.size())};
    if (closed.contains(lane)) return false;
    int& left = room_[index(lane)][avoid == nullptr ? 0 : 1];
    if (left == 0) {
      if (avoid == nullptr) closed.insert(lane);
      return false;
    }
    --left;
    started.push_back(job);
    if (takes_) queue_.erase(job);
    return true;
  }
  /// Nobody leaves the queue: for the twin, which goes through a list.
  void only_note() { takes_ = false; }

  std::set<LaneId> closed;
  std::vector<JobId> started;

 private:
  HandYard& h_;
  Queue& queue_;
  std::vector<std::array<int, 2>> room_;  // by lane
  bool takes_ = true;
  RoomFinder finder_{h_.yard};
  PolicyContext context_{h_.yard};
  std::unique_ptr<PlaceStage> place_ = place_first_fit().make({}, context_);
};

/// Every job in order, up to the depth.
void look_at_all(MadeUp& dispatcher, std::size_t depth, Time start) {
  std::vector<Queue::Entry> candidates;
  dispatcher.queue().collect(
      depth, [&](LaneId lane) { return dispatcher.is_closed(lane); }, candidates);
  std::set<LaneId> no_room, no_room_beside;
  const Avoid none;
  for (const Queue::Entry& entry : candidates) {
    const Yard& yard = dispatcher.yard();
    const bool ends_before = yard.now() + yard.expected_remaining(entry.job) <= start;
    if (no_room.contains(entry.lane)) continue;
    if (!ends_before && no_room_beside.contains(entry.lane)) continue;
    if (dispatcher.try_place(entry.job, ends_before ? nullptr : &none)) continue;
    (ends_before ? no_room : no_room_beside).insert(entry.lane);
  }
}

/// The head wants the machine that a job holds for ten hours; others are short or long, and the
/// queue is asked several times while jobs come and time passes.
void against_all(std::uint64_t seed, std::uint32_t lanes, std::size_t depth) {
  SCOPED_TRACE(testing::Message() << "seed " << seed << ", " << lanes << " lanes, depth " << depth);
  Random random(seed);
  HandYard h("2x8xV100");
  Params params;
  params.set("depth", std::to_string(depth));
  params.set("holds", "machines");
  PolicyContext context(h.yard);
  const auto easy = backfill_easy().make(params, context);
  const JobId runs = h.running(lasting(8, hours(10)), 0);
  easy->on_phase(runs, Phase::queued, Phase::starting);
  easy->on_phase(runs, Phase::starting, Phase::running);
  const JobId head = h.submit(lasting(16, hours(1)));
  Queue queue;
  std::size_t started = 0;
  for (int round = 1; round <= 12; ++round) {
    h.at(minutes(30) * round);
    for (int i = 0; i < 60; ++i) {
      const JobId job = h.submit(lasting(1, minutes(1) * (1 + random.below(900))));
      queue.insert({random.uniform() < 0.1 ? 0 : h.yard.now().us, job,
                    LaneId{static_cast<std::uint32_t>(index(job) % lanes)}, 0, 1});
    }
    std::vector<std::array<int, 2>> room;
    for (std::uint32_t lane = 0; lane < lanes; ++lane)
      room.push_back({static_cast<int>(random.below(3)), static_cast<int>(random.below(2))});
    MadeUp twin(h, queue, room), fast(h, queue, room);
    for (std::uint32_t lane = 0; lane < lanes; ++lane)
      if (random.uniform() < 0.2)
        twin.closed.insert(LaneId{lane}), fast.closed.insert(LaneId{lane});
    twin.only_note();
    look_at_all(twin, depth, Time{} + hours(10));
    easy->run(fast, head);
    ASSERT_EQ(fast.started, twin.started) << "round " << round;
    ASSERT_EQ(fast.closed, twin.closed) << "round " << round;
    started += fast.started.size();
  }
  EXPECT_GT(started, 5U) << "or the scenes are too easy";
}

TEST(Easy, LooksAtTheSameJobsAsAWalkThroughTheWholeQueue) {
  for (std::uint64_t seed = 1; seed <= 15; ++seed)
    for (const std::uint32_t lanes : {1U, 7U, 100U})
      for (const std::size_t depth : {15U, 90U, 1000U}) against_all(seed, lanes, depth);
}

}  // namespace
}  // namespace trainyard
