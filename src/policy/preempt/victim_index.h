// The running jobs that could give way, for one question: of those whose leaving makes room for a
// given demand on their machine, which costs the least? The cost of a victim is
//
//   score = weights.size * size + weights.pause * pause
//
// where size and pause belong to the victim, and the weights change from question to question.
//
// The index is a tournament tree over the machines. A node knows, of the victims
// below it, the least score by some former weights, the least size and pause, and the most room
// that one of them could make in each resource. A search goes down where all resources could
// suffice, into the more promising half first, and leaves out what cannot beat the best found so
// far. With weights w = (a, b), former weights (a', b') and r = min(a/a', b/b'), no victim below a
// node scores less than
//
//   r * (least former score) + (a - r a') * (least size) + (b - r b') * (least pause),
//
// which is exact for w = w'. The same holds within each class of victims: for each resource, those
// that make room for at least a sixteenth, two sixteenths ... of the largest machine. A victim that
// answers is in all three classes of the demand, so the largest of their bounds counts; this is
// what finds the few that have room for a large demand. So weights that creep cost little, and the
// tree is brought up to them (reweigh) only every so often. Ties go to the machine with the lowest
// number, there to the job that was submitted last.
//
// bench/victims.cpp measures it. A change on a machine costs the depth of the tree.
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <vector>

#include "base/ids.h"
#include "base/resources.h"
#include "model/placement.h"
#include "yard/yard.h"

namespace trainyard {

class VictimIndex {
 public:
  struct Weights {
    double size = 0, pause = 0;
    bool operator==(const Weights&) const = default;
  };

  struct Victim {
    JobId job = kNoJob;
    Resources held;  // on this machine
    Resources room;  // with what is free beside it
    double size = 0, pause = 0;
    bool pausable = false;  // else it only counts for the largest size and pause

    [[nodiscard]] double score(const Weights& w) const { return w.size * size + w.pause * pause; }
  };

  struct Choice {
    double score = 0;
    MachineId machine = kNoMachine;
    JobId job = kNoJob;

    friend bool operator<(const Choice& a, const Choice& b) {
      return a.score != b.score ? a.score < b.score : a.machine < b.machine;
    }
  };

  explicit VictimIndex(const Yard& yard);

  /// The job runs. Its placement is the yard's.
  void add(JobId job, double size, double pause, bool pausable);
  /// It may be paused from now on.
  void allow(JobId job);
  /// Its pause costs something else than was thought.
  void reprice(JobId job, double pause);
  /// It runs no longer.
  void remove(JobId job);
  /// What is free on these machines has changed.
  void refresh(const Placement& machines);

  [[nodiscard]] double largest_size() const { return nodes_[1].largest_size; }
  [[nodiscard]] double largest_pause() const { return nodes_[1].largest_pause; }

  /// What is asked for: a victim whose room, with what is free beside it, holds so many workers of
  /// the waiter. `demand` is the least that these take on any machine.
  struct Question {
    Resources demand;
    KindId kind = kAnyKind;
    JobId waiter = kNoJob;
    bool only_if_needed = false;  // leaves out machines that have the demand free
    std::int32_t workers = 1;
  };

  /// The best victim on each of up to `most` machines, the best machine first.
  void find(const Question& question, const Weights& weights, std::size_t most,
            std::vector<Choice>& out);

  /// The largest size and pause of those who could answer the question.
  [[nodiscard]] Weights largest_of(const Question& question) const;

  /// Whether the weights have moved so far, or so much else has, that reweigh pays.
  [[nodiscard]] bool is_stale(const Weights& weights) const;
  void reweigh(const Weights& weights);

  [[nodiscard]] std::span<const Victim> on(MachineId machine) const {
    return victims_[index(machine)];
  }
  /// What the question's workers take of this machine.
  [[nodiscard]] Resources demand_on(const Question& question, MachineId machine) const;
  /// Whether it could be the answer, where that is the demand on its machine.
  [[nodiscard]] bool answers(const Question& question, const Resources& demand,
                             const Victim& v) const;

 private:
  static constexpr std::size_t kClasses = 16;  // of each resource
  /// By class of GPUs, then of CPUs, then of memory: a score in steps, rounded down; two bytes
  /// each, so that a node is three lines of the cache.
  using LeastOfClass = std::array<std::uint16_t, 3 * kClasses>;
  static constexpr std::uint16_t kNobody = 0xffff;

  struct Node {
    double least_score, least_size, least_pause;  // of the pausable
    double largest_size = 0, largest_pause = 0;   // of all
    Resources room;                               // the most in each resource, by one of them
    LeastOfClass least_of;                        // score
  };

  struct Search;

  [[nodiscard]] static Node nobody();
  [[nodiscard]] std::uint16_t in_steps(double score) const;
  /// The class that a demand, or a room, belongs to in each resource; 0: less than a sixteenth.
  [[nodiscard]] std::array<std::size_t, 3> classes(const Resources& amount) const;
  [[nodiscard]] Node leaf(MachineId machine) const;
  void count(const Victim& victim, Node& node) const;
  [[nodiscard]] bool is_of_kind(KindId kind, MachineId machine) const {
    return kind == kAnyKind || yard_.cluster().machine(machine).kind == kind;
  }
  void update(MachineId machine);
  void pull(std::size_t node);
  [[nodiscard]] static bool could_hold(const Node& node, const Question& question);
  void descend(Search& search, std::size_t node) const;
  void visit(Search& search, MachineId machine) const;

  const Yard& yard_;
  Resources largest_machine_;         // in each resource
  std::size_t leaves_;                // a power of two
  std::vector<Node> nodes_;           // 1 is the root, the children of i are 2i and 2i + 1
  std::vector<std::uint64_t> kinds_;  // of the machines below each node, a bit each modulo 64
  std::vector<std::vector<Victim>> victims_;  // by machine
  Weights weights_;
  double step_ = 1;          // of the scores by class
  std::size_t changes_ = 0;  // since reweigh
};

}  // namespace trainyard
