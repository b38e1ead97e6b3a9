// Which jobs act as trial jobs, in the reference: those that are called so, as long as what their
// user may still spend lasts for ten minutes of what its trial jobs hold. It is capped when one of
// these comes, goes on or ends, and when anything is decided while one waits.
#include <algorithm>
#include <cmath>

#include "reference_state.h"

namespace trainyard::reference {

bool State::are_rights_limited() const {
  return set.trial_share > 0 && workload_.users.size() > 0 && cluster.total_gpus > 0;
}

/// GPUs that a user's trial jobs may hold on the average, by the users who have jobs here.
double State::allowed_gpus() const {
  std::set<UserId> active;
  for (std::size_t j = 0; j < trains.size(); ++j)
    if (trains[j].stage != Stage::absent && trains[j].stage != Stage::done)
      active.insert(job(j).user);
  return set.trial_share * cluster.total_gpus /
         static_cast<double>(std::max<std::size_t>(active.size(), 1));
}

double State::held_by_right(UserId user) const {
  double gpus = 0;
  for (std::size_t j = 0; j < trains.size(); ++j)
    if (job(j).user == user && trains[j].is_trial &&
        (holds(j) || trains[j].stage == Stage::reserved))
      gpus += job(j).gpus();
  return gpus;
}

void State::spend_allowances(Duration time) {
  if (!are_rights_limited()) return;
  const double gpus = allowed_gpus();
  for (auto& [id, user] : users_)
    user.allowance += (gpus - held_by_right(id)) * static_cast<double>(time.us);
}

double State::most_allowed() const {
  return allowed_gpus() * static_cast<double>(set.trial_window.us);
}

void State::cap_allowance(UserId user) {
  double& allowance = users_.at(user).allowance;
  allowance = std::min(allowance, most_allowed());
}

/// Its jobs that wait gain or lose the right together.
void State::judge(UserId id) {
  User& user = users_.at(id);
  const bool has_right = user.allowance > held_by_right(id) * static_cast<double>(minutes(10).us);
  if (has_right == user.has_right) return;
  user.has_right = has_right;
  for (const std::size_t j : in(Stage::queued))
    if (job(j).user == id && job(j).job_class == JobClass::trial) trains[j].is_trial = has_right;
}

/// The job has just entered this stage.
void State::note_right(std::size_t j, Stage from, Stage to) {
  const bool is_called_trial = job(j).job_class == JobClass::trial;
  if (from == Stage::absent) users_.try_emplace(job(j).user, User{most_allowed()});
  if (!are_rights_limited()) {
    trains[j].is_trial = is_called_trial;
  } else if (is_called_trial) {
    if (to != Stage::done) cap_allowance(job(j).user);
    if (to == Stage::queued) trains[j].is_trial = users_.at(job(j).user).has_right;
    judge(job(j).user);
  }
  if (from == Stage::absent) trains[j].came_as_trial = trains[j].is_trial;
}

/// Users with trial jobs that wait.
std::set<UserId> State::users_who_wait() const {
  std::set<UserId> users;
  for (const std::size_t j : in(Stage::queued))
    if (are_rights_limited() && job(j).job_class == JobClass::trial) users.insert(job(j).user);
  return users;
}

void State::refresh_rights() {
  for (const UserId user : users_who_wait()) {
    cap_allowance(user);
    judge(user);
  }
}

/// When the first of them gains or loses it, if nothing happens until then.
Time State::rights_change() const {
  Time next = Time::never();
  for (const UserId id : users_who_wait()) {
    const User& user = users_.at(id);
    const double held = held_by_right(id), gpus = allowed_gpus();
    const double needed = held * static_cast<double>(minutes(10).us);
    if (gpus == held || (gpus > held) == user.has_right) continue;
    if (!user.has_right && needed >= most_allowed()) continue;
    const double us = std::ceil((needed - user.allowance) / (gpus - held)) + 1;
    if (us < 1e18) next = std::min(next, now + microseconds(static_cast<std::int64_t>(us)));
  }
  return next;
}

}  // namespace trainyard::reference
