// slurm.conf, as far as a check of it needs: lines of NAME=VALUE, names in any case, "#" begins a
// comment, "\" at the end goes on in the next line. Lines that begin with NodeName or PartitionName
// describe several things; all others one setting each, of which the last counts. Files that
// Include names are not read.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/error.h"

namespace trainyard {

class SlurmConf {
 public:
  struct Setting {
    std::size_t line = 0;
    std::string name, value;  // as they stand there
  };
  struct Partition {
    std::size_t line = 0;
    std::string name;
    std::vector<Setting> settings;  // Nodes, PreemptMode ...; those of PartitionName=DEFAULT first

    /// The last of that name.
    [[nodiscard]] const Setting* find(std::string_view name) const;
  };

  /// `where` names the file in messages.
  static Expected<SlurmConf> parse(std::string_view text, std::string_view where);

  [[nodiscard]] const Setting* find(std::string_view name) const;
  [[nodiscard]] const Partition* partition(std::string_view name) const;
  [[nodiscard]] const std::vector<Partition>& partitions() const { return partitions_; }
  /// The lines of files that were not read.
  [[nodiscard]] const std::vector<std::size_t>& includes() const { return includes_; }

 private:
  Expected<void> add_line(std::string_view text, std::size_t line, std::string_view where);

  std::vector<Setting> settings_;
  std::vector<Setting> for_all_partitions_;
  std::vector<Partition> partitions_;
  std::vector<std::size_t> includes_;
};

/// Names are compared without case in Slurm.
bool same_word(std::string_view a, std::string_view b);

/// Whether the word stands in a list with commas between: "a,b=3" has "a" and "b".
bool has_word(std::string_view list, std::string_view word);

/// "r1n[1-3,7],login": the names, in order. Nothing where there are more than `most`, or where the
/// text is no such list.
std::optional<std::vector<std::string>> expand_node_names(std::string_view list, std::size_t most);

}  // namespace trainyard
