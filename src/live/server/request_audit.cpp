#include "live/server/request_audit.h"

#include <nlohmann/json.hpp>
#include <utility>

namespace trainyard {
namespace {

constexpr std::size_t kMostMuted = 4096;

std::string message_of(const Reply& reply) {
  const auto body = nlohmann::json::parse(reply.body, nullptr, false);
  return body.is_object() && body.contains("error") ? body["error"].value("message", "") : "";
}

}  // namespace

bool RequestAudit::is_muted(const std::string& caller) {
  const std::lock_guard lock(mutex_);
  const auto found = muted_.find(caller);
  return found != muted_.end() && found->second > system_.steady_clock();
}

bool RequestAudit::takes_refusal(const std::string& caller) {
  const Time now = system_.steady_clock();
  const Duration wait = refusals_.take(caller, now);
  if (wait.us == 0) return true;
  const std::lock_guard lock(mutex_);
  ++left_out_;
  if (muted_.size() >= kMostMuted)
    std::erase_if(muted_, [&](const auto& entry) { return entry.second <= now; });
  if (muted_.size() < kMostMuted) muted_[caller] = now + wait;
  return false;
}

Expected<std::uint64_t> RequestAudit::append(AuditEntry entry) {
  {
    const std::lock_guard lock(mutex_);
    entry.left_out = std::exchange(left_out_, 0);
  }
  entry.at = system_.wall_clock();
  auto line = log_.append(entry);
  if (line) return line;
  const std::lock_guard lock(mutex_);
  left_out_ += entry.left_out + 1;
  return line;
}

Expected<void> RequestAudit::begin(Asked& asked) {
  if (is_muted(asked.caller)) return {};
  asked.entry.outcome = "asked";
  const auto line = append(asked.entry);
  if (!line) return tl::make_unexpected(line.error());
  asked.line = *line;
  return {};
}

void RequestAudit::end(const Asked& asked, const Reply& reply) {
  const bool is_done = reply.status < 300;
  if (!is_done && !takes_refusal(asked.caller)) return;
  AuditEntry entry = asked.entry;
  entry.outcome = is_done ? "done" : "refused";
  entry.of = asked.line;
  if (!reply.object.empty()) entry.object = reply.object;
  if (!is_done) entry.why = message_of(reply);
  (void)append(std::move(entry));  // counted where it cannot be written
}

}  // namespace trainyard
