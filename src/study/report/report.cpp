#include "study/report/report.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <functional>
#include <limits>
#include <span>
#include <utility>
#include <vector>

#include "base/atomic_file.h"
#include "study/bound.h"
#include "study/report/markup.h"
#include "study/report/page.h"
#include "study/report/summary.h"
#include "study/report/utilization.h"

namespace trainyard {
namespace {

struct Metric {
  Distribution JobDistributions::*distribution;
  std::string_view heading, axis, caption;
  Unit unit;
};

constexpr std::array kMetrics{
    Metric{&JobDistributions::wait_s, "Waiting time", "time in the queue",
           "that spent at most this long in the queue; those that never waited stand at 0.",
           Unit::seconds},
    Metric{&JobDistributions::jct_s, "Job completion time", "from submission to completion",
           "completed within this time of their submission; further left is faster.",
           Unit::seconds},
    Metric{&JobDistributions::slowdown, "Slowdown", "completion time over duration",
           "slowed down at most so many times by waiting and pauses; 1 is as if alone.",
           Unit::number}};

struct Group {
  JobDistributions Run::*jobs;
  std::string_view name;
};

constexpr std::array kAllJobs{Group{&Run::all, "all jobs"}};
constexpr std::array kByClass{Group{&Run::all, "all jobs"}, Group{&Run::trial, "trial jobs"},
                              Group{&Run::batch, "batch jobs"}};

std::string facts(const Comparison& comparison) {
  std::string html = "<dl class=\"facts\">\n";
  html += html_fact("Workload", escaped(comparison.workload));
  html += html_fact("Cluster", escaped(comparison.cluster));
  html += html_fact("Seeds", fmt::format("{}", fmt::join(comparison.seeds, ", ")));
  if (!comparison.command.empty())
    html += html_fact("Command", fmt::format("<code>{}</code>", escaped(comparison.command)));
  return html + "</dl>\n";
}

/// Which policies left jobs unfinished: what they look like without them may flatter.
std::string warnings(const Comparison& comparison) {
  std::string html;
  for (const PolicyRuns& policy : comparison.policies) {
    std::size_t jobs = 0, finished = 0;
    for (const Run& run : policy.runs) jobs += run.result.jobs, finished += run.result.finished;
    if (finished < jobs)
      html += fmt::format(
          "<p class=\"warning\">{}: {} of {} jobs did not finish and are in no figure below.</p>\n",
          escaped(policy.policy), jobs - finished, jobs);
  }
  return html;
}

std::string seed_by_seed(const Comparison& comparison) {
  if (comparison.seeds.size() < 2 || comparison.policies.size() < 2) return "";
  const SummaryTable table = against_the_best(comparison);
  if (table.header.size() < 2) return "";
  return "<h2>Against the best, seed by seed</h2>\n" + html_table(table, RowStyle::series);
}

std::vector<Point> cumulative(const Distribution& distribution) {
  std::vector<Point> points;
  const std::size_t count = distribution.quantiles.size();
  for (std::size_t i = 0; i < count; ++i)
    points.push_back(
        {distribution.quantiles[i], static_cast<double>(i) / static_cast<double>(count - 1)});
  return points;
}

Series series_of(const PolicyRuns& policy, std::size_t style, const Group& group,
                 const Metric& metric) {
  std::vector<Distribution> runs;
  for (const Run& run : policy.runs) runs.push_back(run.*group.jobs.*metric.distribution);
  return {policy.policy, cumulative(pooled(runs)), style};
}

Chart distribution_chart(const Comparison& comparison, const Group& group, const Metric& metric) {
  Chart chart;
  chart.title = fmt::format("{}, {}", metric.heading, group.name);
  chart.x = {std::string(metric.axis), metric.unit, Scale::log, {}, {}};
  chart.y = {"share of jobs", Unit::share, Scale::linear, 0, 1};
  for (std::size_t i = 0; i < comparison.policies.size(); ++i)
    chart.series.push_back(series_of(comparison.policies[i], i, group, metric));
  return chart;
}

/// The share of jobs that waited for longer, on a logarithmic axis: the last per cents are as long
/// as the first.
Chart tail_chart(const Comparison& comparison, const Group& group) {
  Chart chart = distribution_chart(comparison, group, kMetrics[0]);
  chart.title = fmt::format("Longest waits, {}", group.name);
  chart.y = {"share that waited longer", Unit::share, Scale::log, 1.0 / (kQuantilePoints - 1), 1};
  for (Series& series : chart.series) {
    for (Point& point : series.points) point.y = 1 - point.y;
    std::erase_if(series.points, [](const Point& point) { return point.y <= 0; });
  }
  return chart;
}

/// Gives charts of one metric the same axis, so that they can be compared by eye.
void share_axis(std::vector<Chart>& charts) {
  double low = std::numeric_limits<double>::infinity(), high = 0;
  for (const Chart& chart : charts) {
    for (const Series& series : chart.series) {
      for (const Point& point : series.points) {
        if (point.x > 0) low = std::min(low, point.x);
        high = std::max(high, point.x);
      }
    }
  }
  if (high <= 0) return;
  for (Chart& chart : charts) chart.x.low = low, chart.x.high = high;
}

std::string distributions(const Comparison& comparison) {
  const std::span<const Group> groups = has_both_classes(comparison)
                                            ? std::span<const Group>(kByClass)
                                            : std::span<const Group>(kAllJobs);
  std::string html;
  for (const Metric& metric : kMetrics) {
    std::vector<Chart> charts;
    for (const Group& group : groups)
      charts.push_back(distribution_chart(comparison, group, metric));
    share_axis(charts);
    for (std::size_t i = 0; i < charts.size(); ++i)
      html += html_figure(charts[i], fmt::format("Share of {} {}", groups[i].name, metric.caption));
  }
  std::vector<Chart> tails;
  for (const Group& group : groups) tails.push_back(tail_chart(comparison, group));
  share_axis(tails);
  for (std::size_t i = 0; i < tails.size(); ++i)
    html += html_figure(
        tails[i], fmt::format("Share of {} that waited for longer than this; a line that ends "
                              "further left has no long waits.",
                              groups[i].name));
  return fmt::format("<h2>How jobs fared</h2>\n<div class=\"charts\">\n{}</div>\n", html);
}

/// The distributions of a policy's jobs of one group, one a run.
using Picks = std::function<const JobDistributions&(const Run&)>;

void add_group(SummaryTable& table, const Comparison& comparison, const Metric& metric,
               std::string_view name, const Picks& pick) {
  std::vector<Interval> medians, tails;
  for (const PolicyRuns& policy : comparison.policies) {
    std::vector<Distribution> runs;
    for (const Run& run : policy.runs) runs.push_back(pick(run).*metric.distribution);
    const std::vector<double> quantiles = pooled(runs).quantiles;
    if (quantiles.empty()) return;
    medians.push_back({quantiles[kQuantilePoints / 2]});
    tails.push_back({quantiles[(kQuantilePoints - 1) * 99 / 100]});
  }
  const Quantity quantity = metric.unit == Unit::seconds ? Quantity::seconds : Quantity::ratio;
  const auto text = [&](const Interval& value) {
    const NumberFormat format(quantity, {&value, 1});
    return format.with_unit(format.mean(value));
  };
  table.header.emplace_back(name);
  for (std::size_t i = 0; i < medians.size(); ++i)
    table.rows[i].push_back({text(medians[i]), "p99 " + text(tails[i])});
}

/// For each metric a table of all groups: the median, and p99 below it.
std::string by_class_and_size(const Comparison& comparison) {
  std::string html = "<h2>By class and size</h2>\n";
  for (const Metric& metric : kMetrics) {
    SummaryTable table;
    table.header.emplace_back(metric.heading);
    for (const PolicyRuns& policy : comparison.policies) table.rows.push_back({{policy.policy}});
    for (const Group& group : has_both_classes(comparison) ? std::span<const Group>(kByClass)
                                                           : std::span<const Group>(kAllJobs))
      add_group(table, comparison, metric, group.name,
                [&](const Run& run) -> const JobDistributions& { return run.*group.jobs; });
    for (std::size_t i = 0; i < kSizeGroups.size(); ++i)
      add_group(table, comparison, metric, kSizeGroups[i].name,
                [i](const Run& run) -> const JobDistributions& { return run.by_size[i]; });
    html += html_table(table, RowStyle::series);
  }
  return html +
         "<p class=\"note\">The median of the jobs of all seeds, and below it the value that 1% of "
         "them exceed.</p>\n";
}

/// Mean over the seeds, each of which has instants of its own: straight between them, and level
/// after the last.
std::vector<Point> mean_accuracy(const PolicyRuns& policy, double end_s) {
  constexpr std::size_t kPoints = 200;
  std::vector<Point> points;
  for (std::size_t i = 0; i <= kPoints; ++i) {
    const double at_s = end_s * static_cast<double>(i) / static_cast<double>(kPoints);
    double sum = 0;
    for (const Run& run : policy.runs) {
      const LearningResult& learning = run.result.learning;
      const double place = at_s / learning.interval.seconds();
      const auto last = learning.accuracy.size() - 1;
      const auto before = std::min(static_cast<std::size_t>(place), last);
      const std::size_t after = std::min(before + 1, last);
      const double part = std::min(1.0, place - static_cast<double>(before));
      sum += std::lerp(learning.accuracy[before], learning.accuracy[after], part);
    }
    points.push_back({at_s, sum / static_cast<double>(policy.runs.size())});
  }
  return points;
}

/// Where learning curves are known.
std::string learning(const Comparison& comparison) {
  double end_s = 0;
  for (const PolicyRuns& policy : comparison.policies) {
    for (const Run& run : policy.runs) {
      const LearningResult& learning = run.result.learning;
      if (learning.accuracy.empty()) return "";
      end_s = std::max(
          end_s, learning.interval.seconds() * static_cast<double>(learning.accuracy.size() - 1));
    }
  }
  Chart chart;
  chart.title = "Accuracy over time";
  chart.x = {"since a job was submitted", Unit::seconds, Scale::linear, 0, end_s};
  chart.y = {"of the converged accuracy", Unit::share, Scale::linear, 0, 1};
  for (std::size_t i = 0; i < comparison.policies.size(); ++i)
    chart.series.push_back(
        {comparison.policies[i].policy, mean_accuracy(comparison.policies[i], end_s), i});
  return fmt::format(
      "<h2>How jobs learnt</h2>\n<div class=\"charts\">\n{}</div>\n",
      html_figure(chart,
                  "Mean over the jobs of what they have of their final accuracy; further "
                  "left and higher is better."));
}

/// Where the lower bound was asked for.
std::string gpu_prices(const Comparison& comparison) {
  const std::vector<PriceAt> prices = mean_prices(comparison.bounds, 400);
  if (prices.empty()) return "";
  Series series{std::string(kLowerBoundName), {}, comparison.policies.size()};
  for (const PriceAt& at : prices) series.points.push_back({at.at_s, at.price});
  Chart chart;
  chart.title = "Price of a GPU-second";
  chart.x = {"time since the first submission", Unit::seconds, Scale::linear, 0,
             series.points.back().x};
  chart.y = {"seconds of completion time", Unit::number, Scale::linear, 0, {}};
  chart.series = {std::move(series)};
  chart.filled = true;
  chart.legend = false;
  return fmt::format(
      "<h2>What GPU time was worth</h2>\n<div class=\"charts\">\n{}</div>\n",
      html_figure(chart,
                  "By how much a further GPU-second at that time would lower the sum of all "
                  "completion times, in the proof of the lower bound; 0 where GPUs are not "
                  "scarce."));
}

std::string utilization(const Comparison& comparison) {
  constexpr std::size_t kCells = 200;
  Duration end;
  for (const PolicyRuns& policy : comparison.policies) end = std::max(end, end_of(policy));
  if (end.us == 0) return "";
  std::string html = "<h2>Utilisation over time</h2>\n<div class=\"charts\">\n";
  for (std::size_t i = 0; i < comparison.policies.size(); ++i) {
    const PolicyRuns& policy = comparison.policies[i];
    Series series{policy.policy, {}, i};
    const std::vector<double> shares = mean_utilization(policy, end, kCells);
    for (std::size_t c = 0; c < kCells; ++c)
      series.points.push_back({end.seconds() * (static_cast<double>(c) + 0.5) / kCells, shares[c]});
    Chart chart;
    chart.title = policy.policy;
    chart.x = {"time since the first submission", Unit::seconds, Scale::linear, 0, end.seconds()};
    chart.y = {"GPUs held", Unit::share, Scale::linear, 0, 1};
    chart.series = {std::move(series)};
    chart.filled = true;
    chart.legend = false;
    chart.plot_height = 130;
    html += html_figure(chart,
                        "Share of the cluster's GPUs that jobs hold; a long low end to the right "
                        "is a few last jobs running alone.");
  }
  return html + "</div>\n";
}

constexpr std::string_view kTerms = R"(<h2>Terms</h2>
<dl class="terms">
<dt>JCT</dt><dd>job completion time: from submission to completion</dd>
<dt>wait</dt><dd>time in the queue, before the first start and after every pause</dd>
<dt>slowdown</dt><dd>JCT over how long the job runs when nothing pauses it</dd>
<dt>p50, p95, p99</dt><dd>the smallest value that 50%, 95% or 99% of the jobs have at most</dd>
<dt>utilisation</dt><dd>GPU time held by jobs over all GPU time until the last job ended</dd>
<dt>preemptions</dt><dd>times a running job was told to give way</dd>
</dl>
)";

}  // namespace

std::string to_html(const Comparison& comparison) {
  std::string body =
      "<h1>Scheduling policies compared</h1>\n" + facts(comparison) + warnings(comparison);
  if (!comparison.policies.empty())
    body += "<h2>Summary</h2>\n" + html_table(summarize(comparison), RowStyle::series) +
            seed_by_seed(comparison) + by_class_and_size(comparison) + distributions(comparison) +
            learning(comparison) + gpu_prices(comparison) + utilization(comparison);
  body += kTerms;
  return html_page("Policies compared: " + comparison.workload, body);
}

Expected<void> write_report(const Comparison& comparison, const std::string& path) {
  return write_file_atomically(path, [&](std::ostream& out) { out << to_html(comparison); });
}

}  // namespace trainyard
