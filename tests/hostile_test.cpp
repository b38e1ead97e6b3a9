// A policy and an engine that mean harm: random plans and random events, most of them nonsense. The
// yard refuses what is wrong without a trace, and keeps its promises through all of it.
#include <gtest/gtest.h>

#include "random_case.h"
#include "yard/plan.h"
#include "yard_audit.h"

namespace trainyard {
namespace {

class Hostile {
 public:
  Hostile(Random& random, const RandomCase& made, Yard& yard, YardAudit& audit)
      : random_(random), made_(made), yard_(yard), audit_(audit) {}

  Verdict act() {
    const std::uint64_t what = random_.below(11);
    if (what < 4) return happen(event());
    if (what < 7) return plan_.start(job(), placement(), flow());
    return what < 10 ? make_room() : plan_.set_flow(job(), flow());
  }

 private:
  static bool is_of_machine(EventKind kind) {
    return kind == EventKind::machine_down || kind == EventKind::machine_up ||
           kind == EventKind::machine_closed;
  }

  Verdict happen(const Event& event) {
    const Verdict verdict = yard_.apply(event);
    if (verdict == Verdict::ok && is_of_machine(event.kind))
      audit_.expect_closed(MachineId{event.subject}, event.kind == EventKind::machine_closed);
    return verdict;
  }

  /// Now and then one that does not exist.
  JobId job() { return JobId{static_cast<std::uint32_t>(random_.below(yard_.jobs() + 2))}; }

  FlowClass flow() { return FlowClass{static_cast<std::uint8_t>(random_.below(3))}; }

  MachineId machine() {
    const std::size_t machines = made_.cluster.machines.size();
    if (random_.below(100) == 0) return kNoMachine;
    return MachineId{static_cast<std::uint32_t>(random_.below(machines + (random_.below(9) == 0)))};
  }

  Event event() {
    // Jobs that run are what the rest is about.
    const auto kind =
        random_.below(2) == 0 ? EventKind::loaded : static_cast<EventKind>(random_.below(12));
    const Time at = yard_.now() + seconds(static_cast<std::int64_t>(random_.below(50)) - 5);
    if (is_of_machine(kind)) {
      const MachineId which = machine();
      audit_.expect_failure(at, which);
      return Event::of(at, kind, which);
    }
    const JobId who =
        random_.below(3) == 0 ? JobId{static_cast<std::uint32_t>(yard_.jobs())} : job();
    if (kind == EventKind::cancelled) audit_.expect_cancellation(who);
    return Event::of(at, kind, who);
  }

  Placement placement() {
    Placement shares;
    for (std::uint64_t n = random_.below(4); n > 0; --n) {
      const auto workers = static_cast<std::int32_t>(random_.below(5));
      const bool absurd = random_.below(50) == 0;
      shares.push_back({machine(), absurd ? std::numeric_limits<std::int32_t>::max() : workers});
    }
    if (random_.below(20) == 0) shares.push_back({machine(), -1});
    return shares;
  }

  /// Whole gangs on one machine with everybody there as a victim, and worse.
  Verdict make_room() {
    const JobId waiter = job();
    std::vector<JobId> victims;
    if (random_.below(4) == 0 || index(waiter) >= yard_.jobs()) {
      for (std::uint64_t n = random_.below(4); n > 0; --n) victims.push_back(job());
      return plan_.make_room(waiter, placement(), victims);
    }
    const MachineId where{static_cast<std::uint32_t>(random_.below(made_.cluster.machines.size()))};
    for (const JobId there : yard_.jobs_on(where))
      if (random_.below(2) == 0) victims.push_back(there);
    if (!victims.empty() && random_.below(5) == 0) victims.push_back(victims.front());
    return plan_.make_room(waiter, {{where, yard_.job(waiter).workers}}, victims);
  }

  Random& random_;
  const RandomCase& made_;
  Yard& yard_;
  YardAudit& audit_;
  Plan plan_{yard_};
};

/// What another yard knows after it took up what this one saved.
std::string restored(const Yard& yard) {
  std::vector<SavedJob> jobs;
  for (std::size_t j = 0; j < yard.jobs(); ++j)
    jobs.push_back(yard.save(JobId{static_cast<std::uint32_t>(j)}));
  Yard other(yard.cluster(), yard.workload(), yard.rules());
  YardAudit audit(other);
  other.listen(audit);
  EXPECT_EQ(other.restore(jobs), Verdict::ok);
  EXPECT_EQ(other.apply({yard.now(), EventKind::clock}), Verdict::ok);
  for (std::uint32_t m = 0; m < yard.cluster().machines.size(); ++m) {
    if (yard.free().is_up(MachineId{m})) continue;
    audit.expect_closed(MachineId{m}, true);
    EXPECT_EQ(other.apply(Event::of(yard.now(), EventKind::machine_closed, MachineId{m})),
              Verdict::ok);
  }
  return snapshot(other);
}

TEST(HostileYard, RefusesNonsenseAndKeepsItsPromises) {
  std::uint64_t accepted = 0, refused = 0, rooms = 0;
  const auto [first, count] = seeds(60);
  for (std::uint64_t seed = first; seed < first + count && !HasFailure(); ++seed) {
    SCOPED_TRACE(fmt::format("TRAINYARD_TEST_SEED={}", seed));
    Random random(seed, 4);
    const RandomCase made = random_case(random);
    Yard yard(made.cluster, made.workload, {.min_run = seconds(10), .max_pauses = 3});
    YardAudit audit(yard);
    yard.listen(audit);
    Hostile hostile(random, made, yard, audit);
    ASSERT_EQ(yard.apply({Time{}, EventKind::clock}), Verdict::ok);
    for (int i = 0; i < 1500 && !HasFailure(); ++i) {
      const std::string before = snapshot(yard);
      const Verdict verdict = hostile.act();
      if (verdict == Verdict::ok) {
        ++accepted;
      } else {
        ++refused;
        ASSERT_EQ(snapshot(yard), before) << describe(verdict);
      }
      if (i % 50 == 0) {
        yard.clear_orders();
        ASSERT_EQ(restored(yard), snapshot(yard));
      }
      audit.inspect();
      ASSERT_EQ(audit.problems(), std::vector<std::string>{}) << describe(made);
    }
    for (std::size_t j = 0; j < yard.jobs(); ++j)
      rooms += yard.state(JobId{static_cast<std::uint32_t>(j)}).pauses;
  }
  if (count == 1) return;
  // It was not all refused, or nothing would have been shown.
  EXPECT_GT(accepted, refused / 50);
  EXPECT_GT(rooms, 0u);
}

}  // namespace
}  // namespace trainyard
