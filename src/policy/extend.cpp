#include "policy/extend.h"

namespace trainyard {

Policy::Policy() = default;
Policy::~Policy() = default;

Regards Policy::regards() const {
  return context_ ? context_->regards() : Regards{};
}

void Policy::save_learnt(Learnt& learnt) const {
  if (context_) context_->save_learnt(learnt);
}

void Policy::recall(const Learnt& learnt, Time now) {
  if (context_) context_->recall(learnt, now);
}

void Policy::keep(std::unique_ptr<PolicyContext> context) {
  context_ = std::move(context);
}

PolicyContext::PolicyContext(const Yard& yard, const PolicySettings& settings)
    : yard_(yard),
      settings_(settings),
      estimator_(make_estimator(yard, settings.estimates, settings.error, settings.seed)),
      rights_(yard, settings.trial_limit),
      backlog_(yard, *estimator_),
      critical_(yard, backlog_, *estimator_),
      patience_(yard, settings.patience, backlog_) {
  if (settings.patience.fair > 0) uses_backlog_ = true, (void)estimates();
}

const Estimator& PolicyContext::estimates() {
  uses_estimator_ = true;
  if (estimator_->is_declared()) regards_.estimates = true;
  return *estimator_;
}

const TrialRights& PolicyContext::rights() {
  regards_.classes = true;
  return rights_;
}

const CriticalJobs& PolicyContext::critical_jobs() {
  uses_backlog_ = has_critical_ = true;
  (void)estimates();
  return critical_;
}

void PolicyContext::refresh() {
  const std::size_t told = outlooks_.size();
  if (uses_estimator_) estimator_->refresh(outlooks_);
  for (std::size_t i = told; i < outlooks_.size(); ++i) believe_anew(outlooks_[i]);
  backlog_.go_on();
  patience_.refresh();
  if (regards_.classes) rights_.refresh(changed_);
}

Time PolicyContext::next_change() const {
  const Time beliefs = uses_estimator_ ? estimator_->next_change() : Time::never();
  return regards_.classes ? std::min(beliefs, rights_.next_change()) : beliefs;
}

void PolicyContext::on_phase(JobId job, Phase from, Phase to) {
  if (uses_estimator_) estimator_->on_phase(job, from, to);
  if (regards_.classes) rights_.on_phase(job, from, to, changed_);
  if (has_ended(to)) patience_.on_end(job, backlog_.time_for(job));
  if (uses_backlog_) backlog_.on_phase(job, from, to);
  if (to == Phase::queued) patience_.on_queued();
  if (has_critical_) critical_.on_phase(job, from, to);
}

void PolicyContext::on_estimate(JobId job) {
  if (uses_estimator_) estimator_->on_estimate(job);
  believe_anew(job);
}

void PolicyContext::believe_anew(JobId job) {
  if (!uses_backlog_) return;
  const Duration before = backlog_.time_for(job);
  backlog_.renew(job);
  patience_.on_less(job, before - backlog_.time_for(job));
}

std::string PolicyContext::belief_of(JobId job) const {
  const std::string grounds = uses_estimator_ ? estimator_->grounds(job) : "";
  if (grounds.empty()) return {};
  return fmt::format("is believed to take another {} ({})", format(estimator_->remaining(job)),
                     grounds);
}

void PolicyContext::save_learnt(Learnt& learnt) const {
  if (uses_estimator_) estimator_->save_learnt(learnt);
  patience_.save_learnt(learnt);
}

void PolicyContext::recall(const Learnt& learnt, Time now) {
  if (uses_estimator_) estimator_->recall(learnt);
  patience_.recall(learnt, now);
}

void PolicyContext::on_rate(JobId job) {
  if (uses_estimator_) estimator_->on_rate(job);
  if (uses_backlog_) backlog_.renew(job);
}

}  // namespace trainyard
