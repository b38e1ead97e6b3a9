#include "live/supervisor/stop_sequence.h"

#include <algorithm>

namespace trainyard {

void StopSequence::order(const StopOrder& order, Time now) {
  const bool asks = order.signal != 0;
  terminate_at_ = std::min(terminate_at_, asks ? now + order.grace : now);
  kill_at_ = std::min(kill_at_, now + order.grace + (asks ? order.kill_wait : Duration{}));
  if (begun_) return;
  begun_ = true;
  ask_due_ = asks;
  asked_ = order;
}

StopSequence::Step StopSequence::take(Time now) {
  if (ask_due_) {
    ask_due_ = false;
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
  if (!begun_ || killed_) return Time::never();
  if (ask_due_) return {};
  return terminated_ ? kill_at_ : std::min(terminate_at_, kill_at_);
}

}  // namespace trainyard
