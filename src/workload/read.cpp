#include "workload/read.h"

#include <algorithm>
#include <array>
#include <iterator>

#include "workload/decompress.h"
#include "workload/import/importers.h"
#include "workload/import/records.h"
#include "workload/import/sense.h"
#include "workload/mapped_file.h"

namespace trainyard {
namespace {

constexpr std::array kFormats{
    FormatEntry{"native", "Trainyard's own CSV",
                "a first line that names the columns submit and duration", recognise_native,
                parse_native},
    FormatEntry{"philly-json", "Microsoft Philly, cluster_job_log",
                "a JSON array of jobs with attempts", recognise_philly_json, parse_philly_json},
    FormatEntry{"philly-csv", "Microsoft Philly as a table",
                "columns timestamp, duration and num_gpus", recognise_philly_csv, parse_philly_csv},
    FormatEntry{"helios", "SenseTime Helios, cluster_log.csv",
                "columns gpu_num, submit_time and duration", recognise_helios, parse_helios},
    FormatEntry{"pai2020", "Alibaba PAI 2020, pai_task_table.csv",
                "10 columns without a header, numbers in the right places", recognise_pai2020,
                parse_pai2020},
    FormatEntry{"openb", "Alibaba PAI 2023, openb_pod_list_*.csv",
                "columns num_gpu, creation_time, deletion_time and scheduled_time", recognise_openb,
                parse_openb},
    FormatEntry{"tiresias", "the Tiresias simulator's jobs",
                "columns num_gpu, submit_time and duration", recognise_tiresias, parse_tiresias},
    FormatEntry{"swf", "Standard Workload Format 2.2", "18 numbers a line", recognise_swf,
                parse_swf},
    FormatEntry{"sacct", "Slurm accounting, sacct --parsable2",
                "columns JobID and Submit between '|'", recognise_sacct, parse_sacct},
    FormatEntry{"dally-json", "the Dally author's simulator",
                "a JSON array of jobs with time_per_iteration", recognise_dally_json,
                parse_dally_json},
    FormatEntry{"muri", "Muri's simulator and cluster, times in milliseconds",
                "columns num_gpu, submit_time, duration and resource_time_0", recognise_muri,
                parse_muri, microseconds(1000)}};

constexpr std::array<std::string_view, 5> kTimeUnits{"s", "ms", "us", "m", "h"};

tl::unexpected<Error> unrecognised(std::string_view text, std::string_view origin) {
  std::string_view record;
  if (const auto line = Records(text, {}).next(record); !line && !text.starts_with('['))
    return fail("{}:1: {}", origin, line.error().message);
  std::string known;
  for (const FormatEntry& entry : kFormats)
    known += fmt::format("\n  {:<12} {}: {}", entry.name, entry.description, entry.mark);
  return fail(
      "{}:1: no format is recognised from the beginning {}; name the format if it is one "
      "of\n  (name, what it is: what is looked for){}",
      origin, quoted(record.substr(0, 60)), known);
}

Expected<const FormatEntry*> find_format(std::string_view name) {
  std::vector<std::string_view> names;
  for (const FormatEntry& entry : kFormats) {
    if (entry.name == name) return &entry;
    names.push_back(entry.name);
  }
  return fail("{} is not a workload format{}; known are {}", quoted(name),
              did_you_mean(name.substr(0, 40), names), fmt::join(names, ", "));
}

Expected<const FormatEntry*> recognise(std::string_view text, std::string_view origin) {
  for (const FormatEntry& entry : kFormats)
    if (entry.recognise(text)) return &entry;
  return unrecognised(text, origin);
}

}  // namespace

std::span<const FormatEntry> formats() {
  return kFormats;
}

std::span<const std::string_view> time_units() {
  return kTimeUnits;
}

Expected<Duration> parse_time_unit(std::string_view name) {
  if (std::ranges::find(kTimeUnits, name) == kTimeUnits.end())
    return fail("{} is not a unit of time; known are {}", quoted(name),
                fmt::join(kTimeUnits, ", "));
  return parse_duration("1" + std::string(name));
}

Expected<Workload> parse_workload(std::string_view text, std::string_view origin,
                                  const ReadOptions& options) {
  if (is_compressed(text)) {
    const auto inside = decompress(text);
    if (!inside) return fail_at(origin, inside.error());
    if (is_compressed(*inside)) return fail("{}: is compressed twice; unpack it once", origin);
    return parse_workload(*inside, origin, options);
  }
  if (text.empty()) return fail("{}: the file is empty; a workload has a job a line", origin);
  const auto found = options.format.empty() ? recognise(text, origin) : find_format(options.format);
  if (!found) return tl::make_unexpected(found.error());
  const FormatEntry& format = **found;
  auto import = format.parse({text, origin, options.unit.value_or(format.unit)});
  if (!import) return tl::make_unexpected(import.error());
  if (auto ok = check_ids(import->workload); !ok) return tl::make_unexpected(ok.error());
  const bool is_ours = &format == kFormats.data();
  if (auto ok = check_sense(*import, options.unit.has_value(), is_ours); !ok)
    return tl::make_unexpected(ok.error());
  if (options.notes != nullptr)
    std::move(import->notes.begin(), import->notes.end(), std::back_inserter(*options.notes));
  if (options.waits != nullptr) *options.waits = std::move(import->waits);
  return std::move(import->workload);
}

Expected<Workload> read_workload(const std::string& path, const ReadOptions& options) {
  if (path == "-") {
    const auto text = read_standard_input();
    if (!text) return tl::make_unexpected(text.error());
    return parse_workload(*text, "standard input", options);
  }
  const auto file = MappedFile::open(path);
  if (!file) return tl::make_unexpected(file.error());
  return parse_workload(file->text(), path, options);
}

}  // namespace trainyard
