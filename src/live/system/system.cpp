#include "live/system/system.h"

#include <chrono>

namespace trainyard {
namespace {

template <class Clock>
Time now() {
  const auto since = Clock::now().time_since_epoch();
  return {std::chrono::duration_cast<std::chrono::microseconds>(since).count()};
}

}  // namespace

Time RealSystem::wall_clock() const {
  return now<std::chrono::system_clock>();
}

Time RealSystem::steady_clock() const {
  return now<std::chrono::steady_clock>();
}

}  // namespace trainyard
