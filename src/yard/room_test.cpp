#include "yard/room.h"

#include <gtest/gtest.h>

#include <numeric>

#include "base/random.h"
#include "yard/testing.h"

namespace trainyard {
namespace {

std::vector<JobId> list(std::span<const JobId> jobs) {
  return {jobs.begin(), jobs.end()};
}

TEST(RoomFinder, TheExampleOfTheHeader) {
  HandYard h("2x8xV100");
  const JobId a = h.running(gang(6), 0), b = h.running(gang(4), 1);
  h.running(gang(4), 1);
  const JobId waiter = h.submit(gang(4));
  RoomFinder finder(h.yard);
  finder.begin(waiter, {4});
  ASSERT_TRUE(finder.offer(b));
  EXPECT_EQ(finder.room(), on(1, 4));
  EXPECT_EQ(list(finder.victims()), std::vector{b});
  finder.begin(waiter, {4});
  ASSERT_TRUE(finder.offer(a));
  EXPECT_EQ(finder.room(), on(0, 4));
  EXPECT_EQ(list(finder.victims()), std::vector{a});
}

TEST(RoomFinder, SparesWhoNeedNotLeave) {
  HandYard h("2x8xV100");
  const JobId small = h.running(gang(2), 0), large = h.running(gang(8), 1);
  h.running(gang(6), 0);
  const JobId waiter = h.submit(gang(8));
  RoomFinder finder(h.yard);
  finder.begin(waiter, {8});
  EXPECT_FALSE(finder.offer(small));
  ASSERT_TRUE(finder.offer(large));
  EXPECT_EQ(finder.room(), on(1, 8));
  EXPECT_EQ(list(finder.victims()), std::vector{large});
}

TEST(RoomFinder, KeepsToTheLimitOfMachines) {
  HandYard h("2x8xV100");
  const JobId a = h.running(gang(4), 0), b = h.running(gang(4), 1), c = h.running(gang(4), 1);
  h.running(gang(4), 0);
  const JobId waiter = h.submit(gang(8));
  RoomFinder finder(h.yard);
  finder.begin(waiter, {2});
  EXPECT_FALSE(finder.offer(a));
  EXPECT_TRUE(finder.offer(b)) << "half on each";
  finder.begin(waiter, {1});
  EXPECT_FALSE(finder.offer(a));
  EXPECT_FALSE(finder.offer(b));
  ASSERT_TRUE(finder.offer(c)) << "all on one";
  EXPECT_EQ(finder.room(), on(1, 8));
  EXPECT_EQ(list(finder.victims()), (std::vector{b, c}));
}

TEST(RoomFinder, TakesOnlyGpusOfTheRightKind) {
  HandYard h(*parse_cluster_toml(
      "[[rack]]\n[[rack.machine]]\nkind = \"V100\"\n[[rack.machine]]\nkind = \"T4\"\n", "test"));
  h.workload.kinds.add("T4");
  Job picky = gang(8);
  picky.kind = KindId{0};
  const JobId wrong = h.running(gang(8), 0), right = h.running(gang(8), 1);
  const JobId waiter = h.submit(picky);
  RoomFinder finder(h.yard);
  finder.begin(waiter, {8});
  EXPECT_FALSE(finder.offer(wrong));
  ASSERT_TRUE(finder.offer(right));
  EXPECT_EQ(finder.room(), on(1, 8));
  EXPECT_EQ(list(finder.victims()), std::vector{right});
}

TEST(RoomFinder, LeavesMachinesThatAreDownAlone) {
  HandYard h("2x8xV100");
  const JobId job = h.running(gang(4), 0), waiter = h.submit(gang(12));
  h.tell(EventKind::machine_down, MachineId{1});
  RoomFinder finder(h.yard);
  finder.begin(waiter, {12});
  EXPECT_FALSE(finder.offer(job));
}

/// Whether `workers` fit when these have left, on the machines with the most slots.
bool fits_without(const Yard& yard, JobId waiter, std::span<const JobId> gone, int max_machines) {
  const Shape& shape = yard.shape(waiter);
  std::vector<std::int32_t> slots;
  for (std::size_t m = 0; m < yard.cluster().machines.size(); ++m) {
    const MachineId machine{static_cast<std::uint32_t>(m)};
    if (!yard.free().is_up(machine)) continue;
    if (shape.kind != kAnyKind && yard.cluster().machine(machine).kind != shape.kind) continue;
    Resources room = yard.free().on(machine);
    for (const JobId job : gone)
      for (const Share& share : yard.placement(job))
        if (share.machine == machine) room += yard.shape(job).per_worker * share.workers;
    slots.push_back(workers_that_fit(shape.per_worker, room, shape.workers));
  }
  std::sort(slots.rbegin(), slots.rend());
  slots.resize(std::min<std::size_t>(slots.size(), static_cast<std::size_t>(max_machines)));
  return std::accumulate(slots.begin(), slots.end(), 0) >= shape.workers;
}

Job random_job(Random& random, int most_workers) {
  Job job =
      gang(1 + static_cast<int>(random.below(most_workers)), 1 + static_cast<int>(random.below(3)));
  job.per_worker.milli_cpus = 4'000 * static_cast<int>(random.below(8));
  if (random.uniform() < 0.3) job.kind = KindId{static_cast<std::uint16_t>(random.below(2))};
  return job;
}

/// Whatever fits, first machine first.
void fill(HandYard& h, Random& random, std::vector<JobId>& running) {
  for (int i = 0; i < 40; ++i) {
    const JobId id = h.submit(random_job(random, 4));
    const Shape& shape = h.yard.shape(id);
    Placement placement;
    std::int32_t left = shape.workers;
    for (std::uint32_t m = 0; m < h.cluster.machines.size() && left > 0; ++m) {
      const MachineId machine{m};
      if (!h.yard.free().is_up(machine)) continue;
      if (shape.kind != kAnyKind && h.cluster.machine(machine).kind != shape.kind) continue;
      const std::int32_t here = workers_that_fit(shape.per_worker, h.yard.free().on(machine), left);
      if (here > 0) placement.push_back({machine, here});
      left -= here;
    }
    if (left > 0) continue;
    HandYard::must(h.start(id, placement));
    h.tell(EventKind::loaded, id);
    running.push_back(id);
  }
}

/// Offered one by one at random, the gang fits as soon as it can and not before; and the yard,
/// which refuses a room too small or a victim too many, accepts the result.
TEST(RoomFinder, AgreesWithBruteForceOverPrefixes) {
  const Cluster cluster = *parse_cluster_toml(
      "[[rack]]\n[[rack.machine]]\ncount = 3\nkind = \"A\"\n[[rack.machine]]\ncount = 2\ngpus = 4\n"
      "kind = \"B\"\n",
      "test");
  int found = 0;
  for (std::uint64_t seed = 1; seed <= 150; ++seed) {
    SCOPED_TRACE(testing::Message() << "seed " << seed);
    Random random(seed);
    HandYard h(cluster);
    h.workload.kinds.add("B"), h.workload.kinds.add("A");
    if (seed % 3 == 0)
      h.tell(EventKind::machine_down, MachineId{static_cast<std::uint32_t>(random.below(5))});
    std::vector<JobId> offered;
    fill(h, random, offered);
    for (std::size_t i = offered.size(); i-- > 1;)
      std::swap(offered[i], offered[random.below(i + 1)]);
    const JobId waiter = h.submit(random_job(random, 12));
    const int max_machines = 1 + static_cast<int>(random.below(5));
    if (fits_without(h.yard, waiter, {}, max_machines)) continue;

    RoomFinder finder(h.yard), asked(h.yard);
    finder.begin(waiter, {max_machines});
    asked.begin(waiter, {max_machines});
    bool fits = false;
    for (std::size_t n = 1; n <= offered.size() && !fits; ++n) {
      fits = finder.offer(offered[n - 1]);
      ASSERT_EQ(asked.fits_with(offered[n - 1]), fits);
      ASSERT_EQ(fits, fits_without(h.yard, waiter, std::span(offered).first(n), max_machines));
    }
    if (!fits) continue;
    ++found;
    ASSERT_LE(finder.room().size(), static_cast<std::size_t>(max_machines));
    ASSERT_EQ(h.make_room(waiter, finder.room(), list(finder.victims())), Verdict::ok);
  }
  EXPECT_GT(found, 50) << "or the scenes are too easy";
}

}  // namespace
}  // namespace trainyard
