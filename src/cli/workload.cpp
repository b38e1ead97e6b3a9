// trainyard workload: look at a trace, convert it to our own format, make one up.
#include <algorithm>
#include <cctype>
#include <cstdlib>
#include <iostream>
#include <memory>
#include <optional>

#include "cli/commands.h"
#include "cli/options.h"
#include "workload/generate/generate.h"
#include "workload/import/import.h"
#include "workload/info.h"
#include "workload/info_print.h"
#include "workload/select.h"
#include "workload/write.h"

namespace trainyard::cli {
namespace {

struct InfoOptions : WorkloadOptions {
  std::string against;
  bool json = false;
  bool plain = false;
};

struct ConvertOptions : WorkloadOptions {
  std::string output;  // empty: standard output
  std::optional<std::size_t> limit;
  TrialRule trials;
};

/// Whether the terminal shows UTF-8, by the environment's first word on it.
bool speaks_utf8() {
  for (const char* variable : {"LC_ALL", "LC_CTYPE", "LANG"}) {
    const char* value = std::getenv(variable);
    if (value == nullptr || *value == '\0') continue;
    std::string locale = value;
    std::ranges::transform(locale, locale.begin(),
                           [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
    return locale.find("utf-8") != std::string::npos || locale.find("utf8") != std::string::npos;
  }
  return false;
}

Expected<void> check_drop_larger(const WorkloadOptions& options) {
  if (options.drop_larger && options.cluster.empty())
    return fail("--drop-larger needs --cluster: larger than what?");
  return {};
}

Expected<void> print_distances(const InfoOptions& options, const Workload& workload,
                               const Cluster& cluster) {
  WorkloadOptions other = static_cast<const WorkloadOptions&>(options);
  other.workload = options.against;
  other.format.clear();
  const auto against = load_workload(other, cluster);
  if (!against) return tl::make_unexpected(against.error());
  const auto apart = distances(workload, *against);
  if (options.json) return print(to_json(apart));
  return print(
      fmt::format("{}\nagainst {}\n\n{}", workload.source, against->source, to_text(apart)));
}

Expected<void> info(const InfoOptions& options) {
  if (auto ok = check_drop_larger(options); !ok) return ok;
  const auto cluster = load_cluster(options);
  if (!cluster) return tl::make_unexpected(cluster.error());
  const auto workload = load_workload(options, *cluster);
  if (!workload) return tl::make_unexpected(workload.error());
  if (!options.against.empty()) return print_distances(options, *workload, *cluster);
  const WorkloadInfo facts = inspect(*workload, options.cluster.empty() ? nullptr : &*cluster);
  if (options.json) return print(to_json(facts));
  const bool blocks = !options.plain && speaks_utf8();
  return print(to_text(facts, blocks ? Bars::blocks : Bars::plain));
}

/// To the file, saying what to do with it next, or to standard output.
Expected<void> write(const Workload& workload, const std::string& output) {
  if (output.empty()) {
    write_native(workload, std::cout);
    return print("");
  }
  if (auto ok = write_native_file(workload, output); !ok) return ok;
  note(fmt::format("{} jobs in {}; next: trainyard workload info {}", workload.jobs.size(), output,
                   output));
  return {};
}

Expected<void> convert(const ConvertOptions& options) {
  if (auto ok = check_drop_larger(options); !ok) return ok;
  const auto cluster = load_cluster(options);
  if (!cluster) return tl::make_unexpected(cluster.error());
  auto workload = load_workload(options, *cluster);
  if (!workload) return tl::make_unexpected(workload.error());
  if (options.limit) keep_first(*options.limit, *workload);
  if (auto ok = mark_by_rule(options.trials, *workload); !ok) return ok;
  return write(*workload, options.output);
}

Expected<void> write_generated(const ConvertOptions& options) {
  const auto cluster = load_cluster(options);
  if (!cluster) return tl::make_unexpected(cluster.error());
  if (!names_generator(options.workload))
    return generate(options.workload, *cluster, options.seed).map([](const Workload&) {});
  const auto workload = load_workload(options, *cluster);
  if (!workload) return tl::make_unexpected(workload.error());
  return write(*workload, options.output);
}

std::string generator_help() {
  std::string text;
  for (const Generator& generator : generators()) {
    text += fmt::format("\n\n{}: {}", generator.name, generator.summary);
    for (const Parameter& parameter : generator.parameters)
      text += fmt::format("\n  {:<32} {}", fmt::format("{}={}", parameter.name, parameter.initial),
                          parameter.help);
  }
  return text;
}

void add_output_option(Command& command, ConvertOptions& options) {
  command.option("-o,--output", &options.output, "the file to write (default: standard output)",
                 {.type = "FILE"});
}

void add_info(Command& parent) {
  const auto options = std::make_shared<InfoOptions>();
  Command& command =
      parent.add("info", "Shows what is in a workload, or how far two are apart.",
                 "trainyard workload info jobs.csv --cluster 16x8xV100\n"
                 "trainyard workload info philly-like:jobs=82247 --against philly.csv\n"
                 "trainyard workload info cluster_log.csv --format helios --json");
  add_workload_options(command, "workload", *options);
  command.option("--against", &options->against,
                 "print Kolmogorov-Smirnov distances from this workload instead",
                 {.type = "FILE|GENERATOR"});
  command.flag("--json", &options->json, "print JSON, for programs");
  command.flag("--plain", &options->plain, "bars of #, also where UTF-8 would show");
  command.action = [options] { return info(*options); };
}

void add_convert(Command& parent) {
  const auto options = std::make_shared<ConvertOptions>();
  Command& command =
      parent.add("convert", "Writes a trace of any known format as Trainyard's own CSV.",
                 "trainyard workload convert philly.csv -o jobs.csv\n"
                 "trainyard workload convert philly.csv --trial-below 10m --limit 5000 > jobs.csv\n"
                 "trainyard workload convert jobs.swf --cluster 8x8xA100 --drop-larger -o a.csv");
  add_workload_options(command, "workload", *options);
  add_output_option(command, *options);
  command.option("--limit", &options->limit, "only the first so many jobs",
                 {.type = "NUMBER", .range = Range{1, kMostJobs}});
  add_trial_rule_options(command, options->trials);
  command.action = [options] { return convert(*options); };
}

void add_generate(Command& parent) {
  const auto options = std::make_shared<ConvertOptions>();
  Command& command =
      parent.add("generate", "Makes up a workload and writes it as Trainyard's own CSV.",
                 "trainyard workload generate poisson:jobs=1000,load=0.8 --cluster 1x8xV100\n"
                 "trainyard workload generate philly-like:trial=0.3,save=20 -o jobs.csv --seed 7");
  command.notes =
      "Generators, and their parameters with what they are unless given:" + generator_help();
  command.option("generator", &options->workload, "GENERATOR:key=value,...",
                 {.type = "GENERATOR", .required = true});
  add_format_option(command, *options);
  add_cluster_option(command, *options);
  add_seed_option(command, *options);
  add_drop_larger_option(command, *options);
  add_output_option(command, *options);
  command.action = [options] { return write_generated(*options); };
}

}  // namespace

void add_workload_command(Command& program) {
  Command& command =
      program.add("workload", "Looks at traces, converts them, makes them up.",
                  "trainyard workload info philly-like:jobs=10000 --cluster 16x8xV100\n"
                  "trainyard workload convert philly.csv -o jobs.csv\n"
                  "trainyard workload generate poisson:jobs=1000,load=0.8 -o jobs.csv");
  add_info(command);
  add_convert(command);
  add_generate(command);
}

}  // namespace trainyard::cli
