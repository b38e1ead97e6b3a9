// How far a long piece of work is, on stderr: a bar with rate and remaining time when a person
// watches (a terminal), a line at each quarter when a file does. Work shorter than a second shows
// nothing. Counting is one atomic addition; the clock is read about a thousand times in all, and a
// thread never waits for another one's drawing.
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <mutex>
#include <string>

namespace trainyard {

/// What to print, from the count and the time alone. Not thread-safe.
class ProgressText {
 public:
  ProgressText(std::string label, std::uint64_t total, bool terminal);

  /// The text to print now; empty when there is nothing new to see.
  std::string next(std::uint64_t done, double elapsed_s);
  /// What ends the display: takes the bar away, or prints the quarters not printed yet.
  std::string finish(std::uint64_t done, double elapsed_s);

 private:
  [[nodiscard]] std::string bar(std::uint64_t done, double elapsed_s) const;
  std::string quarters(std::uint64_t done, double elapsed_s);

  std::string label_;
  std::uint64_t total_;
  bool terminal_;
  bool drawn_ = false;
  double next_draw_s_;
  std::uint64_t next_quarter_ = 1;
};

/// Counts from any number of threads, prints from whichever comes by when it is time.
class Progress {
 public:
  Progress(std::string label, std::uint64_t total, std::FILE* out = stderr);
  ~Progress();
  Progress(const Progress&) = delete;
  Progress& operator=(const Progress&) = delete;

  void add(std::uint64_t n = 1);

 private:
  [[nodiscard]] double elapsed_s() const;
  void print(const std::string& text);

  std::FILE* out_;
  const std::uint64_t stride_;  // counts between two looks at the clock
  const std::chrono::steady_clock::time_point start_;
  std::atomic<std::uint64_t> done_{0}, next_look_;
  std::mutex drawing_;  // guards text_ and out_
  ProgressText text_;
};

}  // namespace trainyard
