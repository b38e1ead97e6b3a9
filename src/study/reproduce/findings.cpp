#include "study/reproduce/findings.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <functional>
#include <stdexcept>

#include "base/time.h"
#include "study/instances.h"

namespace trainyard {
namespace {

bool meets(const Claim& claim, double value) {
  return claim.direction == Direction::at_least ? value >= claim.number : value <= claim.number;
}

/// Of a paper's number.
bool is_beyond(const Claim& claim, Quantity quantity, double worst) {
  if (claim.direction == Direction::at_most) return claim.number > 0 && worst <= claim.number / 2;
  if (claim.number <= 0) return false;
  if (quantity == Quantity::share) return 1 - worst <= (1 - claim.number) / 2;
  return worst >= 2 * claim.number;
}

ClaimFinding finding_of(const Claim& claim, const Measure& measure, std::string condition,
                        const Interval& ours) {
  return {claim, measure.quantity,        std::move(condition),
          ours,  meets(claim, ours.mean), verdict_on(claim, measure.quantity, ours)};
}

class Evaluation {
 public:
  Evaluation(const Study& study, const StudyPlan& plan, const std::vector<Metrics>& results)
      : study_(study), plan_(plan), results_(results) {}

  /// Whether what the claim is taken at was run.
  [[nodiscard]] bool can_take(const Claim& claim) const {
    if (plan_.only.empty() && plan_.left_out.empty()) return true;
    const bool has_base = plan_.only.empty();
    if (claim.taken_at == TakenAt::base)
      return claim.at.empty() ? has_base : find_condition(claim.at) != nullptr;
    return claim.taken_at == TakenAt::largest ? has_base : !conditions_of(claim).empty();
  }

  [[nodiscard]] ClaimFinding claim(const Claim& claim) const {
    const Measure& measure = measure_of(claim.measure);
    if (claim.taken_at == TakenAt::average) return average(claim, measure);
    if (claim.taken_at == TakenAt::worst || claim.taken_at == TakenAt::nowhere)
      return worst(claim, measure);
    const bool largest = claim.taken_at == TakenAt::largest;
    const Condition& at = largest || claim.at.empty() ? plan_.base : condition_of(claim.at);
    std::string condition = at.name;
    Interval ours = over_seeds(at, measure);
    for (std::size_t i = 0; largest && i < plan_.sweeps.size(); ++i) {
      if (study_.sweeps[i].is_aside || !study_.sweeps[i].title.starts_with(claim.at)) continue;
      for (const Condition& other : plan_.sweeps[i]) {
        const Interval there = over_seeds(other, measure);
        if (std::isnan(there.mean) || there.mean <= ours.mean) continue;
        ours = there;
        condition = other.name;
      }
    }
    return finding_of(claim, measure, std::move(condition), ours);
  }

  [[nodiscard]] TableFinding table(const StudyTable& table) const {
    TableFinding found{table.title, "policy", {}, {}};
    for (const auto& column : table.columns)
      found.columns.push_back({column.title, column.quantity});
    for (const StudyPolicy& policy : plan_.base.policies) {
      if (names_instances(policy.line)) continue;
      found.rows.push_back({policy.label, {}});
      for (const auto& column : table.columns)
        found.rows.back().values.push_back(over_seeds(plan_.base, [&](const Outcome& outcome) {
          return outcome.metric(policy.label, column.metric);
        }));
    }
    return found;
  }

  [[nodiscard]] SweepFinding sweep(std::size_t number) const;

  /// NaN if nothing is simulated there.
  [[nodiscard]] double pause_takes(const Condition& condition) const {
    for (const StudyPolicy& policy : condition.policies) {
      if (names_instances(policy.line)) continue;
      const Metrics& metrics = results_[plan_.index(
          run_of(condition, policy, static_cast<std::uint64_t>(plan_.extent.first_seed)))];
      const auto found = metrics.find(kPauseTakes);
      if (found != metrics.end()) return found->second;
    }
    return std::nan("");
  }

  /// Jobs that did not finish are in no metric: without them a policy may look better than it is.
  [[nodiscard]] std::vector<std::string> warnings() const {
    std::vector<std::string> found;
    for (const StudyPolicy& policy : plan_.base.policies) {
      if (names_instances(policy.line)) continue;
      const auto total = [&](std::string_view metric) {
        double sum = 0;
        for (int seed = plan_.extent.first_seed; seed <= plan_.extent.last_seed(); ++seed)
          sum += outcome(plan_.base, seed).metric(policy.label, metric);
        return sum;
      };
      if (const double jobs = total("jobs"), done = total("finished"); done < jobs)
        found.push_back(fmt::format("{}: {} of {} jobs did not finish and are in no number here.",
                                    policy.label, jobs - done, jobs));
    }
    return found;
  }

 private:
  /// Of the sweeps that the claim is about.
  [[nodiscard]] std::vector<const Condition*> conditions_of(const Claim& claim) const {
    std::vector<const Condition*> conditions;
    for (std::size_t i = 0; i < plan_.sweeps.size(); ++i)
      if (study_.sweeps[i].title.starts_with(claim.at))
        for (const Condition& condition : plan_.sweeps[i]) conditions.push_back(&condition);
    return conditions;
  }

  [[nodiscard]] ClaimFinding worst(const Claim& claim, const Measure& measure) const {
    const bool nowhere = claim.taken_at == TakenAt::nowhere;
    const double sign = claim.direction == Direction::at_most ? 1 : -1;
    const auto miss = [&](const Interval& i) {
      return sign * i.mean - (nowhere ? i.half_width : 0);
    };
    const Condition* at = nullptr;
    Interval worst;
    for (const Condition* condition : conditions_of(claim)) {
      const Interval here = over_seeds(*condition, measure);
      if (std::isnan(here.mean) || (at != nullptr && miss(here) <= miss(worst))) continue;
      at = condition;
      worst = here;
    }
    if (at == nullptr) return finding_of(claim, measure, "nowhere", {std::nan(""), 0});
    ClaimFinding found = finding_of(claim, measure, at->name, worst);
    if (!nowhere) return found;
    found.holds = found.verdict != ClaimVerdict::fails;
    found.verdict = found.holds ? ClaimVerdict::no_worse : ClaimVerdict::worse;
    return found;
  }

  /// Every seed's mean over the conditions, and the interval of those.
  [[nodiscard]] ClaimFinding average(const Claim& claim, const Measure& measure) const {
    const std::vector<const Condition*> conditions = conditions_of(claim);
    std::vector<double> values;
    for (int seed = plan_.extent.first_seed; seed <= plan_.extent.last_seed(); ++seed) {
      double sum = 0;
      for (const Condition* condition : conditions) sum += measure.value(outcome(*condition, seed));
      values.push_back(sum / static_cast<double>(conditions.size()));
    }
    return finding_of(claim, measure,
                      fmt::format("average of {} conditions: {}", conditions.size(), claim.at),
                      mean_interval(values));
  }

  [[nodiscard]] const Measure& measure_of(const std::string& id) const {
    const auto found = std::ranges::find(study_.measures, id, &Measure::id);
    if (found == study_.measures.end())
      throw std::logic_error(fmt::format("study {} has no measure '{}'", study_.name, id));
    return *found;
  }

  [[nodiscard]] const Condition* find_condition(const std::string& name) const {
    for (const auto& sweep : plan_.sweeps)
      for (const Condition& condition : sweep)
        if (condition.name == name) return &condition;
    return nullptr;
  }

  [[nodiscard]] const Condition& condition_of(const std::string& name) const {
    const Condition* found = find_condition(name);
    if (found == nullptr)
      throw std::logic_error(fmt::format("study {} has no condition '{}'", study_.name, name));
    return *found;
  }

  [[nodiscard]] Outcome outcome(const Condition& condition, int seed) const {
    std::map<std::string, const Metrics*, std::less<>> by_policy;
    for (const StudyPolicy& policy : condition.policies)
      by_policy[policy.label] =
          &results_[plan_.index(run_of(condition, policy, static_cast<std::uint64_t>(seed)))];
    return Outcome(std::move(by_policy));
  }

  [[nodiscard]] Interval over_seeds(const Condition& condition,
                                    const std::function<double(const Outcome&)>& value) const {
    std::vector<double> values;
    for (int seed = plan_.extent.first_seed; seed <= plan_.extent.last_seed(); ++seed)
      values.push_back(value(outcome(condition, seed)));
    return mean_interval(values);
  }

  [[nodiscard]] Interval over_seeds(const Condition& condition, const Measure& measure) const {
    return over_seeds(condition, measure.value);
  }

  const Study& study_;
  const StudyPlan& plan_;
  const std::vector<Metrics>& results_;
};

std::optional<double> plain_number(const std::string& text) {
  double value = 0;
  const auto [end, status] = std::from_chars(text.data(), text.data() + text.size(), value);
  const bool whole = status == std::errc{} && end == text.data() + text.size();
  return whole && std::isfinite(value) ? std::optional(value) : std::nullopt;
}

/// The values as numbers: as they are written, or as durations when one has a unit ("0", "3m").
void place_on_axis(const std::vector<std::string>& values, SweepFinding& found) {
  std::vector<std::optional<double>> seconds;
  for (const std::string& value : values) {
    const auto duration = parse_duration(value);
    found.x.push_back(plain_number(value));
    seconds.push_back(duration ? std::optional(duration->seconds()) : std::nullopt);
    found.x_is_time = found.x_is_time || (duration && !found.x.back());
  }
  if (found.x_is_time) found.x = std::move(seconds);
}

SweepFinding Evaluation::sweep(std::size_t number) const {
  const Sweep& sweep = study_.sweeps[number];
  std::vector<const Measure*> measures;
  for (const std::string& id : sweep.measures) measures.push_back(&measure_of(id));
  if (measures.empty())
    for (const Measure& measure : study_.measures) measures.push_back(&measure);

  SweepFinding found{{sweep.title, sweep.axis, {}, {}}, {}, false};
  for (const Measure* measure : measures)
    found.table.columns.push_back({measure->label, measure->quantity});
  const std::vector<Condition>& conditions = plan_.sweeps[number];
  std::vector<std::string> values;
  for (const Condition& condition : conditions) values.push_back(swept_value(sweep, condition));
  for (std::size_t i = 0; i < values.size(); ++i) {
    found.table.rows.push_back({values[i], {}});
    for (const Measure* measure : measures)
      found.table.rows.back().values.push_back(over_seeds(conditions[i], *measure));
  }
  for (const Condition& condition : conditions)
    found.pause_takes_s.push_back(pause_takes(condition));
  place_on_axis(values, found);
  if (sweep.map) found.map = &*sweep.map;
  found.is_for_foremost = sweep.is_for_foremost;
  return found;
}

}  // namespace

std::string_view name(ClaimVerdict verdict) {
  static constexpr std::array<std::string_view, 6> kNames{"holds", "beyond",   "open",
                                                          "fails", "no worse", "worse"};
  return kNames[static_cast<std::size_t>(verdict)];
}

ClaimVerdict verdict_on(const Claim& claim, Quantity quantity, const Interval& measured) {
  using enum ClaimVerdict;
  const bool wants_much = claim.direction == Direction::at_least;
  const double low = measured.mean - measured.half_width,
               high = measured.mean + measured.half_width;
  const double worst = wants_much ? low : high, best = wants_much ? high : low;
  if (!meets(claim, best)) return fails;  // NaN meets nothing
  if (!meets(claim, worst)) return open;
  return !claim.is_ours() && is_beyond(claim, quantity, worst) ? beyond : holds;
}

std::string Findings::command() const {
  std::string text = "trainyard reproduce " + study->name + (quick ? " --quick" : "");
  const Extent usual = quick ? study->quick : study->full;
  if (extent.seeds != usual.seeds) text += fmt::format(" --seeds {}", extent.seeds);
  if (extent.first_seed != usual.first_seed)
    text += fmt::format(" --first-seed {}", extent.first_seed);
  if (!only.empty()) text += fmt::format(" --only '{}'", only);
  if (!instead.label.empty())
    text += fmt::format(" --instead '{}={}'", instead.label, instead.line);
  if (uses_traces) text += " --traces DIR";
  return text;
}

Findings evaluate(const Study& study, const StudyPlan& plan, const std::vector<Metrics>& results) {
  const Evaluation evaluation(study, plan, results);
  Findings findings{
      .study = &study,
      .quick = plan.quick,
      .extent = plan.extent,
      .instead = plan.instead,
      .only = plan.only,
      .uses_traces = plan.uses_traces,
      .base = plan.base,
      .pause_takes_s = plan.only.empty() ? evaluation.pause_takes(plan.base) : std::nan(""),
      .runs = plan.runs.size(),
      .claims = {},
      .foremost = {},
      .tables = {},
      .sweeps = {},
      .warnings = plan.left_out};
  for (const Claim& claim : study.claims)
    if (evaluation.can_take(claim)) findings.claims.push_back(evaluation.claim(claim));
  for (std::size_t i = 0; i < study.sweeps.size(); ++i)
    if (!plan.sweeps[i].empty()) findings.sweeps.push_back(evaluation.sweep(i));
  if (study.foremost) findings.foremost = study.foremost(findings);
  if (!plan.only.empty()) return findings;
  for (const StudyTable& table : study.tables) findings.tables.push_back(evaluation.table(table));
  for (std::string& warning : evaluation.warnings())
    findings.warnings.push_back(std::move(warning));
  return findings;
}

}  // namespace trainyard
