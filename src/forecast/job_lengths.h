// How long jobs like it take: the jobs that finished of late, as a distribution from which a
// forecast draws. Classes of jobs are, from the narrowest on: those of one user that declared about
// as much (the same octave of seconds), everybody's that did, and all; each counts as kTrust jobs
// of the class within it, and what a job declares as kTrust jobs of the widest.
//
// A draw for a job that has run for some time is one of those that took longer than that. Where
// none did, the job is taken to go on for as long as it has run. The limit bounds each, where it is
// one.
//
// Nobody knows the distribution itself, only some jobs of it, and all jobs of a forecast have to
// do with that one error. So within a draw each length that was drawn counts as one more job that
// was seen (Polya's urn): some draws have many long jobs and some have few. Jobs that run are to be
// drawn first: they say that there are jobs that long, before they have finished.
//
// Example: three jobs of Ada's that declared 10 h took 2 h, 2 h and 5 h. A job of Bob's that
// declares as much takes 2 h in 56% of the draws, 5 h in 28%, and the 10 h that it declares in 16%.
// After 3 h, it takes 5 h in 64% of them, and 10 h in 36%.
#pragma once

#include <array>
#include <deque>
#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/random.h"
#include "base/time.h"

namespace trainyard {

class JobLengths {
 public:
  static constexpr double kTrust = 2;
  static constexpr std::size_t kMost = 1024;  // jobs of a class, the last

  /// A job of this user, which declared so much, has taken that long.
  void add(std::string_view user, Duration declared, Duration took);

 private:
  using Class = std::pair<std::string, int>;  // a user, and the octave of what is declared
  static constexpr std::size_t kClasses = 3;

  /// The jobs of a class, each as a part of what it declared.
  struct Seen {
    std::vector<double> sorted;
    std::deque<double> in_order;

    void add(double part);
  };
  [[nodiscard]] static std::array<Class, kClasses> classes_of(std::string_view user,
                                                              Duration declared);

  std::map<Class, Seen> seen_;

 public:
  /// The lengths of one draw. JobLengths must outlive it and stay as it is.
  class Draw {
   public:
    explicit Draw(const JobLengths& lengths) : lengths_(lengths) {}

    /// All the work of a job that has done some of it already; more than that. `is_limit`: it does
    /// not take longer than it declares.
    Duration length(std::string_view user, Duration declared, Duration done, bool is_limit,
                    Random& random);

   private:
    /// One class: the jobs that were seen and drawn, and of them those that took longer than some
    /// part.
    struct Level {
      const std::vector<double>* seen;
      std::vector<double>* drawn;
      std::vector<double> longer_drawn = {};
      std::size_t longer_seen = 0;
      double chance = 0;  // that a job of the class is one of them
    };
    [[nodiscard]] double part(std::array<Level, kClasses>& levels, double outlived,
                              Random& random) const;

    const JobLengths& lengths_;
    std::map<Class, std::vector<double>> drawn_;
  };
};

}  // namespace trainyard
