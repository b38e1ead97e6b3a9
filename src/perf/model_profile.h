// What is known of a neural network: enough to say how fast it trains on a placement (speed.h), how
// much a checkpoint of it writes, and how long it takes to start.
//
// Every figure carries its source; one that begins with "assumed" is ours, made up from what is
// known of similar models.
#pragma once

#include <algorithm>
#include <cctype>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "model/learning_curve.h"

namespace trainyard {

struct Figure {
  double value = 0;
  std::string source;

  [[nodiscard]] bool assumed() const { return source.starts_with("assumed"); }
};

/// How workers agree on a gradient.
enum class Collective : std::uint8_t { ring, hierarchical, parameter_server, single_server };

constexpr std::string_view name(Collective c) {
  switch (c) {
    case Collective::ring:
      return "ring";
    case Collective::hierarchical:
      return "hierarchical";
    case Collective::parameter_server:
      return "parameter-server";
    case Collective::single_server:
      return "single-server";
  }
  return "";
}

enum class Optimiser : std::uint8_t { sgd, adam };

constexpr std::string_view name(Optimiser o) {
  return o == Optimiser::sgd ? "sgd" : "adam";
}

struct KindSpeed {
  std::string kind;  // of GPU
  Figure samples_per_s;
};

/// How it learns in a run of the usual length (model/learning_curve.h has the form).
struct ModelCurve {
  Figure limit, start;
  Figure to_95;  // the share of the run after which it has 95% of the accuracy at its end

  /// There is one: figures for which there is none are refused when they are read.
  [[nodiscard]] LearningCurve learning_curve() const {
    return make_learning_curve(limit.value, start.value, to_95.value).value_or(LearningCurve{});
  }
};

struct ModelProfile {
  std::string name;
  std::string task;                  // what it is, for people
  std::vector<std::string> aliases;  // other names in traces
  Figure parameters;
  Figure gradient_bytes;   // what workers exchange in an iteration
  Figure largest_tensor;   // its share of the gradient, 0 to 1
  Figure batch;            // samples of one worker in an iteration
  Figure start_up_s;       // from being placed to the first iteration, reading the checkpoint aside
  Figure overlap;          // the share of the compute time that can hide communication, 0 to 1
  Figure messages{1, {}};  // collectives of an iteration, each a part of the gradient
  Figure compute_scale{1, {}};  // of the compute time, before communication is set beside it
  Optimiser optimiser = Optimiser::sgd;
  Collective collective = Collective::ring;
  std::vector<KindSpeed> speeds;  // of one GPU with this batch; at least one
  std::optional<ModelCurve> curve;

  /// Weights and the optimiser's state in single precision: SGD with momentum keeps one number more
  /// for each weight, Adam two.
  [[nodiscard]] double checkpoint_bytes() const {
    return parameters.value * (optimiser == Optimiser::sgd ? 8 : 12);
  }
  /// One tensor is more than half of it, so that its transfer cannot be balanced or overlapped.
  [[nodiscard]] bool skewed() const { return largest_tensor.value > 0.5; }
};

/// Names of models and of GPU kinds are the same when only case, '-', '_', '.' and blanks differ.
inline std::string plain_name(std::string_view name) {
  std::string plain;
  for (const char c : name)
    if (std::string_view("-_. ").find(c) == std::string_view::npos)
      plain += static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  return plain;
}

}  // namespace trainyard
