#include "base/progress.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <string_view>
#include <utility>

#include "base/time.h"

namespace trainyard {
namespace {

constexpr double kQuietSeconds = 1;
constexpr double kSecondsBetweenDraws = 0.1;
constexpr std::size_t kBarWidth = 30;

bool is_terminal(std::FILE* out) {
  const char* kind = std::getenv("TERM");
  return isatty(fileno(out)) == 1 && kind != nullptr && std::string_view(kind) != "dumb";
}

/// "12.5/s", "3.1 k/s", "1.2 M/s".
std::string format_rate(double per_s) {
  if (per_s >= 1e6) return fmt::format("{:.1f} M/s", per_s / 1e6);
  if (per_s >= 1e3) return fmt::format("{:.1f} k/s", per_s / 1e3);
  return fmt::format("{:.1f}/s", per_s);
}

}  // namespace

ProgressText::ProgressText(std::string label, std::uint64_t total, bool terminal)
    : label_(std::move(label)),
      total_(std::max<std::uint64_t>(total, 1)),
      terminal_(terminal),
      next_draw_s_(kQuietSeconds) {}

std::string ProgressText::next(std::uint64_t done, double elapsed_s) {
  if (elapsed_s < next_draw_s_) return "";
  next_draw_s_ = elapsed_s + kSecondsBetweenDraws;
  if (!terminal_) return quarters(done, elapsed_s);
  drawn_ = true;
  return bar(done, elapsed_s);
}

std::string ProgressText::finish(std::uint64_t done, double elapsed_s) {
  if (terminal_) return drawn_ ? "\r\033[K" : "";
  return elapsed_s < kQuietSeconds ? "" : quarters(done, elapsed_s);
}

std::string ProgressText::bar(std::uint64_t done, double elapsed_s) const {
  const double share = std::min(1.0, static_cast<double>(done) / static_cast<double>(total_));
  const auto filled = static_cast<std::size_t>(share * kBarWidth);
  std::string text = fmt::format("\r\033[K{} [{:=<{}}{:.<{}}] {:3.0f}%  {}/{}", label_, "", filled,
                                 "", kBarWidth - filled, std::floor(share * 100), done, total_);
  if (done == 0) return text;
  const double per_s = static_cast<double>(done) / elapsed_s;
  const double left_s = std::max(0.0, static_cast<double>(total_) / per_s - elapsed_s);
  text += fmt::format("  {}", format_rate(per_s));
  if (const auto left = duration_from_seconds(std::ceil(left_s)); left)
    text += fmt::format("  {} left", format(*left));
  return text;
}

std::string ProgressText::quarters(std::uint64_t done, double elapsed_s) {
  // In floating point: four times a count of events may not fit an integer.
  const double share = static_cast<double>(done) / static_cast<double>(total_);
  const auto reached = static_cast<std::uint64_t>(4 * std::min(1.0, share));
  if (reached < next_quarter_) return "";
  next_quarter_ = reached + 1;
  return fmt::format("{}: {}% ({}/{}) after {:.0f} s\n", label_, 25 * reached, done, total_,
                     elapsed_s);
}

Progress::Progress(std::string label, std::uint64_t total, std::FILE* out)
    : out_(out),
      stride_(std::max<std::uint64_t>(1, total / 1000)),
      start_(std::chrono::steady_clock::now()),
      next_look_(stride_),
      text_(std::move(label), total, is_terminal(out)) {}

Progress::~Progress() {
  print(text_.finish(done_, elapsed_s()));
}

void Progress::add(std::uint64_t n) {
  const std::uint64_t done = done_.fetch_add(n, std::memory_order_relaxed) + n;
  if (done < next_look_.load(std::memory_order_relaxed)) return;
  const std::unique_lock lock(drawing_, std::try_to_lock);
  if (!lock) return;
  next_look_.store(done + stride_, std::memory_order_relaxed);
  print(text_.next(done, elapsed_s()));
}

double Progress::elapsed_s() const {
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start_).count();
}

void Progress::print(const std::string& text) {
  if (text.empty()) return;
  std::fwrite(text.data(), 1, text.size(), out_);
  std::fflush(out_);
}

}  // namespace trainyard
