// Whose bytes go first, in the reference. Jobs that span machines are ranked; the first ones have a
// class each, all others the last one. A job is ranked when it starts and, where ranks change with
// time, all are every period; classes are found anew when a job came or went, and every period.
#pragma once

#include <map>
#include <tuple>

#include "perf/curve_fit.h"
#include "reference_state.h"

namespace trainyard::reference {

class FlowOrder {
 public:
  FlowOrder(State& state, const Settings& settings);

  /// At the end of a round of deciding: gives the jobs their classes. Returns when it wants to be
  /// asked again.
  Time refresh();

  /// Of a job that waits for a room to be left, as it will start: by its rank among those that send
  /// now.
  [[nodiscard]] std::size_t class_at_start(std::size_t j);

  /// Whether it goes by what jobs tell of their learning.
  [[nodiscard]] bool hears_points() const;
  void note_point(std::size_t j, const LearningPoint& point);

 private:
  /// Smaller goes first: whether it joins the last class anyway, tier, key, tie, number.
  using Rank = std::tuple<bool, int, double, double, std::size_t>;
  struct Ranked {
    Time started;  // which of its runs this is
    Rank rank;
  };
  struct Told {
    CurvePoints points;
    double steps_per_work = 0;  // in a second of work
  };

  void note_who_sends();
  [[nodiscard]] bool drifts() const;
  [[nodiscard]] Rank rank(std::size_t j) const;
  [[nodiscard]] Rank by_gain(std::size_t j) const;
  [[nodiscard]] Rank by_time_to_95(std::size_t j) const;
  [[nodiscard]] Rank by_milestone(std::size_t j) const;
  /// The job's curve and where it is on it, in seconds from now.
  struct Outlook {
    std::optional<Hyperbola> fit;  // none: the true one
    const LearningCurve* truth;
    double at, per_s;

    [[nodiscard]] double after(double seconds) const;
    [[nodiscard]] double limit() const { return fit ? fit->limit : truth->limit(); }
  };
  [[nodiscard]] std::optional<Outlook> outlook(std::size_t j) const;
  [[nodiscard]] double seconds_to(double fraction, const Outlook& ahead, std::size_t j) const;
  [[nodiscard]] double last_step(std::size_t j) const;

  State& state_;
  const Settings& set_;
  std::map<std::size_t, Ranked> senders_;
  std::map<std::size_t, Told> told_;
  Time next_;
  bool has_news_ = false;  // a job that sends came or went
};

}  // namespace trainyard::reference
