// Figures of the two workloads that the first author of Dally published with his simulator
// (github.com/aakash-sharma/cluster-sim; jobs of a SenseTime log, Hu et al., Helios, SC 2021, each
// given a model): how many jobs train which model on how many GPUs, how long an iteration takes in
// the median, and how long the jobs run.
#pragma once

#include <array>
#include <cstdint>
#include <string_view>

namespace trainyard::dally {

struct Mix {
  std::string_view model;
  double iteration_s;  // computing, the median
  std::int32_t gpus;
  double jobs;
};

/// Run times of one class of demands, in seconds: 0%, 5%, 10%, 20% .. 90%, 95%, 100% run at most so
/// long.
inline constexpr std::array kShares{0.0, 0.05, 0.1, 0.2, 0.3,  0.4, 0.5,
                                    0.6, 0.7,  0.8, 0.9, 0.95, 1.0};
struct Durations {
  std::int32_t most_gpus;
  std::array<double, kShares.size()> seconds;
};

// 500 jobs, all at the beginning.
inline constexpr std::array kBatchMix{
    Mix{"AlexNet", 0.001228, 1, 27},
    Mix{"AlexNet", 0.001228, 4, 9},
    Mix{"AlexNet", 0.001228, 8, 13},
    Mix{"AlexNet", 0.001228, 16, 4},
    Mix{"BERT", 0.00834, 1, 94},
    Mix{"BERT", 0.00834, 2, 4},
    Mix{"BERT", 0.00834, 4, 7},
    Mix{"BERT", 0.00834, 8, 15},
    Mix{"BERT", 0.00834, 16, 5},
    Mix{"MobileNetV3", 0.0007666, 1, 17},
    Mix{"MobileNetV3", 0.0007666, 2, 2},
    Mix{"MobileNetV3", 0.0007666, 4, 15},
    Mix{"MobileNetV3", 0.0007666, 8, 52},
    Mix{"MobileNetV3", 0.0007666, 16, 26},
    Mix{"MobileNetV3", 0.0007666, 32, 10},
    Mix{"MobileNetV3", 0.0007666, 40, 1},
    Mix{"MobileNetV3", 0.0007666, 48, 1},
    Mix{"MobileNetV3", 0.0007666, 56, 1},
    Mix{"ResNet18", 0.0005669, 1, 35},
    Mix{"ResNet18", 0.0005669, 4, 3},
    Mix{"ResNet50", 0.001491, 1, 67},
    Mix{"ResNet50", 0.001491, 2, 7},
    Mix{"ResNet50", 0.001491, 4, 16},
    Mix{"ResNet50", 0.001491, 8, 27},
    Mix{"ResNet50", 0.001491, 16, 7},
    Mix{"ResNet50", 0.001491, 32, 1},
    Mix{"VGG", 0.0002811, 1, 30},
    Mix{"VGG", 0.0002811, 4, 2},
    Mix{"VGG", 0.0002811, 8, 2},
};
inline constexpr std::array kBatchDurations{
    Durations{1,
              {7272, 7843, 8288, 9787, 10341, 40788, 48327, 71823, 113944, 170775, 202199, 229603,
               761516}},
    Durations{4,
              {7233, 7637, 7993, 10123, 47212, 63031, 76158, 93356, 114202, 162266, 218203, 257077,
               644927}},
    Durations{8,
              {7218, 7950, 9176, 39559, 42270, 47545, 53825, 60518, 78221, 110728, 189876, 333486,
               1165582}},
    Durations{1000,
              {7667, 8920, 36878, 39642, 42053, 53212, 82140, 141927, 161072, 180759, 261227,
               415193, 1131318}},
};

// 411 jobs over a week; none has one GPU.
inline constexpr std::array kPoissonMix{
    Mix{"AlexNet", 0.001228, 4, 9},        Mix{"AlexNet", 0.001228, 8, 14},
    Mix{"AlexNet", 0.001228, 16, 5},       Mix{"AlexNet", 0.001228, 40, 1},
    Mix{"BERT", 0.01178, 2, 26},           Mix{"BERT", 0.01178, 3, 1},
    Mix{"BERT", 0.01178, 4, 33},           Mix{"BERT", 0.01178, 8, 51},
    Mix{"BERT", 0.01178, 16, 11},          Mix{"BERT", 0.01178, 32, 3},
    Mix{"MobileNetV3", 0.0007666, 2, 2},   Mix{"MobileNetV3", 0.0007666, 4, 15},
    Mix{"MobileNetV3", 0.0007666, 8, 64},  Mix{"MobileNetV3", 0.0007666, 16, 28},
    Mix{"MobileNetV3", 0.0007666, 32, 13}, Mix{"MobileNetV3", 0.0007666, 40, 1},
    Mix{"MobileNetV3", 0.0007666, 48, 1},  Mix{"MobileNetV3", 0.0007666, 56, 1},
    Mix{"ResNet18", 0.0002476, 4, 3},      Mix{"ResNet50", 0.001491, 2, 13},
    Mix{"ResNet50", 0.001491, 4, 34},      Mix{"ResNet50", 0.001491, 8, 59},
    Mix{"ResNet50", 0.001491, 16, 12},     Mix{"ResNet50", 0.001491, 32, 7},
    Mix{"VGG", 0.0001427, 4, 2},           Mix{"VGG", 0.0001427, 8, 2},
};
inline constexpr std::array kPoissonDurations{
    Durations{4,
              {7233, 7993, 10123, 45735, 56739, 72061, 92011, 109998, 133517, 165453, 228978,
               294692, 670417}},
    Durations{8,
              {7218, 9063, 36731, 40573, 42932, 52037, 58676, 70623, 94533, 127881, 201204, 314734,
               1165582}},
    Durations{1000,
              {7667, 10021, 36878, 41659, 49501, 65957, 109537, 150161, 173151, 248870, 277463,
               386538, 1131318}},
};

}  // namespace trainyard::dally
