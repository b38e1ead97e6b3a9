// Workloads from files: our own CSV and the formats of public traces.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"
#include "model/workload.h"
#include "workload/import/fields.h"
#include "workload/import/import.h"

namespace trainyard {

struct FormatEntry {
  std::string_view name;         // as on the command line
  std::string_view description;  // one line
  std::string_view mark;         // what a file of it is recognised by
  bool (*recognise)(std::string_view text);
  Expected<Import> (*parse)(const Source& source);
  Duration unit = seconds(1);  // what plain numbers of its times count
};

/// Our own first.
std::span<const FormatEntry> formats();

struct ReadOptions {
  std::string format = {};            // its name; empty: the one that its beginning shows
  std::optional<Duration> unit = {};  // of plain numbers that are times; not given: the format's
  /// What was left out, and why ("17 jobs left out: never started"), and what looks odd.
  std::vector<std::string>* notes = nullptr;
  /// How long each job waited until it started, where the file tells; else it becomes empty.
  std::vector<Duration>* waits = nullptr;
};

/// The file at `path`, or standard input for "-"; also compressed by gzip or zstd.
Expected<Workload> read_workload(const std::string& path, const ReadOptions& options = {});
/// The same for a text; `origin` names it in errors.
Expected<Workload> parse_workload(std::string_view text, std::string_view origin,
                                  const ReadOptions& options = {});

/// The name of a unit of time on the command line: s, ms, us, m, h.
std::span<const std::string_view> time_units();
Expected<Duration> parse_time_unit(std::string_view name);

}  // namespace trainyard
