// How long jobs like it take: what has been seen of jobs that finished, as a distribution from
// which a forecast draws. What queue.estimates=residual knows of them (policy/residual.h), as a
// whole and not as one number: jobs of one user that declare about as much, then all jobs that do,
// then all.
//
// A draw for a job that has run for some time is one of those that took longer than that. Where
// none did, the job is taken to go on for as long as it has run. The limit bounds each, where it is
// one.
//
// Example: three jobs of Ada's that declared 10 h took 2 h, 2 h and 5 h. A job of Bob's that
// declares as much takes 2 h in 56% of the draws, 5 h in 28%, and the 10 h that it declares in 16%.
// After 3 h, it takes 5 h in 64% of them, and 10 h in 36%.
#pragma once

#include <array>
#include <map>
#include <optional>
#include <string>
#include <string_view>

#include "base/random.h"
#include "base/time.h"
#include "policy/learnt.h"
#include "policy/length_table.h"

namespace trainyard {

class JobLengths {
 public:
  /// A job of this user, which declared so much, has taken that long.
  void add(std::string_view user, Duration declared, Duration took);
  /// What a policy saved that goes by residual lengths.
  void recall(const Learnt& learnt);

  /// All the work of a job that has done some of it already; more than that. `is_limit`: it does
  /// not take longer than it declares.
  [[nodiscard]] Duration draw(std::string_view user, Duration declared, Duration done,
                              bool is_limit, Random& random) const;

 private:
  using Class = std::pair<std::string, int>;  // a user, and the octave of what is declared

  [[nodiscard]] static std::array<Class, 3> classes_of(std::string_view user, Duration declared);
  [[nodiscard]] const LengthMixture& mixture_of(std::string_view user, Duration declared) const;

  std::map<Class, LengthTable> tables_;
  mutable std::map<Class, LengthMixture> mixtures_;  // since the last job that was added
};

}  // namespace trainyard
