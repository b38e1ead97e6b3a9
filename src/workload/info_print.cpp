#include "workload/info_print.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <iterator>
#include <nlohmann/json.hpp>

namespace trainyard {
namespace {

using Json = nlohmann::ordered_json;

constexpr double kSecondsPerHour = 3600;

/// 1234567 as "1,234,567".
std::string grouped(std::int64_t n) {
  std::string digits = std::to_string(n);
  for (auto at = static_cast<std::ptrdiff_t>(digits.size()) - 3; at > 0; at -= 3)
    digits.insert(static_cast<std::size_t>(at), ",");
  return digits;
}

std::string grouped(std::size_t n) {
  return grouped(static_cast<std::int64_t>(n));
}

std::string in_words(double s) {
  return format(Duration{std::llround(s * 1e6)});
}
std::string in_words(Time t) {
  return format(t - Time{});
}

/// A bar of `share` (0 to 1) of `width` cells, padded to the width. What is not nothing is seen.
std::string bar(double share, int width, Bars bars) {
  constexpr std::array<std::string_view, 8> kEighths{" ", "▏", "▎", "▍", "▌", "▋", "▊", "▉"};
  const int steps = bars == Bars::blocks ? 8 : 1;
  const int filled =
      share <= 0 ? 0 : std::max(1, static_cast<int>(std::lround(share * width * steps)));
  std::string text;
  for (int i = 0; i < filled / steps; ++i) text += bars == Bars::blocks ? "█" : "#";
  if (filled % steps != 0) text += kEighths[static_cast<std::size_t>(filled % steps)];
  text.append(static_cast<std::size_t>(width - (filled + steps - 1) / steps), ' ');
  return text;
}

double part(double some, double all) {
  return all > 0 ? some / all : 0;
}
double part(std::size_t some, std::size_t all) {
  return part(static_cast<double>(some), static_cast<double>(all));
}

template <class... Args>
void line(std::string& text, fmt::format_string<Args...> format, Args&&... args) {
  fmt::format_to(std::back_inserter(text), format, std::forward<Args>(args)...);
  text.erase(text.find_last_not_of(' ') + 1);
  text += '\n';
}

void print_totals(const WorkloadInfo& info, std::string& text) {
  const auto& d = info.duration;
  line(text, "source     {}", info.source);
  line(text, "jobs       {} ({} trial, {} batch)", grouped(info.jobs), grouped(info.trial),
       grouped(info.batch));
  line(text, "names      users: {}, models: {}, kinds of GPU asked for: {}", grouped(info.users),
       grouped(info.models), grouped(info.kinds));
  if (info.elastic > 0)
    line(text, "elastic    {} jobs can run at other sizes", grouped(info.elastic));
  if (info.measured > 0)
    line(text, "measured   durations hold for so many kinds of GPU: {}", grouped(info.measured));
  line(text, "submitted  from {} to {}, a span of {}", in_words(info.first), in_words(info.last),
       format(info.last - info.first));
  line(text, "duration   mean {}, p50 {}, p90 {}, p99 {}, max {}", in_words(d.mean_s),
       in_words(d.p50_s), in_words(d.p90_s), in_words(d.p99_s), in_words(d.max_s));
  line(text, "GPU time   {} GPU hours", grouped(std::lround(info.gpu_s / kSecondsPerHour)));
  line(text, "running    {:.1f} GPUs on average and {} at most (at {}), if none had to wait",
       info.running.mean_gpus, grouped(info.running.peak_gpus), in_words(info.running.peak_at));
}

void print_fit(const ClusterFit& fit, std::string& text) {
  line(text, "cluster    {}", fit.cluster);
  if (fit.offered_load)
    line(text, "load       {:.3f} offered{}", *fit.offered_load,
         fit.is_too_short        ? ", but the trace is too short for it: much of its work would be "
                                   "left after the last submission even if no job waited"
         : *fit.offered_load > 1 ? ": more than the cluster can serve"
                                 : "");
  else
    line(text, "load       none: all jobs are submitted at once");
  if (fit.too_large == 0)
    line(text, "too large  none");
  else
    line(text, "too large  {} jobs could never run on it; --drop-larger leaves them out",
         grouped(fit.too_large));
}

void print_demands(const WorkloadInfo& info, Bars bars, std::string& text) {
  constexpr int kWidth = 24;
  std::size_t most_jobs = 0;
  double most_gpu_s = 0;
  for (const DemandShare& share : info.demands) {
    most_jobs = std::max(most_jobs, share.jobs);
    most_gpu_s = std::max(most_gpu_s, share.gpu_s);
  }
  line(text, "\n{:>6} {:>11} {:>7} {:<{}} {:>9}", "GPUs", "jobs", "share", "", kWidth, "GPU time");
  for (const DemandShare& share : info.demands)
    line(text, "{:>6} {:>11} {:>6.2f}% {} {:>8.2f}% {}", share.gpus, grouped(share.jobs),
         100 * part(share.jobs, info.jobs), bar(part(share.jobs, most_jobs), kWidth, bars),
         100 * part(share.gpu_s, info.gpu_s), bar(part(share.gpu_s, most_gpu_s), kWidth, bars));
}

void print_durations(const WorkloadInfo& info, Bars bars, std::string& text) {
  constexpr int kWidth = 50;
  std::size_t most = 0;
  for (const DurationBin& bin : info.bins) most = std::max(most, bin.jobs);
  line(text, "\n{:>9} {:>8} {:>7}", "duration", "jobs", "share");
  for (const DurationBin& bin : info.bins)
    line(text, "{:>9} {:>8} {:>6.2f}% {}",
         bin.to == Duration::max() ? "longer" : "< " + format(bin.to), grouped(bin.jobs),
         100 * part(bin.jobs, info.jobs), bar(part(bin.jobs, most), kWidth, bars));
}

Json fit_json(const ClusterFit& fit) {
  return {{"description", fit.cluster},
          {"gpus", fit.gpus},
          {"offered_load", fit.offered_load ? Json(*fit.offered_load) : Json(nullptr)},
          {"too_short", fit.is_too_short},
          {"too_large", fit.too_large}};
}

/// Names from a trace may hold bytes that are not UTF-8: they are replaced, never fatal.
std::string dump(const Json& json) {
  return json.dump(2, ' ', false, Json::error_handler_t::replace) + '\n';
}

}  // namespace

std::string to_text(const WorkloadInfo& info, Bars bars) {
  std::string text;
  print_totals(info, text);
  if (info.fit) print_fit(*info.fit, text);
  print_demands(info, bars, text);
  print_durations(info, bars, text);
  return text;
}

std::string to_json(const WorkloadInfo& info) {
  const auto& d = info.duration;
  Json json{
      {"source", info.source},
      {"jobs", info.jobs},
      {"trial", info.trial},
      {"batch", info.batch},
      {"users", info.users},
      {"models", info.models},
      {"kinds", info.kinds},
      {"elastic", info.elastic},
      {"measured_on", info.measured},
      {"first_submit_s", info.first.seconds()},
      {"last_submit_s", info.last.seconds()},
      {"gpu_hours", info.gpu_s / kSecondsPerHour},
      {"duration_s",
       {{"mean", d.mean_s},
        {"p50", d.p50_s},
        {"p90", d.p90_s},
        {"p99", d.p99_s},
        {"max", d.max_s}}},
      {"running_gpus",
       {{"mean", info.running.mean_gpus},
        {"peak", info.running.peak_gpus},
        {"peak_at_s", info.running.peak_at.seconds()}}},
      {"cluster", info.fit ? fit_json(*info.fit) : Json(nullptr)},
      {"demands", Json::array()},
      {"durations", Json::array()},
  };
  for (const DemandShare& share : info.demands)
    json["demands"].push_back(
        {{"gpus", share.gpus}, {"jobs", share.jobs}, {"gpu_hours", share.gpu_s / kSecondsPerHour}});
  for (const DurationBin& bin : info.bins)
    json["durations"].push_back(
        {{"from_s", bin.from.seconds()},
         {"to_s", bin.to == Duration::max() ? Json(nullptr) : Json(bin.to.seconds())},
         {"jobs", bin.jobs}});
  return dump(json);
}

std::string to_text(std::span<const Distance> distances) {
  std::string text;
  line(text, "{:<28} {:>11} {:>11} {:>8}", "Kolmogorov-Smirnov distance", "n", "against n", "KS");
  for (const Distance& d : distances)
    line(text, "{:<28} {:>11} {:>11} {:>8.4f}", d.what, grouped(d.jobs_a), grouped(d.jobs_b), d.ks);
  return text;
}

std::string to_json(std::span<const Distance> distances) {
  Json json = Json::array();
  for (const Distance& d : distances)
    json.push_back({{"what", d.what}, {"n", d.jobs_a}, {"against_n", d.jobs_b}, {"ks", d.ks}});
  return dump(json);
}

}  // namespace trainyard
