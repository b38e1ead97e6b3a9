#include "policy/trial_rights.h"

#include <algorithm>
#include <cmath>
#include <limits>

namespace trainyard {
namespace {

bool waits(Phase phase) {
  return phase == Phase::queued;
}

constexpr const char *kBooks = "trial allowances", *kRights = "trial rights";
/// Beside the notes on jobs: allowances are counted from the growth that the same books have.
const std::string kAllowance = std::string(kOfJobs) + "trial allowance/";

/// What it got by its right; a room being made counts from the start.
bool takes(Phase phase) {
  return holds_gpus(phase) || phase == Phase::reserved;
}

}  // namespace

TrialRights::TrialRights(const Yard& yard, Limit limit) : yard_(yard), limit_(limit) {
  if (yard.cluster().total_gpus == 0) limit_.share = 0;
}

void TrialRights::on_phase(JobId job, Phase from, Phase to, std::vector<JobId>& changed) {
  const bool is_trial = yard_.job(job).job_class == JobClass::trial;
  if (!is_limited()) {
    if (is_trial && from == Phase::absent) {
      if (rights_.size() <= index(job)) rights_.resize(index(job) + 1);
      rights_[index(job)] = true;
    }
    return;
  }
  if (!is_trial && from != Phase::absent && !has_ended(to)) return;
  advance();
  User& user = user_of(job);
  if (from == Phase::absent) join(user, yard_.job(job).user);
  if (is_trial) {
    if (rights_.size() <= index(job)) rights_.resize(index(job) + 1);
    settle(user);
    if (rights_[index(job)]) {
      const std::int64_t gpus = yard_.job(job).gpus();
      user.held += (takes(to) ? gpus : 0) - (takes(from) ? gpus : 0);
    }
    if (waits(from)) user.waiting.erase(job);
    if (waits(to)) {
      user.waiting.insert(job);
      const auto known = restoring_.find(job);
      rights_[index(job)] = known == restoring_.end() ? user.has_right : known->second;
    }
    const UserId id = yard_.job(job).user;
    if (user.waiting.empty()) queuing_.erase(id);
    if (!user.waiting.empty() && !queuing_.contains(id)) queuing_.insert(id);
    update(user, changed);
  }
  if (has_ended(to) && --user.unfinished == 0) --active_;
}

void TrialRights::refresh(std::vector<JobId>& changed) {
  if (queuing_.empty()) return;
  advance();
  queuing_.each([&](UserId id) {
    User& user = users_[index(id)];
    settle(user);
    update(user, changed);
    return true;
  });
}

Time TrialRights::next_change() const {
  Time next = Time::never();
  queuing_.each([&](UserId id) {
    const User& user = users_[index(id)];
    const double slope = rate() - static_cast<double>(user.held);
    const double missing = needed(user) - user.allowance;
    // Towards the threshold, from the side on which the user is.
    if (slope == 0 || (slope > 0) == user.has_right) return true;
    if (!user.has_right && needed(user) >= full()) return true;  // only when something ends
    const double us = std::ceil(missing / slope) + 1;
    if (us < 1e18) next = std::min(next, user.at + microseconds(static_cast<std::int64_t>(us)));
    return true;
  });
  return next;
}

/// Users are named before their first job is submitted, so the answer does not change.
bool TrialRights::is_limited() const {
  return limit_.share > 0 && yard_.workload().users.size() > 0;
}

TrialRights::User& TrialRights::user_of(JobId job) {
  const std::size_t id = index(yard_.job(job).user);
  if (users_.size() <= id) users_.resize(id + 1);
  return users_[id];
}

/// A new user begins with a full allowance, one that comes back with what was left.
void TrialRights::join(User& user, UserId id) {
  if (user.unfinished++ == 0) ++active_;
  if (user.known) return;
  user.known = true;
  user.at = yard_.now();
  user.grown = growth_;
  user.allowance = full();
  if (const auto kept = kept_.find(name_of(index(id))); kept != kept_.end()) {
    user.allowance = kept->second.allowance;
    user.at = kept->second.at, user.grown = kept->second.grown;
  }
}

/// GPUs, on the average, that a user's trial jobs may hold.
double TrialRights::rate() const {
  return limit_.share * yard_.cluster().total_gpus /
         static_cast<double>(std::max<std::size_t>(active_, 1));
}

double TrialRights::full() const {
  return rate() * static_cast<double>(limit_.window.us);
}

void TrialRights::advance() {
  growth_ += rate() * static_cast<double>((yard_.now() - as_of_).us);
  as_of_ = yard_.now();
}

double TrialRights::allowance_now(const User& user) const {
  const double spent =
      static_cast<double>(user.held) * static_cast<double>((yard_.now() - user.at).us);
  return std::min(full(), user.allowance + growth_ - user.grown - spent);
}

void TrialRights::settle(User& user) {
  user.allowance = allowance_now(user);
  user.at = yard_.now();
  user.grown = growth_;
}

double TrialRights::needed(const User& user) {
  return static_cast<double>(user.held) * static_cast<double>(kAhead.us);
}

void TrialRights::update(User& user, std::vector<JobId>& changed) {
  const bool has_right = user.allowance > needed(user);
  if (has_right == user.has_right || !restoring_.empty()) return;
  user.has_right = has_right;
  user.waiting.each([&](JobId job) {
    rights_[index(job)] = has_right;
    changed.push_back(job);
    return true;
  });
}

// --- Over a restart ------------------------------------------------------------------------------

std::string TrialRights::name_of(std::size_t user) const {
  const Names& users = yard_.workload().users;
  return user < users.size() ? users[user] : "";
}

void TrialRights::save_learnt(Learnt& learnt) const {
  if (!is_limited()) return;
  learnt[kBooks] = {growth_, number_of(std::max(as_of_, Time{}))};
  std::map<std::string, Kept> all = kept_;
  for (std::size_t u = 0; u < users_.size(); ++u)
    if (const User& user = users_[u]; user.known)
      all[name_of(u)] = {user.allowance, user.at, user.grown, user.has_right};
  for (const auto& [user, kept] : all)
    learnt[kAllowance + user] = {above_zero(kept.allowance), above_zero(-kept.allowance),
                                 number_of(std::max(kept.at, Time{})), kept.grown,
                                 kept.has_right ? 1.0 : 0.0};
  JobNotes notes(learnt, kRights, 1);
  for (std::size_t j = 0; j < rights_.size(); ++j)
    if (const JobId job{static_cast<std::uint32_t>(j)};
        yard_.job(job).job_class == JobClass::trial && !has_ended(yard_.state(job).phase))
      notes.add(job, {rights_[j] ? 1.0 : 0.0});
}

/// Rights are known before jobs are restored: other stages ask for them then.
void TrialRights::recall(const Learnt& learnt, Time now) {
  if (limit_.share == 0) return;
  each_learnt(learnt, kAllowance, [&](std::string_view user, std::span<const double> kept) {
    if (kept.size() != 5) return;
    kept_[std::string(user)] = {kept[0] - kept[1], std::min(time_of(kept[2]), now), kept[3],
                                kept[4] != 0};
  });
  constexpr std::size_t kMostJobs = std::numeric_limits<std::uint32_t>::max();
  each_note(learnt, kRights, 1, kMostJobs,
            [&](JobId job, std::span<const double> right) { restoring_[job] = right[0] != 0; });
}

void TrialRights::recall_jobs(const Learnt& learnt) {
  restoring_.clear();
  bool has_books = false;
  each_learnt(learnt, kBooks, [&](std::string_view rest, std::span<const double> books) {
    if (!rest.empty() || books.size() != 2) return;
    growth_ = books[0], as_of_ = std::min(time_of(books[1]), yard_.now());
    has_books = true;
  });
  for (std::size_t u = 0; u < users_.size() && has_books; ++u) {
    User& user = users_[u];
    const auto kept = kept_.find(name_of(u));
    if (!user.known || kept == kept_.end()) continue;
    user.allowance = kept->second.allowance, user.at = kept->second.at;
    user.grown = kept->second.grown, user.has_right = kept->second.has_right;
  }
}

}  // namespace trainyard
