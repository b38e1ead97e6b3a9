// What a policy has learnt, as lists of numbers by name, so that it outlives the policy: another
// one takes from it what it knows by name. A list that does not look as it should is left out, as
// it may come from another version or a damaged file.
#pragma once

#include <charconv>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/ids.h"
#include "base/time.h"

namespace trainyard {

using Learnt = std::map<std::string, std::vector<double>, std::less<>>;

/// Visits what is kept under names that begin so, with what follows in the name: visit(rest, list).
/// All numbers of a list are finite and none is negative.
template <class Visit>
void each_learnt(const Learnt& learnt, std::string_view begin, Visit visit) {
  for (auto kept = learnt.lower_bound(begin);
       kept != learnt.end() && kept->first.starts_with(begin); ++kept) {
    bool is_sound = true;
    for (const double number : kept->second)
      is_sound = is_sound && std::isfinite(number) && number >= 0;
    if (is_sound)
      visit(std::string_view(kept->first).substr(begin.size()),
            std::span<const double>(kept->second));
  }
}

/// Splits "12/rest". False: it does not begin with a whole number and a slash.
inline bool split_number(std::string_view text, int& number, std::string_view& rest) {
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc{} || end == text.data() + text.size() || *end != '/') return false;
  rest = text.substr(static_cast<std::size_t>(end - text.data()) + 1);
  return true;
}

/// Times as numbers that keep each microsecond for 285 years; `never` stays never.
inline double number_of(Time at) {
  return static_cast<double>(at.us);
}
inline Time time_of(double number) {
  return number > 9e18 ? Time::never() : Time{static_cast<std::int64_t>(number)};
}
inline double number_of(Duration span) {
  return static_cast<double>(span.us);
}
inline Duration duration_of(double number) {
  return number > 9e18 ? Duration::max() : Duration{static_cast<std::int64_t>(number)};
}
/// A number that may be negative, as two that are not.
inline double above_zero(double number) {
  return number > 0 ? number : 0;
}

/// What is known of single jobs: a list under "jobs/NAME" that begins with how many numbers there
/// are of each job, the first of which is the job's in the yard. A yard that numbers its jobs
/// differently has to leave these lists out.
constexpr std::string_view kOfJobs = "jobs/";

class JobNotes {
 public:
  JobNotes(Learnt& learnt, std::string_view name, std::size_t each)
      : list_(learnt[std::string(kOfJobs) + std::string(name)]) {
    list_.assign(1, static_cast<double>(each + 1));
  }
  void add(JobId job, std::initializer_list<double> numbers) {
    add(job, std::span(numbers.begin(), numbers.size()));
  }
  void add(JobId job, std::span<const double> numbers) {
    list_.push_back(static_cast<double>(index(job)));
    list_.insert(list_.end(), numbers.begin(), numbers.end());
  }

 private:
  std::vector<double>& list_;
};

/// Visits the notes of that name about the first `jobs` jobs: visit(job, `each` numbers).
template <class Visit>
void each_note(const Learnt& learnt, std::string_view name, std::size_t each, std::size_t jobs,
               Visit visit) {
  const std::string begin = std::string(kOfJobs) + std::string(name);
  each_learnt(learnt, begin, [&](std::string_view rest, std::span<const double> list) {
    const std::size_t stride = each + 1;
    if (!rest.empty() || list.empty() || list[0] != static_cast<double>(stride)) return;
    for (std::size_t i = 1; i + stride <= list.size(); i += stride)
      if (list[i] < static_cast<double>(jobs))
        visit(JobId{static_cast<std::uint32_t>(list[i])}, list.subspan(i + 1, each));
  });
}

}  // namespace trainyard
