// What is known of the costs of pausing users' jobs, by user and model: a job that has told nothing
// yet is taken to cost what the jobs like it did. Kept over restarts (the setting `pause_costs` of
// the journal).
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>

#include "base/error.h"
#include "base/time.h"

namespace trainyard {

class MeasuredPauses {
 public:
  /// The models of a user that are remembered: of more, the one that was measured longest ago goes.
  static constexpr std::size_t kMostModels = 64;

  struct Cost {
    std::optional<Duration> save{};  // writing the checkpoint, as jobs reported it
    std::optional<Duration> load{};  // from the start of a run to its first sign of progress

    bool operator==(const Cost&) const = default;
  };

  [[nodiscard]] Cost of(const std::string& user, const std::string& model) const;
  /// The last measurement is the one that counts.
  void note_save(const std::string& user, const std::string& model, Duration save);
  void note_load(const std::string& user, const std::string& model, Duration load);

  [[nodiscard]] std::string to_json() const;
  /// Unchanged if it cannot be read.
  Expected<void> read(std::string_view json);

 private:
  struct Known {
    Cost cost;
    std::uint64_t order = 0;  // a later measurement has a higher one
  };
  Cost& edit(const std::string& user, const std::string& model);

  std::map<std::string, std::map<std::string, Known>> users_;
  std::uint64_t last_ = 0;
};

}  // namespace trainyard
