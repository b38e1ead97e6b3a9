#include "forecast/job_lengths.h"

#include <algorithm>
#include <cmath>

namespace trainyard {
namespace {

constexpr int kAnyTime = -1000;

double part_of(Duration work, Duration declared) {
  return static_cast<double>(work.us) / static_cast<double>(declared.us);
}

}  // namespace

std::array<JobLengths::Class, JobLengths::kClasses> JobLengths::classes_of(std::string_view user,
                                                                           Duration declared) {
  const int octave = std::ilogb(declared.seconds());
  return {Class{"=" + std::string(user), octave}, Class{"", octave}, Class{"", kAnyTime}};
}

void JobLengths::Seen::add(double part) {
  in_order.push_back(part);
  sorted.insert(std::ranges::upper_bound(sorted, part), part);
  if (in_order.size() <= kMost) return;
  sorted.erase(std::ranges::lower_bound(sorted, in_order.front()));
  in_order.pop_front();
}

void JobLengths::add(std::string_view user, Duration declared, Duration took) {
  declared = std::max(declared, microseconds(1));
  const double part = part_of(std::max(took, microseconds(1)), declared);
  for (Class& each : classes_of(user, declared)) seen_[std::move(each)].add(part);
}

/// By the narrowest class first; from each on to the next wider as often as that counts.
double JobLengths::Draw::part(std::array<Level, kClasses>& levels, double outlived,
                              Random& random) const {
  double wider = outlived < 1 ? 1 : 0;  // the chance in the class around, at last the declaration
  for (std::size_t i = kClasses; i-- > 0;) {
    Level& level = levels[i];
    const auto first = std::ranges::upper_bound(*level.seen, outlived);
    level.longer_seen = static_cast<std::size_t>(level.seen->end() - first);
    if (outlived > 0)
      std::ranges::copy_if(*level.drawn, std::back_inserter(level.longer_drawn),
                           [&](double drawn) { return drawn > outlived; });
    const auto all = static_cast<double>(level.seen->size() + level.drawn->size());
    const std::size_t drawn = outlived > 0 ? level.longer_drawn.size() : level.drawn->size();
    level.chance =
        (static_cast<double>(level.longer_seen + drawn) + kTrust * wider) / (all + kTrust);
    wider = level.chance;
  }
  if (wider == 0) return 2 * outlived;
  for (std::size_t i = 0; i < kClasses; ++i) {
    const Level& level = levels[i];
    const std::vector<double>& drawn = outlived > 0 ? level.longer_drawn : *level.drawn;
    const double beyond = i + 1 < kClasses ? levels[i + 1].chance : (outlived < 1 ? 1 : 0);
    const auto here = static_cast<double>(level.longer_seen + drawn.size());
    const double which = random.uniform() * (here + kTrust * beyond);
    if (which >= here) continue;
    const auto at = static_cast<std::size_t>(which);
    return at < drawn.size() ? drawn[at]
                             : (*level.seen)[level.seen->size() - 1 - (at - drawn.size())];
  }
  return 1;
}

Duration JobLengths::Draw::length(std::string_view user, Duration declared, Duration done,
                                  bool is_limit, Random& random) {
  static const std::vector<double> kNone;
  declared = std::max(declared, microseconds(1));
  std::array<Level, kClasses> levels{};
  const std::array<Class, kClasses> classes = classes_of(user, declared);
  for (std::size_t i = 0; i < kClasses; ++i) {
    const auto seen = lengths_.seen_.find(classes[i]);
    levels[i].seen = seen == lengths_.seen_.end() ? &kNone : &seen->second.sorted;
    levels[i].drawn = &drawn_[classes[i]];
  }
  const double length = part(levels, part_of(done, declared), random);
  for (const Level& level : levels) level.drawn->push_back(length);
  const double us = std::min(std::min(length, 1e9) * static_cast<double>(declared.us),
                             static_cast<double>(kLongestDuration.us));
  const Duration most = is_limit ? std::max(declared, done) : kLongestDuration;
  return std::max(std::min(Duration{std::llround(us)}, most), done + microseconds(1));
}

}  // namespace trainyard
