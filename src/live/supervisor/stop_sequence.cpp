#include "live/supervisor/stop_sequence.h"

#include <algorithm>

namespace trainyard {

void StopSequence::ask_at(const StopOrder& how, Time when) {
  asked_ = how;
  ask_at_ = when;
}

void StopSequence::order(const StopOrder& order, Time now) {
  const bool asks = order.signal != 0;
  terminate_at_ = std::min(terminate_at_, asks ? now + order.grace : now);
  kill_at_ = std::min(kill_at_, now + order.grace + (asks ? order.kill_wait : Duration{}));
  if (begun_) return;
  begun_ = true;
  ask_at_ = asks && !has_asked_ ? now : Time::never();
  asked_ = order;
}

StopSequence::Step StopSequence::take(Time now) {
  if (ask_at_ <= now) {
    ask_at_ = Time::never();
    has_asked_ = true;
    return Step::ask;
  }
  if (!terminated_ && terminate_at_ <= now) {
    terminated_ = true;
    return Step::terminate;
  }
  if (!killed_ && kill_at_ <= now) {
    killed_ = true;
    return Step::kill;
  }
  return Step::none;
}

Time StopSequence::next() const {
  if (killed_) return Time::never();
  return std::min({ask_at_, terminated_ ? Time::never() : terminate_at_, kill_at_});
}

}  // namespace trainyard
