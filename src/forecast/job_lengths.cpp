#include "forecast/job_lengths.h"

#include <algorithm>
#include <cmath>
#include <vector>

namespace trainyard {
namespace {

constexpr std::string_view kLengths = "lengths/";  // as policy/residual.cpp names them
constexpr int kAnyTime = -1000;

double part_of(Duration work, Duration declared) {
  return static_cast<double>(work.us) / static_cast<double>(declared.us);
}

}  // namespace

std::array<JobLengths::Class, 3> JobLengths::classes_of(std::string_view user, Duration declared) {
  const int octave = std::ilogb(declared.seconds());
  return {Class{"=" + std::string(user), octave}, Class{"", octave}, Class{"", kAnyTime}};
}

void JobLengths::add(std::string_view user, Duration declared, Duration took) {
  declared = std::max(declared, microseconds(1));
  for (const Class& each : classes_of(user, declared))
    tables_[each].add(part_of(std::max(took, microseconds(1)), declared));
  mixtures_.clear();
}

void JobLengths::recall(const Learnt& learnt) {
  each_learnt(learnt, kLengths, [&](std::string_view name, std::span<const double> numbers) {
    int octave = 0;
    std::string_view user;
    if (!split_number(name, octave, user)) return;
    if (auto table = LengthTable::from(numbers)) tables_[{std::string(user), octave}] = *table;
  });
  mixtures_.clear();
}

const LengthMixture& JobLengths::mixture_of(std::string_view user, Duration declared) const {
  const std::array<Class, 3> classes = classes_of(user, declared);
  const auto known = mixtures_.find(classes.front());
  if (known != mixtures_.end()) return known->second;
  std::vector<const LengthTable*> tables;
  static const LengthTable nothing;
  for (const Class& each : classes) {
    const auto table = tables_.find(each);
    tables.push_back(table == tables_.end() ? &nothing : &table->second);
  }
  return mixtures_.emplace(classes.front(), LengthMixture(tables)).first->second;
}

Duration JobLengths::draw(std::string_view user, Duration declared, Duration done, bool is_limit,
                          Random& random) const {
  declared = std::max(declared, microseconds(1));
  const double part = mixture_of(user, declared).draw(part_of(done, declared), random.uniform());
  const double us = std::min(part, 1e9) * static_cast<double>(declared.us);
  const auto length = Duration{std::llround(std::min(us, double(kLongestDuration.us)))};
  const Duration most = is_limit ? std::max(declared, done) : kLongestDuration;
  return std::max(std::min(length, most), done + microseconds(1));
}

}  // namespace trainyard
