#include "perf/skew.h"

#include <array>
#include <cctype>
#include <string>

namespace trainyard {
namespace {

struct TensorSizes {
  std::string_view model;
  double largest_mb, total_mb;
};

constexpr std::array kModels{
    TensorSizes{"vgg19", 392.0, 547.1},   TensorSizes{"vgg16", 392.0, 526.8},
    TensorSizes{"vgg11", 392.0, 506.5},   TensorSizes{"alexnet", 144.0, 235.8},
    TensorSizes{"resnet152", 9.0, 149.6}, TensorSizes{"resnet101", 9.0, 119.7},
    TensorSizes{"resnet50", 9.0, 80.6},   TensorSizes{"inception4", 5.9, 132.8},
    TensorSizes{"inception3", 7.8, 56.6}};

}  // namespace

bool is_skewed(std::string_view model) {
  std::string plain;
  for (const char c : model)
    if (c != '-' && c != '_')
      plain += static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  for (const TensorSizes& sizes : kModels)
    if (sizes.model == plain) return 2 * sizes.largest_mb > sizes.total_mb;
  return false;
}

}  // namespace trainyard
