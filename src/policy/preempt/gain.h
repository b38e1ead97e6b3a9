// What a pause gains, in the sum of completion times: the arithmetic of preempt=benefit.
//
// One slot, a victim v with R_v left, which takes S_v to leave and L_v to load again, and a waiter
// w with L_w and R_w ahead of it:
//
//   not pausing   v ends at R_v, w at R_v + L_w + R_w
//   pausing       w ends at S_v + L_w + R_w, v at that + L_v + R_v
//   gain          R_v - R_w - L_w - 2 S_v - L_v - n (S_v + L_v)
//
// where n other jobs wait for the slot, each of which the pause delays by S_v + L_v. Example: R_v =
// 60 min, R_w = 10 min, S_v = 1 min, L_v = L_w = 2 min, n = 3: 60 - 10 - 2 - 2 - 2 - 9 = 35 min.
//
// A cluster has many slots, and pauses can take several victims V. Ours, beyond the above:
//
//   gain = max(0, min(D, max R_v) - |V| R_w) - max S_v - sum of (S_v + L_w + L_v + n_v (S_v + L_v))
//
//  - D, in place of R_v: without the pause the waiter does not wait for these victims but for the
//    first that end, T from now (not for those that have outlived their estimates); and when it
//    starts, all that wait behind it move up. Rooms come free every T, and of those that follow the
//    first, jobs that come meanwhile take every second, so that the last of the W others starts at
//    D = (1 + 2 W) T, and the sum of what all of them gain by one more room now is D. But never
//    more than by the victims' own end.
//  - n_v: GPU time that is lost delays all that wait, by as much as the cluster needs to make up
//    for it, and all that come until the queue is worked off. With a load of rho, for each that
//    waits there are 1 / (1 - rho) of these: n_v = W / (1 - rho) x (GPUs of v) / (GPUs of the
//    cluster). rho counts as 7/8 at most: the nearer it is to 1 the more of those that come are
//    short, and pass the queue.
//  - max(0, ...): what is gained when pauses are free is never counted as a loss, so that free
//    pauses are SRTF's. (For gangs it can be one: SRTF lets one job take the place of many.)
//  - The network, where it counts: a job runs as fast as its workers are close. M_v is what the
//    victim loses by coming back to where jobs of its size usually find room (usual_place.h), and
//    is lost on its GPUs as S_v + L_v are; what the waiter gains, or loses, by having this room
//    instead of a usual one is added in the same way.
//  - Work that is done twice: a job that kept nothing when it was last paused is expected to lose
//    what it has done since it started. That is part of M_v.
//  - A price: a minute of a trial job's own delay is worth `price` minutes of another's.
//
// All terms are whole microseconds in doubles, so that sums do not depend on their order.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>

namespace trainyard {

/// std::floor() without a call: without SSE 4.1 that is one, and a gain needs five.
inline double whole(double us) {
  constexpr double kAllWhole = 4503599627370496;  // 2^52: from here on doubles have no fractions
  if (!(std::abs(us) < kAllWhole)) return us;
  const auto toward_zero = static_cast<double>(static_cast<std::int64_t>(us));
  return toward_zero > us ? toward_zero - 1 : toward_zero;
}

/// Times in microseconds.
struct GainWaiter {
  double remaining = 0;  // R
  double load = 0;       // L
  double price = 1;
  double others_per_gpu = 0;  // W / (1 - rho), over the GPUs of the cluster
  double first_room = std::numeric_limits<double>::infinity();   // T
  double all_started = std::numeric_limits<double>::infinity();  // D
};

struct GainVictim {
  double left = 0;   // R, as long as it would stay
  double leave = 0;  // S
  double load = 0;   // L
  double gpus = 1;
  double price = 1;
  double after = 0;  // M, what it loses after the pause by having been paused
};

/// D, where so many jobs wait, the one that asks included.
inline double all_started(double first_room, std::int64_t waiting) {
  return first_room * static_cast<double>(1 + 2 * (waiting - 1));
}

/// By how much this pause delays those who wait beside.
inline double delay_of_others(const GainWaiter& w, const GainVictim& v) {
  return whole((v.leave + v.load + v.after) * w.others_per_gpu * v.gpus);
}

/// What is lost by this pause whatever is gained: 0 when pauses are free.
inline double pause_loss(const GainWaiter& w, const GainVictim& v) {
  return whole(v.price * (v.leave + w.load + v.load + v.after)) + delay_of_others(w, v);
}

/// The part that a waiter takes of GPUs that are freed.
inline double part_of(double gpus, double freed) {
  return std::min(std::max(gpus, 1.0) / freed, 1.0);
}

/// The gain of pausing all that were added.
class PauseGain {
 public:
  explicit PauseGain(const GainWaiter& waiter) : waiter_(waiter) {}

  PauseGain& add(const GainVictim& v) {
    left_ = std::max(left_, v.left);
    leave_ = std::max(leave_, v.leave);
    suspended_ += whole(v.price * waiter_.remaining);
    loss_ += pause_loss(waiter_, v);
    others_ += delay_of_others(waiter_, v);
    return *this;
  }

  /// The waiter takes this part of the GPUs that are freed, at most 1. Other jobs of the queue have
  /// the rest: they answer for their part of the paused jobs' wait, and are spared as much waiting
  /// for theirs.
  PauseGain& take_part(double part) {
    part_ = part;
    return *this;
  }

  /// The waiter takes so much less time in this room than in a usual one, on so many GPUs. To the
  /// nearest microsecond: where both are alike, what rounding leaves of that is not a loss.
  PauseGain& add_room(double saved, double gpus) {
    room_ = std::round(saved * (waiter_.price + waiter_.others_per_gpu * gpus));
    return *this;
  }

  /// How long the waiter, and those who move up behind it, would wait without the pauses.
  [[nodiscard]] double spared() const {
    return std::min(waiter_.all_started, whole(left_ / part_));
  }
  /// What more the waiter's own wait counts than that of others.
  [[nodiscard]] double worth() const {
    return whole((waiter_.price - 1) * std::min(waiter_.first_room, left_));
  }
  [[nodiscard]] double suspended() const { return std::floor(part_ * suspended_); }
  [[nodiscard]] double room() const { return room_; }
  /// By how much the pauses delay others.
  [[nodiscard]] double others() const { return others_; }
  /// What would be gained if nothing were lost.
  [[nodiscard]] double free_gain() const { return std::max(0.0, spared() + worth() - suspended()); }
  /// What the pauses cost.
  [[nodiscard]] double loss() const { return whole(waiter_.price * leave_) + loss_; }
  [[nodiscard]] double gain() const { return free_gain() + room_ - loss(); }

 private:
  GainWaiter waiter_;
  double left_ = 0, leave_ = 0, suspended_ = 0, loss_ = 0, others_ = 0, room_ = 0;
  double part_ = 1;
};

}  // namespace trainyard
