#include "sim/utilization.h"

#include <algorithm>

namespace trainyard {

void UtilizationRecorder::add(Time from, Time to, std::int64_t held) {
  if (to <= from) return;
  while (to > beginning(kIntervals)) merge();
  end_ = to;
  const auto gpus = static_cast<double>(held);
  total_ += gpus * static_cast<double>((to - from).us);
  while (from < to) {
    const auto i = static_cast<std::size_t>(from.us / interval_.us);
    const Time next = std::min(to, beginning(i + 1));
    gpu_us_[i] += gpus * static_cast<double>((next - from).us);
    from = next;
  }
}

void UtilizationRecorder::merge() {
  for (std::size_t i = 0; i < kIntervals; ++i)
    gpu_us_[i] = 2 * i + 1 < kIntervals ? gpu_us_[2 * i] + gpu_us_[2 * i + 1] : 0;
  interval_ = interval_ * 2;
}

UtilizationSeries UtilizationRecorder::series(std::int64_t gpus) const {
  UtilizationSeries series{interval_, {}};
  for (std::size_t i = 0; beginning(i) < end_; ++i) {
    const Duration length = std::min(interval_, end_ - beginning(i));
    series.share.push_back(gpu_us_[i] / static_cast<double>(length.us) /
                           static_cast<double>(std::max<std::int64_t>(1, gpus)));
  }
  return series;
}

}  // namespace trainyard
