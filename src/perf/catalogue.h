// The models that are known by name, and how kinds of GPU compare where a model has not been
// measured on one. The built-in ones are in catalogue_data.cpp, written in the same TOML that adds
// a user's:
//
//   [[model]]
//   name = "MyNet"
//   aliases = ["mynet-large"]   # in traces; case, '-', '_', '.' and blanks never matter
//   parameters = 30e6
//   batch = 64                  # samples of one worker in an iteration
//   optimiser = "adam"          # or "sgd", the default
//   collective = "ring"         # default; "hierarchical", "parameter-server", "single-server"
//   overlap = 0.5               # share of the compute time that can hide communication
//   start_up_s = 30
//   gradient_mb = 120           # default 4 bytes for each parameter
//   largest_tensor = 0.1        # share of the gradient; default 0
//   source = "measured here"    # of every figure that has none of its own
//   sources.overlap = "assumed: as ResNet-50"
//   curve = {limit = 0.95, start = 0.1, to_95 = 0.25}  # how it learns; none unless it is given
//   [[model.speed]]             # one GPU of this kind; at least one such table
//   kind = "V100"
//   samples_per_s = 800
//
//   [[kind]]                    # a kind that the catalogue does not know
//   name = "L4"
//   relative = 0.6              # its speed, a V100 being 1
//
// docs/models.md describes the fields.
#pragma once

#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "base/error.h"
#include "perf/model_profile.h"

namespace trainyard {

struct KindFactor {
  std::string kind;
  Figure relative;  // V100 = 1
};

class Catalogue {
 public:
  /// The models that come with the program.
  static const Catalogue& builtin();

  /// Adds what the TOML describes; a model or kind of a known name takes its place. All or nothing.
  Expected<void> add_toml(std::string_view text, std::string_view origin);
  Expected<void> add_file(const std::string& path);

  /// By name or alias; null when there is none.
  [[nodiscard]] const ModelProfile* find(std::string_view name) const;
  /// The same, and an error that suggests a name.
  [[nodiscard]] Expected<const ModelProfile*> get(std::string_view name) const;

  [[nodiscard]] const std::vector<ModelProfile>& models() const { return models_; }
  [[nodiscard]] const std::vector<KindFactor>& kinds() const { return kinds_; }

  /// Of one GPU of this kind, with the model's batch. Where it was not measured: the first speed
  /// that was, scaled by how the kinds compare, and its source says so. An unknown kind is a V100.
  [[nodiscard]] Figure samples_per_s(const ModelProfile& model, std::string_view kind) const;
  /// How fast a kind of GPU is in general, a V100 being 1; so is an unknown kind.
  [[nodiscard]] double relative(std::string_view kind) const;
  /// In a [[kind]] table, or in a model's speeds.
  [[nodiscard]] bool knows_kind(std::string_view kind) const;
  /// The known kind that an unknown one is a misspelling of: the same but for letters that look
  /// like digits (V10O) or for their order (V010). Empty if there is none; a kind that the
  /// catalogue just does not know, as A800, is no misspelling of A100.
  [[nodiscard]] std::string meant_by(std::string_view kind) const;

 private:
  void add(ModelProfile model);
  void add(KindFactor kind);

  std::vector<ModelProfile> models_;
  std::vector<KindFactor> kinds_;
  std::unordered_map<std::string, std::size_t> by_name_;  // plain names and aliases
};

}  // namespace trainyard
