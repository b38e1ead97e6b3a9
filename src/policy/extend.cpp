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

void Policy::recall_jobs(const Learnt& learnt) {
  if (context_) context_->recall_jobs(learnt);
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
      patience_(yard, settings.patience, backlog_),
      overdue_(yard, patience_, settings.overdue_share),
      worth_(yard, rights_, settings.trial_worth, critical_, overdue_),
      gpu_price_(yard) {
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

const Worth& PolicyContext::worth() {
  if (settings_.trial_worth != 1) (void)rights();
  if (settings_.has_critical) uses_backlog_ = uses_critical_ = true, (void)estimates();
  return worth_;
}

const GpuPrice& PolicyContext::gpu_price() {
  uses_gpu_price_ = true;
  return gpu_price_;
}

void PolicyContext::refresh() {
  const std::size_t told = outlooks_.size();
  if (uses_estimator_) estimator_->refresh(outlooks_);
  for (std::size_t i = told; i < outlooks_.size(); ++i) believe_anew(outlooks_[i]);
  backlog_.go_on();
  patience_.refresh();
  overdue_.refresh();
  if (uses_critical_) critical_.refresh(changed_);
  if (regards_.classes) rights_.refresh(changed_);
}

Time PolicyContext::next_change() const {
  Time next = overdue_.next_change();
  if (uses_estimator_) next = std::min(next, estimator_->next_change());
  if (regards_.classes) next = std::min(next, rights_.next_change());
  return next;
}

void PolicyContext::on_phase(JobId job, Phase from, Phase to) {
  if (!reckoned_.empty() && to != Phase::reserved) reckoned_.erase(job);
  if (uses_estimator_) estimator_->on_phase(job, from, to);
  if (regards_.classes) rights_.on_phase(job, from, to, changed_);
  if (has_ended(to)) patience_.on_end(job, backlog_.time_for(job));
  if (uses_backlog_) backlog_.on_phase(job, from, to);
  if (to == Phase::queued) patience_.on_queued();
  if (uses_critical_) critical_.on_phase(job, from, to);
  if (uses_gpu_price_) gpu_price_.on_phase(from, to);
  overdue_.on_phase(job, from, to);
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

std::string PolicyContext::gain_of(JobId job) const {
  const auto reckoned = reckoned_.find(job);
  return reckoned == reckoned_.end() ? "" : reckoned->second.text();
}

std::string PolicyContext::worth_of(JobId job) const {
  if (overdue_.goes_first(job)) return {};  // told as a bound on waits
  const double worth = worth_.of(job);
  if (worth == 1) return {};
  return fmt::format("each of its seconds counts {:g} times, as {}", worth,
                     worth == Worth::kCritical ? "all other work could be done before it"
                                               : "it acts as a trial job");
}

void PolicyContext::save_learnt(Learnt& learnt) const {
  if (uses_estimator_) estimator_->save_learnt(learnt);
  patience_.save_learnt(learnt);
  overdue_.save_learnt(learnt);
  if (regards_.classes) rights_.save_learnt(learnt);
  if (uses_critical_) critical_.save_learnt(learnt);
  if (uses_gpu_price_) gpu_price_.save_learnt(learnt);
}

void PolicyContext::recall(const Learnt& learnt, Time now) {
  if (uses_estimator_) estimator_->recall(learnt);
  patience_.recall(learnt, now);
  if (regards_.classes) rights_.recall(learnt, now);
  if (uses_gpu_price_) gpu_price_.recall(learnt, now);
}

void PolicyContext::recall_jobs(const Learnt& learnt) {
  if (uses_estimator_) estimator_->recall_jobs(learnt);
  for (std::uint32_t j = 0; uses_backlog_ && j < yard_.jobs(); ++j) backlog_.renew(JobId{j});
  patience_.recall_jobs(learnt);
  overdue_.recall_jobs(learnt);
  if (regards_.classes) rights_.recall_jobs(learnt);
  if (uses_critical_) critical_.recall_jobs(learnt);
}

void PolicyContext::on_rate(JobId job) {
  if (uses_estimator_) estimator_->on_rate(job);
  if (uses_backlog_) backlog_.renew(job);
}

}  // namespace trainyard
