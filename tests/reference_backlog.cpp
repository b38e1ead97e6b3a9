#include "reference_backlog.h"

#include <algorithm>
#include <numeric>

namespace trainyard::reference {

void State::note_left(std::size_t j) {
  trains[j].least_left_then = std::min(left(j), expected_remaining(j));
  trains[j].notes_before = work_notes.size();
  trains[j].starts_before = starts.size();
}

/// A job that starts or runs has the time left until it is believed to end, if ever; one that has
/// run for longer than believed has none.
Duration State::work_of(const Jobs& jobs) const {
  std::int64_t gpu_us = 0;
  for (const std::size_t j : jobs) {
    const Train& train = trains[j];
    if (train.stage == Stage::absent || train.stage == Stage::done) continue;
    const bool goes_on = train.stage == Stage::starting || train.stage == Stage::running;
    const bool ends = goes_on && leaves_at(j) - now <= kLongestDuration;
    const Duration time = ends ? std::max(leaves_at(j) - now, Duration{}) : left(j);
    gpu_us += time.us * job(j).gpus();
  }
  return {std::max<std::int64_t>(gpu_us, 0) / std::max(cluster.total_gpus, 1)};
}

Duration State::all_work() const {
  Jobs all(trains.size());
  std::iota(all.begin(), all.end(), std::size_t{0});
  return work_of(all);
}

void State::note_work() {
  if (has_come) work_notes.push_back({now, all_work(), {}});
  has_come = false;
}

/// What was believed of the job before, and is no longer.
void State::note_vain(std::size_t j, Duration before) {
  if (const Duration vain = before - work_of({j}); vain > Duration{})
    work_notes.push_back({now, vain, job(j).submit});
}

Time State::last_came() const {
  Time last;
  for (std::size_t j = 0; j < trains.size(); ++j)
    if (trains[j].stage != Stage::absent) last = std::max(last, job(j).submit);
  return last;
}

/// What it has left, by what is believed and by what it declares, takes as long as all GPUs need
/// for all work that there is, and for as much as came within a time as long as that; and nobody
/// came for a 32nd of it.
bool State::is_critical(std::size_t j) const {
  const Duration left = trains[j].least_left_then;
  double came = 0;
  for (std::size_t other = 0; other < trains.size(); ++other)
    if (trains[other].stage != Stage::absent && job(other).submit > now - left)
      came += static_cast<double>(trains[other].left_at_first.us) * job(other).gpus();
  const double all = static_cast<double>(all_work().us) + came / std::max(cluster.total_gpus, 1);
  return static_cast<double>(left.us) >= all && left.us <= 32 * (now - last_came()).us;
}

/// The most work that there was in this span of four weeks, and in the one before, each with the
/// time when it was there. Of a job that ends, what it has not done was not there after all, if the
/// job was; nor was what is believed of it no longer. A span is over when somebody comes to the
/// queue after its end.
Duration longest_wait(const Settings& set, std::span<const WorkNote> notes) {
  if (set.fair_wait == 0) return set.patience;
  constexpr Duration kSpan = days(28);
  const auto span_of = [&](Time at) { return at.us / kSpan.us; };
  const WorkNote none{Time{}, {}, {}};
  WorkNote most = none, most_before = none;
  std::int64_t span = 0;
  for (const WorkNote& note : notes) {
    if (note.of_one_from) {
      for (WorkNote* peak : {&most, &most_before})
        if (*note.of_one_from <= peak->at)
          peak->work = std::max(peak->work - note.work, Duration{});
      continue;
    }
    if (span_of(note.at) > span) most_before = span_of(note.at) == span + 1 ? most : none;
    if (span_of(note.at) > span) most = none;
    span = span_of(note.at);
    if (note.work >= most.work) most = note;
  }
  const Duration work = std::max({most.work, most_before.work, hours(1)});
  return std::min(set.patience, Duration{static_cast<std::int64_t>(set.fair_wait *
                                                                   static_cast<double>(work.us))});
}

}  // namespace trainyard::reference
