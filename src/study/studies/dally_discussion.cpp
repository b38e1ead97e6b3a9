// What came out of the study of Dally, in sentences that are made from the findings.
#include <algorithm>
#include <cmath>
#include <limits>
#include <optional>

#include "study/reproduce/findings.h"
#include "study/studies/dally.h"

namespace trainyard {

namespace dally_study_words {

std::vector<std::string> reductions() {
  std::vector<std::string> ids;
  for (const Reduced& reduced : kReduced)
    for (const std::string& baseline : kBaselines)
      ids.push_back(std::string(reduced.id) + "-against-" + baseline);
  return ids;
}

std::vector<std::string> timer_measures() {
  return {"tuned-vs-best-manual", "tuned-vs-least", "learnt-vs-tuned", "stays-vs-pays"};
}

}  // namespace dally_study_words

namespace {

using namespace dally_study_words;

std::string percent(double value) {
  return fmt::format("{:.0f} %", std::round(100 * value) + 0.0);  // not "-0"
}

/// "12 % less", "3 % more".
std::string less_or_more(double reduction) {
  return percent(std::abs(reduction)) + (reduction < 0 ? " more" : " less");
}

/// One column of a sweep.
struct Column {
  std::vector<std::string> rows;
  std::vector<double> values;

  [[nodiscard]] double at(const std::string& row) const {
    const auto found = std::ranges::find(rows, row);
    return found == rows.end() ? std::numeric_limits<double>::quiet_NaN()
                               : values[static_cast<std::size_t>(found - rows.begin())];
  }
  [[nodiscard]] std::string range() const {
    const auto [least, most] = std::ranges::minmax(values);
    return fmt::format("{} to {}", percent(least), percent(most));
  }
};

/// None where the sweep was not run.
std::optional<Column> column_of(const Findings& findings, const std::string& title,
                                const std::string& measure) {
  const auto of = std::ranges::find(findings.sweeps, title,
                                    [](const SweepFinding& s) { return s.table.title; });
  const auto wanted = std::ranges::find(findings.study->measures, measure, &Measure::id);
  if (of == findings.sweeps.end() || wanted == findings.study->measures.end()) return {};
  const auto& columns = of->table.columns;
  const auto found = std::ranges::find(columns, wanted->label, &TableFinding::Column::title);
  if (found == columns.end()) return {};
  Column column;
  for (const TableFinding::Row& row : of->table.rows) {
    column.rows.push_back(row.name);
    column.values.push_back(row.values[static_cast<std::size_t>(found - columns.begin())].mean);
  }
  return column;
}

/// Of the base condition.
double base_metric(const Findings& findings, const std::string& policy, const std::string& title) {
  const TableFinding& table = findings.tables.front();
  const auto row = std::ranges::find(table.rows, policy, &TableFinding::Row::name);
  const auto column = std::ranges::find(table.columns, title, &TableFinding::Column::title);
  return row->values[static_cast<std::size_t>(column - table.columns.begin())].mean;
}

std::string on_the_claims(const Findings& findings) {
  std::string text;
  for (const Reduced& reduced : kReduced) {
    text += fmt::format("{}{}, of which the abstract has up to {} less, is in the base condition",
                        text.empty() ? "" : " ", reduced.title, percent(reduced.claimed));
    for (const std::string& baseline : kBaselines) {
      const std::string id = std::string(reduced.id) + "-against-" + baseline;
      const auto claim = std::ranges::find(
          findings.claims, id, [](const ClaimFinding& found) { return found.claim.id; });
      const auto at_4_racks = column_of(findings, "Racks", id);
      text += fmt::format("{} {} than {}'s, at best {} ({})",
                          &baseline == &kBaselines.front() ? "" : ";",
                          less_or_more(at_4_racks->at("4")), baseline,
                          less_or_more(claim->ours.mean), claim->condition);
    }
    text += ".";
  }
  return text;
}

/// Which policy has the least of each, and what that says of the order.
std::string on_the_best(const Findings& findings) {
  std::string text = "In the base condition the least";
  for (const auto& title : {"makespan", "JCT mean", "communication, mean"}) {
    const TableFinding& table = findings.tables.front();
    const auto value = [&](const TableFinding::Row& row) {
      return base_metric(findings, row.name, title);
    };
    const auto best = std::ranges::min_element(table.rows, {}, value);
    text += fmt::format("{} {} is that of {} ({:.3g} d; dally has {:.3g})",
                        title == std::string("makespan") ? "" : ", the least", title, best->name,
                        value(*best) / 86400, base_metric(findings, "dally", title) / 86400);
  }
  const double own = base_metric(findings, "dally", "JCT mean"),
               by_service = base_metric(findings, "tiresias-consolidated", "JCT mean");
  if (by_service >= own) return text + ".";
  return text +
         ". tiresias-consolidated differs from dally's variant consolidated in the order alone: by "
         "attained service jobs that are short are done first, and without knowing run times "
         "little "
         "is better for the mean; by sensitivity to the network a job's length does not count.";
}

/// Tuned timers over the best fixed pair, by what happens at the end of a lease.
std::string on_giving_up(const Findings& findings, const std::string& sweep,
                         const std::string& where) {
  const auto best = column_of(findings, sweep, "tuned-vs-best-manual"),
             learnt = column_of(findings, sweep, "learnt-vs-tuned");
  if (!best || !learnt) return {};
  const double wanted = best->at("wanted"), always = best->at("always");
  std::string text = fmt::format(
      " {}: {} where a job whose lease is over keeps its GPUs unless a more sensitive one wants "
      "them, {} where every job bids again and pays, {} where it does not pay for what it wins "
      "back; learnt timers, which count jobs that gave up as long as they waited, have {} mean JCT "
      "than tuned ones in the first case, {} in the second.",
      where, percent(wanted), percent(always), percent(best->at("moved")),
      less_or_more(-learnt->at("wanted")), less_or_more(-learnt->at("always")));
  if (wanted > 0.05 && wanted > 2 * always)
    text +=
        " So there most of it is the price of giving up: in the first case a job that gave up "
        "keeps "
        "its bad placement for good, in the others for a lease.";
  return text;
}

std::string on_the_timers(const Findings& findings) {
  const auto least = column_of(findings, std::string(kAuthors) + kTimers, "tuned-vs-least");
  const auto history = column_of(findings, "Length of the history", "tuned-vs-best-manual");
  std::string text =
      "Tuned timers are worse than the best fixed pair by how much, and is it the clock, the "
      "estimate, or that the waits of jobs that gave up are never seen?" +
      on_giving_up(findings, kLeaseEnd, "A batch like the author's, congested") +
      on_giving_up(findings, kLeaseEndUndivided,
                   "The author's batch with lengths undivided, congested") +
      fmt::format(" Histories of 18 to 1152 leases: {} in the base condition.", history->range());
  if (!least) return text;
  text += fmt::format(
      " On the author's workloads tuned timers have {} the mean JCT more than timers fixed at the "
      "least that tuned ones can be, 2 h and 4 h.",
      least->range());
  const auto [low, high] = std::ranges::minmax(least->values);
  if (std::max(std::abs(low), std::abs(high)) < 0.02)
    text +=
        " The tuner thus hardly leaves its floors, whatever the clock: a job that gave up is "
        "logged "
        "for the tier that it took, so that for the tier that it waited for hardly a wait is seen "
        "that is longer than the timer.";
  return text;
}

/// Where in the author's iterations and leases the published numbers come out, and how near the
/// others come.
std::string on_iterations(const Findings& findings) {
  std::string text =
      "The author's iterations and leases, on the author's workloads. Which of them the published "
      "numbers are of is not known, nor against which scheduler.";
  for (const Reduced& reduced : kReduced) {
    text += fmt::format(" {}, {} less:", reduced.title, percent(reduced.claimed));
    for (const std::string& baseline : kBaselines) {
      const auto column =
          column_of(findings, kIterations, std::string(reduced.id) + "-against-" + baseline);
      if (!column) return {};
      const auto best = static_cast<std::size_t>(std::ranges::max_element(column->values) -
                                                 column->values.begin());
      const auto met = std::ranges::count_if(
          column->values, [&](double value) { return value >= reduced.claimed; });
      text += fmt::format("{} against {} met at {} of {}, most at \"{}\" ({})",
                          &baseline == &kBaselines.front() ? "" : ";", baseline, met,
                          column->values.size(), column->rows[best],
                          less_or_more(column->values[best]));
    }
    text += ".";
  }
  return text;
}

std::string on_contention(const Findings& findings) {
  std::string text =
      "Contention is ours: the original has none, and in all other conditions what a job sends "
      "slows no other. From alone to shared, against tiresias:";
  for (const Reduced& reduced : kReduced) {
    const auto column =
        column_of(findings, kContention, std::string(reduced.id) + "-against-tiresias");
    text += fmt::format("{} {}", &reduced == &kReduced.front() ? "" : ";", reduced.what);
    for (const std::string network : {"normal", "congested"})
      text += fmt::format("{} {} to {} ({})", network == "normal" ? "" : ",",
                          less_or_more(column->at(network + ", alone")),
                          less_or_more(column->at(network + ", shared")), network);
  }
  return text + ".";
}

std::string on_compositions(const Findings& findings) {
  const auto close = column_of(findings, kHeldOut, "close-composition"),
             delay = column_of(findings, kHeldOut, "delay-composition"),
             stays = column_of(findings, kHeldOut, "stays-vs-pays"),
             learnt = column_of(findings, kHeldOut, "learnt-vs-tuned");
  return fmt::format(
      "On workloads that no choice saw, mean JCT over dally's: las, close, by-level {}; las, "
      "delay, "
      "by-level {}; dally whose jobs do not pay for what they win back {}; learnt timers {}.",
      close->range(), delay->range(), stays->range(), learnt->range());
}

}  // namespace

std::vector<std::string> discuss_dally(const Findings& findings) {
  std::vector<std::string> paragraphs{on_the_claims(findings), on_the_best(findings),
                                      on_the_timers(findings), on_contention(findings),
                                      on_compositions(findings)};
  if (std::string text = on_iterations(findings); !text.empty())
    paragraphs.insert(paragraphs.begin() + 1, std::move(text));
  return paragraphs;
}

}  // namespace trainyard
