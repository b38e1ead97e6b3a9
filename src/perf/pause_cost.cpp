#include "perf/pause_cost.h"

#include <algorithm>
#include <array>
#include <cmath>

namespace trainyard {
namespace {

using Step = RestartTable::Step;

constexpr std::array kHelios{Step{1, 7}, Step{8, 30}, Step{9, 60}};
constexpr std::array kTiresias{Step{1, 62}};
constexpr std::array kLucid{Step{8, 40}, Step{9, 60}};
constexpr std::array kTitan{Step{1, 18}, Step{2, 22}, Step{7, 29}, Step{8, 46}};
constexpr std::array kElasticFlow{Step{1, 0.7}, Step{2, 4.2}};

constexpr std::array kTables{
    RestartTable{"helios", "constants of the Helios artifact (Hu et al., SC 2021)", kHelios},
    RestartTable{"tiresias", "62 s on average, Tiresias (Gu et al., NSDI 2019)", kTiresias},
    RestartTable{"lucid", "constants of the Lucid artifact (Hu et al., ASPLOS 2023)", kLucid},
    RestartTable{"titan", "constants of the Titan artifact, for up to 8 GPUs", kTitan},
    RestartTable{"elasticflow",
                 "0.7 to 4.2 s with warm workers, ElasticFlow (Gu et al., ASPLOS 2023); that the "
                 "least is for 1 GPU and the most for all others is ours",
                 kElasticFlow},
};

Duration from_seconds(double s) {
  const double us = std::clamp(s * 1e6, 0.0, static_cast<double>(kLongestDuration.us));
  return Duration{std::llround(us)};
}

}  // namespace

PauseCost pause_cost(double checkpoint_bytes, std::int32_t gpus, double start_up_s,
                     double warm_up_s, const CheckpointPath& path) {
  const double meet_s = path.per_doubling_s * (1 + std::log2(std::max(gpus, 1)));
  return {from_seconds(path.fixed_save_s + checkpoint_bytes / path.write_bytes_per_s),
          from_seconds(start_up_s + checkpoint_bytes / path.read_bytes_per_s + meet_s + warm_up_s)};
}

double RestartTable::seconds(std::int32_t gpus) const {
  const auto step =
      std::ranges::find_if(steps, [&](const Step& s) { return gpus <= s.up_to_gpus; });
  return step == steps.end() ? steps.back().seconds : step->seconds;
}

std::span<const RestartTable> restart_tables() {
  return kTables;
}

PauseCost split_restart(double seconds) {
  return {from_seconds(seconds / 4), from_seconds(seconds * 3 / 4)};
}

}  // namespace trainyard
