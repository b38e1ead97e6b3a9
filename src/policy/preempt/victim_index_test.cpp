// The index of victims against a look at every running job, on yards that change at random.
#include "policy/preempt/victim_index.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "base/random.h"
#include "yard/testing.h"

namespace trainyard {
namespace {

using Choice = VictimIndex::Choice;

/// A yard whose jobs are put on machines and taken off at random, and an index kept in step.
class Scene {
 public:
  explicit Scene(std::uint64_t seed)
      : random_(seed),
        // More than a word of machines, of two kinds and sizes.
        hand(*parse_cluster_toml("[[rack]]\n[[rack.machine]]\ncount = 37\ngpus = 8\nkind = \"A\"\n"
                                 "cpus = 32\nmemory = 256\n[[rack.machine]]\ncount = 30\ngpus = 4\n"
                                 "kind = \"B\"\ncpus = 16\nmemory = 64\n",
                                 "test")),
        index(hand.yard) {}

  void start_one() {
    Job job;
    job.per_worker = {static_cast<std::int32_t>(random_.below(4)) + 1,
                      static_cast<std::int32_t>(random_.below(9)) * 1000,
                      static_cast<std::int32_t>(random_.below(64)) * 1024};
    job.workers = random_.below(5) == 0 ? 2 : 1;
    job.duration = job.estimate = hours(1);
    Placement placement;
    for (int tries = 0; tries < 40 && placement.size() < static_cast<std::size_t>(job.workers);
         ++tries) {
      const MachineId m{static_cast<std::uint32_t>(random_.below(hand.cluster.machines.size()))};
      const bool taken = !placement.empty() && placement[0].machine == m;
      if (!taken && job.per_worker.fits_in(hand.yard.free().on(m))) placement.push_back({m, 1});
    }
    if (placement.size() < static_cast<std::size_t>(job.workers)) return;
    const JobId id = hand.running(job, placement);
    // Few different values, so that there are ties.
    index.add(id, static_cast<double>(1 + random_.below(5)), static_cast<double>(random_.below(5)),
              random_.below(3) > 0);
    running_.push_back(id);
  }

  void end_one() {
    if (running_.empty()) return;
    const std::size_t i = random_.below(running_.size());
    const JobId id = running_[i];
    running_.erase(running_.begin() + static_cast<std::ptrdiff_t>(i));
    const Placement placement = hand.yard.placement(id);
    hand.tell(EventKind::finished, id);
    index.remove(id);
    index.refresh(placement);
  }

  void allow_one() {
    if (!running_.empty()) index.allow(running_[random_.below(running_.size())]);
  }

  VictimIndex::Question question() {
    VictimIndex::Question q;
    q.demand = {static_cast<std::int32_t>(random_.below(8)) + 1,
                static_cast<std::int32_t>(random_.below(16)) * 1000,
                static_cast<std::int32_t>(random_.below(128)) * 1024};
    if (random_.below(3) == 0) q.kind = KindId{static_cast<std::uint16_t>(random_.below(2))};
    q.only_if_needed = random_.below(2) == 0;
    q.waiter = waiter();
    return q;
  }

  /// The best on every machine, by looking at all of them.
  std::vector<Choice> scan(const VictimIndex::Question& q, const VictimIndex::Weights& w) {
    std::vector<Choice> found;
    for (std::uint32_t m = 0; m < hand.cluster.machines.size(); ++m) {
      const MachineId machine{m};
      if (q.kind != kAnyKind && hand.cluster.machine(machine).kind != q.kind) continue;
      const Resources& free = hand.yard.free().on(machine);
      if (q.only_if_needed && q.demand.fits_in(free)) continue;
      std::vector<Choice> here;
      for (const VictimIndex::Victim& v : index.on(machine))
        if (v.pausable && q.demand.fits_in(free + v.held))
          here.push_back({w.size * v.size + w.pause * v.pause, machine, v.job});
      if (here.empty()) continue;
      found.push_back(
          *std::min_element(here.begin(), here.end(), [](const Choice& a, const Choice& b) {
            return a.score != b.score ? a.score < b.score : a.job > b.job;
          }));
    }
    std::stable_sort(found.begin(), found.end(),
                     [](const Choice& a, const Choice& b) { return a.score < b.score; });
    return found;
  }

  JobId waiter() {
    if (waiter_ == kNoJob) waiter_ = hand.submit(trial(gang(1)));
    return waiter_;
  }

 private:
  Random random_;
  JobId waiter_ = kNoJob;
  std::vector<JobId> running_;

 public:
  HandYard hand;
  VictimIndex index;
};

TEST(VictimIndex, FindsWhatAFullScanFinds) {
  for (std::uint64_t seed = 1; seed <= 60; ++seed) {
    Scene scene(seed);
    Random random(seed, 2);
    for (int round = 0; round < 120; ++round) {
      for (std::uint64_t n = random.below(8); n > 0; --n) scene.start_one();
      for (std::uint64_t n = random.below(6); n > 0; --n) scene.end_one();
      scene.allow_one();
      const VictimIndex::Question question = scene.question();
      // Sometimes the weights of before, sometimes others, sometimes none for one of the two.
      const VictimIndex::Weights weights{0.25 * static_cast<double>(random.below(4)),
                                         0.7 * static_cast<double>(random.below(4))};
      if (random.below(3) == 0) scene.index.reweigh(weights);
      const std::size_t most = 1 + random.below(5);
      std::vector<Choice> expected = scene.scan(question, weights), found;
      expected.resize(std::min(expected.size(), most));
      scene.index.find(question, weights, most, found);
      ASSERT_EQ(found.size(), expected.size()) << "seed " << seed << " round " << round;
      for (std::size_t i = 0; i < found.size(); ++i) {
        EXPECT_EQ(found[i].score, expected[i].score) << "seed " << seed << " round " << round;
        EXPECT_EQ(found[i].machine, expected[i].machine) << "seed " << seed << " round " << round;
        EXPECT_EQ(found[i].job, expected[i].job) << "seed " << seed << " round " << round;
      }
    }
  }
}

TEST(VictimIndex, KnowsTheLargest) {
  for (std::uint64_t seed = 1; seed <= 60; ++seed) {
    Scene scene(seed);
    Random random(seed, 3);
    for (int round = 0; round < 40; ++round) {
      for (int n = 0; n < 5; ++n) scene.start_one();
      for (std::uint64_t n = random.below(6); n > 0; --n) scene.end_one();
      VictimIndex::Question question = scene.question();
      question.only_if_needed = false;
      VictimIndex::Weights all, candidates;
      for (std::uint32_t m = 0; m < scene.hand.cluster.machines.size(); ++m)
        for (const VictimIndex::Victim& v : scene.index.on(MachineId{m})) {
          all.size = std::max(all.size, v.size), all.pause = std::max(all.pause, v.pause);
          const bool kind_fits = question.kind == kAnyKind ||
                                 scene.hand.cluster.machine(MachineId{m}).kind == question.kind;
          if (!kind_fits || !scene.index.answers(question, question.demand, v)) continue;
          candidates.size = std::max(candidates.size, v.size);
          candidates.pause = std::max(candidates.pause, v.pause);
        }
      EXPECT_EQ(scene.index.largest_size(), all.size) << "seed " << seed;
      EXPECT_EQ(scene.index.largest_pause(), all.pause) << "seed " << seed;
      EXPECT_EQ(scene.index.largest_of(question), candidates) << "seed " << seed;
    }
  }
}

}  // namespace
}  // namespace trainyard
