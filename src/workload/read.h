// Workloads from files: our own CSV and the formats of public traces.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"
#include "model/workload.h"
#include "workload/import.h"

namespace trainyard {

enum class Format {
  native,
  philly_json,
  philly_csv,
  helios,
  pai2020,
  openb,
  tiresias,
  swf,
  sacct,
  dally_json
};

struct FormatEntry {
  Format format;
  std::string_view name;         // as on the command line
  std::string_view description;  // one line
  std::string_view mark;         // what a file of it is recognised by
  bool (*recognise)(std::string_view text);
  Expected<Import> (*parse)(std::string_view text, std::string_view origin);
};

/// In the order of the enumeration.
std::span<const FormatEntry> formats();
std::string_view name(Format format);
Expected<Format> parse_format(std::string_view name);

/// The file at `path`, in the given format or the one its beginning shows. What was left out, and
/// why, is added to `notes`: "17 jobs left out: never started".
Expected<Workload> read_workload(const std::string& path, std::optional<Format> format = {},
                                 std::vector<std::string>* notes = nullptr);
/// The same for a text; `origin` names it in errors.
Expected<Workload> parse_workload(std::string_view text, std::string_view origin,
                                  std::optional<Format> format = {},
                                  std::vector<std::string>* notes = nullptr);

}  // namespace trainyard
