// What the measurements share: a table of figures, each with its target and the machine's own limit
// beside it, and the means to measure.
//
// Everything runs on one core. Whole runs are measured in CPU time, which is the wall time of a
// single thread that waits for nothing, less what other programs took of the core meanwhile.
#pragma once

#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <optional>
#include <regex>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

#include "base/cycle_clock.h"
#include "base/error.h"
#include "base/stats.h"

namespace trainyard::bench {

struct Target {
  enum class Is { at_least, at_most } is;
  double value;
};

struct Figure {
  std::string name;
  double measured = 0;
  std::string unit;
  std::optional<Target> target = {};
  std::optional<double> limit = {};  // of the machine, in the same unit
  std::string note = {};
};

/// Three digits, and thousands in groups: "1,234,567", "12.3", "0.987".
std::string number(double value);

class Table {
 public:
  /// An empty filter matches every name.
  explicit Table(const std::string& filter) : filter_(filter) {}

  /// Whether the group of figures of this name is asked for; says that its measurement begins.
  [[nodiscard]] bool wants(const std::string& group) const;
  void add(Figure figure) { figures_.push_back(std::move(figure)); }
  /// As Markdown, to standard output.
  void print() const;

 private:
  std::regex filter_;
  std::vector<Figure> figures_;
};

// The subjects, a file each.
void measure_replays(Table& table);
void measure_decisions(Table& table);
void measure_victims(Table& table);
void measure_benefit(Table& table);
void measure_gangs(Table& table);
void measure_curve_fits(Table& table);
void measure_network(Table& table);
void measure_market(Table& table);
void measure_forecasts(Table& table);
void measure_reading(Table& table);
/// On all cores: last.
void measure_live(Table& table);

/// The value, or the end of the program: what a benchmark asks for is known to be right.
template <class T>
T must(Expected<T> value) {
  if (value) return std::move(*value);
  std::fprintf(stderr, "trainyard_bench: %s\n", value.error().message.c_str());
  std::exit(1);
}

/// CPU seconds that the work took.
template <class Work>
double seconds(Work work) {
  const auto now = [] {
    timespec t{};
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
    return static_cast<double>(t.tv_sec) + static_cast<double>(t.tv_nsec) / 1e9;
  };
  const double begin = now();
  work();
  return now() - begin;
}

/// The median of an odd number of measurements; each is what measure() returns.
template <class Measure>
double median_of(std::size_t times, Measure measure) {
  std::vector<double> all(times);
  for (double& value : all) value = measure();
  std::sort(all.begin(), all.end());
  return all[times / 2];
}

/// How long something took that was done many times.
struct Latency {
  double p50_us = 0, p99_us = 0, max_us = 0;
};

/// Of measurements in ticks of the CycleClock.
inline Latency latency_of(const Histogram& ticks) {
  const double rate = CycleClock::ticks_per_us();
  return {ticks.percentile(0.50) / rate, ticks.percentile(0.99) / rate,
          static_cast<double>(ticks.max()) / rate};
}

/// Keeps the compiler from leaving out the work whose result this is.
template <class T>
void keep(const T& value) {
  asm volatile("" : : "r,m"(value) : "memory");
}

/// What work() returns, done in a process of its own, whose memory nothing else has touched.
template <class Work>
auto in_child(Work work) {
  using Result = std::invoke_result_t<Work>;
  static_assert(std::is_trivially_copyable_v<Result>);
  std::array<int, 2> ends{};
  if (pipe(ends.data()) != 0) std::abort();
  const pid_t child = fork();
  if (child == 0) {
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    const Result result = work();
    const bool written = write(ends[1], &result, sizeof result) == sizeof result;
    _exit(written ? 0 : 1);
  }
  close(ends[1]);
  Result result{};
  const bool complete = child > 0 && read(ends[0], &result, sizeof result) == sizeof result;
  close(ends[0]);
  if (child > 0) waitpid(child, nullptr, 0);
  if (complete) return result;
  std::fprintf(stderr, "trainyard_bench: a measuring process ended without a result\n");
  std::exit(1);
}

}  // namespace trainyard::bench
