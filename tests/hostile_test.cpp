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

  /// Groups that were accepted.
  [[nodiscard]] std::uint64_t changed() const { return changed_; }

  Verdict act() {
    const std::uint64_t what = random_.below(13);
    if (what < 4) return happen(event());
    if (what < 7) return plan_.start(job(), placement(), flow());
    if (what < 10) return make_room();
    return what < 12 ? change() : plan_.set_flow(job(), flow());
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
        random_.below(2) == 0 ? EventKind::loaded : static_cast<EventKind>(random_.below(13));
    const Time at = yard_.now() + seconds(static_cast<std::int64_t>(random_.below(50)) - 5);
    if (is_of_machine(kind)) {
      const MachineId which = machine();
      audit_.expect_failure(at, which);
      return Event::of(at, kind, which);
    }
    const JobId who =
        random_.below(3) == 0 ? JobId{static_cast<std::uint32_t>(yard_.jobs())} : job();
    if (kind == EventKind::cancelled) audit_.expect_cancellation(who);
    if (kind == EventKind::loaded && random_.below(4) == 0) return loaded(at, who);
    return Event::of(at, kind, who);
  }

  /// It has done more or less than the yard believes, by now.
  Event loaded(Time at, JobId who) {
    const Duration done = index(who) < yard_.jobs() ? yard_.work_done(who) : Duration{};
    const Duration by = seconds(static_cast<std::int64_t>(random_.below(60)) - 40);
    return Event::loaded_with(at, who, std::max(done + by, Duration{}));
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

  JobId running() {
    std::vector<JobId> all;
    for (std::uint32_t j = 0; j < yard_.jobs(); ++j)
      if (yard_.state(JobId{j}).phase == Phase::running) all.push_back(JobId{j});
    return all.empty() ? job() : all[random_.below(all.size())];
  }

  /// One job's part of a group: it pauses, goes to a machine or to where another is, starts where
  /// that one leaves; or nonsense.
  JobChange part(JobId other) {
    const JobId who = random_.below(3) == 0 ? job() : running();
    JobChange change{who, {}, random_.below(4) == 0 ? job() : kNoJob};
    if (index(who) >= yard_.jobs() || random_.below(5) == 0) {
      change.to = placement();
    } else if (random_.below(2) == 0) {
      change.to = {{machine(), yard_.job(who).workers}};
    } else if (index(other) < yard_.jobs() && holds_gpus(yard_.state(other).phase)) {
      change.to = yard_.placement(other);
    }
    return change;
  }

  Verdict change() {
    audit_.expect_groups();
    std::vector<JobChange> group;
    JobId other = running();
    for (std::uint64_t n = random_.below(4); n > 0; --n) {
      group.push_back(part(other));
      other = group.back().job;
    }
    if (group.size() == 2 && random_.below(2) == 0 && index(other) < yard_.jobs() &&
        holds_gpus(yard_.state(other).phase))
      group.front().to = yard_.placement(other);
    const Verdict verdict = plan_.change(group);
    if (verdict == Verdict::ok) ++changed_;
    return verdict;
  }

  Random& random_;
  const RandomCase& made_;
  Yard& yard_;
  YardAudit& audit_;
  Plan plan_{yard_};
  std::uint64_t changed_ = 0;
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
  std::uint64_t accepted = 0, refused = 0, rooms = 0, groups = 0;
  const auto [first, count] = seeds(60);
  for (std::uint64_t seed = first; seed < first + count && !HasFailure(); ++seed) {
    SCOPED_TRACE(fmt::format("TRAINYARD_TEST_SEED={}", seed));
    Random random(seed, 4);
    RandomCase made = random_case(random);
    if (seed % 2 == 0) mix_machines(random, made);
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
    groups += hostile.changed();
    for (std::size_t j = 0; j < yard.jobs(); ++j)
      rooms += yard.state(JobId{static_cast<std::uint32_t>(j)}).pauses;
  }
  if (count == 1) return;
  // It was not all refused, or nothing would have been shown.
  EXPECT_GT(accepted, refused / 50);
  EXPECT_GT(rooms, 0u);
  EXPECT_GT(groups, 0u);
}

// --- Groups of changes in a world where jobs do as they are told ---------------------------------

/// A policy that shuffles jobs for the sake of it, and an engine that carries it out.
class Shuffler {
 public:
  Shuffler(Random& random, const RandomCase& made, Yard& yard, YardAudit& audit)
      : random_(random), made_(made), yard_(yard), audit_(audit) {
    audit_.expect_groups();
  }

  /// True: a group was accepted.
  bool act() {
    const Time at = yard_.now() + seconds(static_cast<std::int64_t>(random_.below(20)));
    const std::uint64_t what = random_.below(20);
    if (yard_.jobs() < made_.workload.jobs.size() && what < 3)
      tell(Event::of(at, EventKind::submitted, JobId{static_cast<std::uint32_t>(yard_.jobs())}));
    if (what < 8) happen(at, Phase::starting, EventKind::loaded);
    if (what > 5) happen(at, Phase::draining, EventKind::drained);
    if (what == 10) happen(at, Phase::running, EventKind::finished);
    if (what == 11) happen(at, Phase::draining, EventKind::lost);
    if (what == 12 && random_.below(4) == 0) cancel(at);
    if (what == 13) fail_or_repair(at);
    return change();
  }

 private:
  void tell(const Event& event) { ASSERT_EQ(yard_.apply(event), Verdict::ok); }

  std::vector<JobId> in(Phase phase) const {
    std::vector<JobId> all;
    for (std::uint32_t j = 0; j < yard_.jobs(); ++j)
      if (yard_.state(JobId{j}).phase == phase) all.push_back(JobId{j});
    return all;
  }

  void happen(Time at, Phase phase, EventKind kind) {
    const std::vector<JobId> jobs = in(phase);
    if (!jobs.empty()) tell(Event::of(at, kind, jobs[random_.below(jobs.size())]));
  }

  void cancel(Time at) {
    for (const Phase phase : {Phase::reserved, Phase::draining}) {
      const std::vector<JobId> jobs = in(phase);
      if (jobs.empty()) continue;
      const JobId job = jobs[random_.below(jobs.size())];
      audit_.expect_cancellation(job);
      return tell(Event::of(at, EventKind::cancelled, job));
    }
  }

  void fail_or_repair(Time at) {
    const MachineId machine{
        static_cast<std::uint32_t>(random_.below(made_.cluster.machines.size()))};
    const bool is_up = yard_.free().is_up(machine);
    if (is_up && random_.below(4) != 0) return;
    audit_.expect_failure(at, machine);
    tell(Event::of(at, is_up ? EventKind::machine_down : EventKind::machine_up, machine));
  }

  /// Some that run and some that wait, each into what the others leave or what is free, where it
  /// fits; who finds nothing leaves, or goes on waiting.
  bool change() {
    std::vector<JobId> jobs;
    std::vector<Resources> free;
    for (std::uint32_t m = 0; m < made_.cluster.machines.size(); ++m)
      free.push_back(yard_.free().is_up(MachineId{m}) ? yard_.free().on(MachineId{m})
                                                      : Resources{});
    for (const JobId job : in(Phase::running))
      if (random_.below(3) == 0 && yard_.pausable_from(job, job) <= yard_.now()) {
        jobs.push_back(job);
        for (std::size_t i = 0; i < yard_.placement(job).size(); ++i)
          if (const MachineId machine = yard_.placement(job)[i].machine;
              yard_.free().is_up(machine))
            free[index(machine)] += yard_.held(job, i);
      }
    for (const JobId job : in(Phase::queued))
      if (random_.below(2) == 0) jobs.push_back(job);
    std::vector<JobChange> group;
    while (!jobs.empty()) {
      const std::size_t pick = random_.below(jobs.size());
      const JobId job = jobs[pick];
      jobs.erase(jobs.begin() + static_cast<std::ptrdiff_t>(pick));
      JobChange change{job, find(job, free), kNoJob};
      const bool runs = yard_.state(job).phase == Phase::running;
      // It stays, and nobody may count on its room: better no group at all.
      if (runs && change.to == yard_.placement(job)) return false;
      if (runs || !change.to.empty()) group.push_back(std::move(change));
    }
    return !group.empty() && plan_.change(group) == Verdict::ok;
  }

  /// In a size that the job may have, from a random machine on; empty if there is no room.
  Placement find(JobId id, std::vector<Resources>& free) {
    const Job& job = yard_.job(id);
    const auto span = static_cast<std::uint64_t>(std::max(0, job.max_workers - job.min_workers));
    std::int32_t left = job.is_elastic()
                            ? job.min_workers + static_cast<std::int32_t>(random_.below(span + 1))
                            : job.workers;
    Placement to;
    const std::size_t machines = free.size(), first = random_.below(machines);
    for (std::size_t n = 0; n < machines && left > 0; ++n) {
      const std::size_t m = (first + n) % machines;
      const KindId kind = yard_.shape(id).kind;
      if (kind != kAnyKind && made_.cluster.machines[m].kind != kind) continue;
      const std::int32_t here =
          yard_.shape(id).fitting(MachineId{static_cast<std::uint32_t>(m)}, free[m], left);
      if (here == 0 || !yard_.free().is_up(MachineId{static_cast<std::uint32_t>(m)})) continue;
      to.push_back({MachineId{static_cast<std::uint32_t>(m)}, here});
      left -= here;
    }
    if (left > 0) return {};
    for (const Share& share : to)
      free[index(share.machine)] -= yard_.shape(id).demand(share.machine) * share.workers;
    return to;
  }

  Random& random_;
  const RandomCase& made_;
  Yard& yard_;
  YardAudit& audit_;
  Plan plan_{yard_};
};

TEST(ShuffledYard, KeepsItsPromisesThroughGroupsOfChanges) {
  std::uint64_t groups = 0;
  const auto [first, count] = seeds(60);
  for (std::uint64_t seed = first; seed < first + count && !HasFailure(); ++seed) {
    SCOPED_TRACE(fmt::format("TRAINYARD_TEST_SEED={}", seed));
    Random random(seed, 7);
    RandomCase made = random_case(random);
    if (seed % 2 == 0) mix_machines(random, made);
    Yard yard(made.cluster, made.workload, {.min_run = seconds(10), .max_pauses = 30});
    YardAudit audit(yard);
    yard.listen(audit);
    Shuffler shuffler(random, made, yard, audit);
    ASSERT_EQ(yard.apply({Time{}, EventKind::clock}), Verdict::ok);
    for (int i = 0; i < 400 && !HasFailure(); ++i) {
      groups += shuffler.act() ? 1 : 0;
      yard.clear_orders();
      if (i % 10 == 0) {
        ASSERT_EQ(restored(yard), snapshot(yard));
      }
      audit.inspect();
      ASSERT_EQ(audit.problems(), std::vector<std::string>{}) << describe(made);
    }
  }
  if (count == 1) return;
  EXPECT_GT(groups, 1000u);
}

}  // namespace
}  // namespace trainyard
