#include "reference_backlog.h"

#include <algorithm>
#include <map>
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

/// So much was believed of the job before.
void State::note_less(std::size_t j, Duration before) {
  work_notes.push_back({now, before - work_of({j}), WorkNote::One{j, job(j).submit}});
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

namespace {

/// The most work that there was; and by how much less is believed since of each that was there.
struct MostWork {
  Time at;
  Duration work;
  std::map<std::size_t, Duration> less;

  /// What more is believed of a job than at that time makes up for nothing.
  [[nodiscard]] Duration by_now() const {
    Duration vain;
    for (const auto& [job, time] : less) vain += std::max(time, Duration{});
    return work - vain;
  }
  void note(const WorkNote& of_one) {
    if (of_one.less_of->submitted <= at) less[of_one.less_of->job] += of_one.work;
  }
};

}  // namespace

/// The most work that there was in this span of four weeks, and in the one before, each with the
/// time when it was there. Of a job that ends, what it has not done was not there after all, if the
/// job was; nor was what is believed of it no longer. A span is over when somebody comes to the
/// queue after its end.
Duration longest_wait(const Settings& set, std::span<const WorkNote> notes) {
  if (set.fair_wait == 0) return set.patience;
  constexpr Duration kSpan = days(28);
  const auto span_of = [&](Time at) { return at.us / kSpan.us; };
  MostWork most, most_before;
  std::int64_t span = 0;
  for (const WorkNote& note : notes) {
    if (note.less_of) {
      most.note(note), most_before.note(note);
      continue;
    }
    if (span_of(note.at) > span) most_before = span_of(note.at) == span + 1 ? most : MostWork{};
    if (span_of(note.at) > span) most = {};
    span = span_of(note.at);
    if (note.work >= most.by_now()) most = {note.at, note.work, {}};
  }
  const Duration work = std::max({most.by_now(), most_before.by_now(), hours(1)});
  return std::min(set.patience, Duration{static_cast<std::int64_t>(set.fair_wait *
                                                                   static_cast<double>(work.us))});
}

}  // namespace trainyard::reference
