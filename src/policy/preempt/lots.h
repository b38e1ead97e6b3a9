// Running jobs to draw lots among: each as likely as any other, none twice in a draw.
#pragma once

#include <algorithm>
#include <cstdint>
#include <utility>
#include <vector>

#include "base/grow.h"
#include "base/random.h"
#include "policy/learnt.h"
#include "yard/yard.h"

namespace trainyard {

class Lots {
 public:
  explicit Lots(std::uint64_t seed) : start_(seed, kStream), random_(start_) {}

  void add(const Yard& yard, JobId job) {
    grow_to(place_, index(job), yard.workload().jobs.size());
    place_[index(job)] = static_cast<std::uint32_t>(jobs_.size());
    jobs_.push_back(job);
  }

  /// Nothing happens if it is not there.
  void remove(JobId job) {
    if (!contains(job)) return;
    swap(place_[index(job)], jobs_.size() - 1);
    jobs_.pop_back();
  }

  [[nodiscard]] bool contains(JobId job) const {
    return index(job) < place_.size() && place_[index(job)] < jobs_.size() &&
           jobs_[place_[index(job)]] == job;
  }

  /// Draws until done(job) or everybody was drawn; true in the first case.
  template <class Done>
  bool draw(Done done) {
    for (std::size_t i = 0; i < jobs_.size(); ++i) {
      swap(i, i + random_.below(jobs_.size() - i));
      if (done(jobs_[i])) return true;
    }
    return false;
  }

  void save_learnt(Learnt& learnt) const {
    learnt[kName] = {static_cast<double>(random_.drawn_since(start_))};
    JobNotes notes(learnt, kName, 0);
    for (const JobId job : jobs_) notes.add(job, {});
  }
  /// Those that are there draw on in the order in which they were saved.
  void recall_jobs(const Learnt& learnt, std::size_t jobs) {
    std::size_t next = 0;
    each_note(learnt, kName, 0, jobs, [&](JobId job, auto) {
      if (contains(job) && place_[index(job)] >= next) swap(place_[index(job)], next++);
    });
    each_learnt(learnt, kName, [&](std::string_view rest, std::span<const double> drawn) {
      if (!rest.empty() || drawn.size() != 1) return;
      random_ = start_;
      random_.skip(static_cast<std::uint64_t>(std::min(drawn[0], 9e15)));
    });
  }

 private:
  static constexpr std::uint64_t kStream = 101;
  static constexpr const char* kName = "lots";

  void swap(std::size_t a, std::size_t b) {
    std::swap(jobs_[a], jobs_[b]);
    place_[index(jobs_[a])] = static_cast<std::uint32_t>(a);
    place_[index(jobs_[b])] = static_cast<std::uint32_t>(b);
  }

  Random start_, random_;
  std::vector<JobId> jobs_;           // in no order that matters
  std::vector<std::uint32_t> place_;  // by job: where in jobs_
};

}  // namespace trainyard
