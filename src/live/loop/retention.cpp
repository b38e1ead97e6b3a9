#include "live/loop/retention.h"

#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>
#include <sstream>

#include "live/service/rights.h"

namespace trainyard {
namespace {

using nlohmann::json;

constexpr Duration kDay = days(1);
constexpr Duration kFirstPass = seconds(10), kBetweenPasses = hours(1), kNextBatch = seconds(1);
constexpr Duration kBetweenTimes = minutes(10);
constexpr std::size_t kErasedAtOnce = 1000;
constexpr const char* kSuspended = "retention";  // the setting

bool is_jump(Duration by) {
  return std::abs(by.us) > kDay.us;
}

std::string key_of(Leftover what) {
  return what == Leftover::output ? "erased/output" : "erased/checkpoints";
}

std::string_view name_of(Leftover what) {
  return what == Leftover::output ? "output" : "checkpoints";
}

std::string jobs_of(std::size_t count) {
  return fmt::format("{} {}", count, count == 1 ? "job" : "jobs");
}

}  // namespace

std::string ranges_of(std::vector<JobNumber> numbers) {
  std::ranges::sort(numbers);
  std::vector<std::string> ranges;
  for (std::size_t i = 0; i < numbers.size();) {
    std::size_t last = i;
    while (last + 1 < numbers.size() && numbers[last + 1] == numbers[last] + 1) ++last;
    ranges.push_back(i == last ? std::to_string(numbers[i])
                               : fmt::format("{}-{}", numbers[i], numbers[last]));
    i = last + 1;
  }
  return fmt::format("{}", fmt::join(ranges, ", "));
}

// --- Clocks --------------------------------------------------------------------------------------

void Retention::begin() {
  next_pass_ = steady() + kFirstPass;
  next_keeping_ = steady() + kBetweenTimes;
  const std::string kept = state_.journal.setting(kSuspended).value_or("");
  if (!kept.empty()) {
    const json before = json::parse(kept, nullptr, false);
    const bool is_whole = before.is_object() && before.contains("why") && before["why"].is_string();
    suspended_ = {is_whole ? before["why"].get<std::string>() : kept, state_.now()};
    if (is_whole && before.contains("since") && before["since"].is_number_integer())
      suspended_->since = Time{before["since"].get<std::int64_t>()};
    state_.counters.erasing_suspended = true;
    state_.system.log().write(LogLevel::warning,
                              fmt::format("erasing is still suspended: {}", suspended_->why));
  }
  if (state_.journal.is_setting_damaged(kSuspended))
    suspend("the row of the journal that says whether erasing was suspended is damaged");
  const Duration gap = state_.clock.unexplained_gap();
  if (is_jump(gap))
    suspend(
        fmt::format("the machine was started anew, and its clock shows {} more than when the "
                    "daemon last ran: it was off for that long, or its clock is wrong",
                    format(gap)));
}

void Retention::hear_clock(Duration moved) {
  if (is_jump(moved))
    suspend(fmt::format("the machine's clock was set {} by {}", moved.us < 0 ? "back" : "forward",
                        format(Duration{std::abs(moved.us)})));
}

void Retention::suspend(const std::string& cause) {
  if (suspended_) return;
  const std::string why =
      cause + ". Nothing is erased until an operator says `trainyard retention resume`";
  suspended_ = {why, state_.now()};
  state_.counters.erasing_suspended = true;
  state_.settings.emplace_back(kSuspended, json{{"why", why}, {"since", state_.now().us}}.dump());
  state_.happened.push_back(state_.event_of(Happening::erasing_suspended, {{"why", why}}));
}

void Retention::keep_time() {
  if (steady() < next_keeping_) return;
  next_keeping_ = steady() + kBetweenTimes;
  state_.settings.emplace_back("clock", state_.clock.kept());
}

Time Retention::next() const {
  return state_.now() + (std::min(next_pass_, next_keeping_) - steady());
}

// --- Operators -----------------------------------------------------------------------------------

Answer<void> Retention::stage_resume(const Identity& by, JournalChange& change) {
  if (!suspended_) return refuse(Refusal::Kind::conflict, "erasing is not suspended");
  change.settings.emplace_back(kSuspended, "");
  change.events.push_back(state_.event_of(Happening::erasing_resumed, {{"by", by.user}}));
  return {};
}

void Retention::resume() {
  suspended_.reset();
  state_.counters.erasing_suspended = false;
  next_pass_ = std::min(next_pass_, steady() + kFirstPass);
}

Answer<RetentionView> Retention::view() const {
  RetentionView view;
  const auto output = part(Leftover::output), checkpoints = part(Leftover::checkpoints);
  if (!output) return unavailable(output.error());
  if (!checkpoints) return unavailable(checkpoints.error());
  view.output = *output, view.checkpoints = *checkpoints;
  view.lived = state_.journal.lived();
  if (suspended_) view.suspended = suspended_->why, view.since = suspended_->since;
  return view;
}

Expected<RetentionView::Part> Retention::part(Leftover what) const {
  const auto keep = keep_of(what);
  const auto count = state_.journal.count_left_behind(what, age(keep.value_or(LivedTime::kMost)));
  if (!count) return tl::make_unexpected(count.error());
  return RetentionView::Part{.keep = keep,
                             .kept = count->all,
                             .due = keep ? count->old : 0,
                             .erased_today = today(what).erased,
                             .most_a_day = keep ? most_a_day(count->all, *keep) : 0};
}

// --- Erasing -------------------------------------------------------------------------------------

std::optional<Duration> Retention::keep_of(Leftover what) const {
  return what == Leftover::output ? state_.options.keep_output : state_.options.keep_checkpoints;
}

Journal::Age Retention::age(Duration keep) const {
  return {state_.journal.lived() - keep, state_.now() - keep};
}

/// Where as many jobs end every day, this is a keep-th of those that are kept, twice.
std::size_t Retention::most_a_day(std::size_t kept, Duration keep) const {
  const double due = static_cast<double>(kept) * static_cast<double>(kDay.us) /
                     static_cast<double>(std::max(keep.us, kDay.us));
  return std::max(state_.options.least_erased_a_day, static_cast<std::size_t>(std::ceil(2 * due)));
}

Retention::Day Retention::today(Leftover what) const {
  Day day{state_.journal.lived().us / kDay.us, 0};
  std::istringstream kept(state_.journal.setting(key_of(what)).value_or(""));
  Day then;
  if (kept >> then.number >> then.erased && then.number == day.number) day.erased = then.erased;
  return day;
}

void Retention::erase_old(const Commit& commit) {
  if (steady() < next_pass_) return;
  next_pass_ = steady() + kBetweenPasses;
  if (suspended_ || is_jump(state_.clock.off_by())) return;
  for (const Leftover what : {Leftover::output, Leftover::checkpoints}) {
    const auto keep = keep_of(what);
    const auto done = keep ? pass(what, *keep, commit) : Expected<void>();
    if (!done)
      state_.system.log().write(LogLevel::warning,
                                fmt::format("the {} of jobs that ended long ago stays: {}",
                                            name_of(what), done.error().message));
  }
}

Expected<void> Retention::pass(Leftover what, Duration keep, const Commit& commit) {
  const auto count = state_.journal.count_left_behind(what, age(keep));
  if (!count) return tl::make_unexpected(count.error());
  Day day = today(what);
  const std::size_t most = most_a_day(count->all, keep);
  if (count->old == 0 || day.erased >= most) return {};
  const auto old =
      state_.journal.left_behind(what, age(keep), std::min(kErasedAtOnce, most - day.erased));
  if (!old) return tl::make_unexpected(old.error());
  if (old->empty()) return {};  // the rows of those that are due are damaged
  day.erased += old->size();
  JournalChange intent;
  intent.settings.emplace_back(key_of(what), fmt::format("{} {}", day.number, day.erased));
  if (auto ok = commit(intent); !ok) return ok;

  JournalChange gone;
  gone.erased_what = what;
  const auto all = erase(what, *old, gone.erased);
  if (auto ok = commit(gone); !ok) return ok;
  const std::size_t more = count->old - old->size();
  if (more > 0 && day.erased < most) next_pass_ = steady() + kNextBatch;
  tell(gone, keep,
       more == 0
           ? ""
           : fmt::format("; {} more are due, at most {} are erased in a day", jobs_of(more), most));
  return all;
}

/// Goes on after an error, and returns the last.
Expected<void> Retention::erase(Leftover what, const std::vector<JobRecord>& jobs,
                                std::vector<JobRecord>& erased) {
  Expected<void> all;
  for (const JobRecord& job : jobs) {
    auto done = what == Leftover::output ? state_.engine.erase_output(job.number, job.runs)
                                         : state_.engine.erase_checkpoints(job.number);
    if (done) {
      erased.push_back(job);
    } else {
      all = std::move(done);
    }
  }
  return all;
}

void Retention::tell(const JournalChange& gone, Duration keep, const std::string& more) {
  if (gone.erased.empty()) return;
  std::vector<JobNumber> numbers;
  for (const JobRecord& job : gone.erased) numbers.push_back(job.number);
  state_.system.log().write(
      LogLevel::info,
      fmt::format("erased the {} of {} that ended more than {} of running time ago: {}{}",
                  name_of(gone.erased_what), jobs_of(gone.erased.size()), format(keep),
                  ranges_of(std::move(numbers)), more));
}

}  // namespace trainyard
