// What a pause costs: the time to save before a job leaves its GPUs, and to load when it has GPUs
// again. Two ways to tell:
//
// From the model and its size:
//
//   save = a + bytes / write bandwidth
//   load = start-up + bytes / read bandwidth + b (1 + log2 g) + warm-up
//
// where bytes are those of the checkpoint (8 for each parameter with SGD and momentum, 12 with
// Adam), g the GPUs that have to find each other, and start-up and warm-up belong to the model.
// Example: BERT-base, 110 M parameters with Adam, on 8 GPUs, at 1 GB/s both ways, a = 2 s, b = 1 s,
// start-up 120 s: save = 2 + 1.32 s, load = 120 + 1.32 + 4 s.
//
// From what others measured or assumed: seconds for a whole restart, by the number of GPUs.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>

#include "base/time.h"

namespace trainyard {

struct PauseCost {
  Duration save, load;
};

/// Nothing of this is published; the defaults are ours.
struct CheckpointPath {
  double write_bytes_per_s = 1e9, read_bytes_per_s = 1e9;
  double fixed_save_s = 2;    // a
  double per_doubling_s = 1;  // b
};

/// Of a model with a checkpoint of so many bytes, on so many GPUs.
PauseCost pause_cost(double checkpoint_bytes, std::int32_t gpus, double start_up_s,
                     double warm_up_s = 0, const CheckpointPath& path = {});

struct RestartTable {
  struct Step {
    std::int32_t up_to_gpus;
    double seconds;
  };
  std::string_view name;
  std::string_view source;
  std::span<const Step> steps;  // the last one holds for all larger jobs too

  [[nodiscard]] double seconds(std::int32_t gpus) const;
};

std::span<const RestartTable> restart_tables();

/// A restart's seconds are not told apart by those who publish them: we take a quarter for saving
/// and the rest for loading.
PauseCost split_restart(double seconds);

}  // namespace trainyard
