// Options that several commands share: which jobs, on which cluster. A command that runs jobs does
//
//   auto options = std::make_shared<WorkloadOptions>();
//   add_workload_options(*command, "--workload", *options);    // and, when it runs:
//   const auto cluster = load_cluster(*options);
//   const auto workload = load_workload(*options, *cluster);
//   check_fits(*workload, *cluster);                           // model/workload.h
#pragma once

#include <CLI/CLI.hpp>
#include <cstdint>
#include <string>

#include "base/error.h"
#include "model/cluster.h"
#include "model/workload.h"

namespace trainyard::cli {

constexpr std::string_view kDefaultCluster = "16x8xV100";

struct WorkloadOptions {
  std::string workload;  // a file, or GENERATOR:key=value,...
  std::string format;    // of the file; empty: found out
  std::string cluster;   // empty: kDefaultCluster
  std::uint64_t seed = 1;
  bool drop_larger = false;
};

/// The workload is an option or, for a name without dashes, an argument. Both must be given.
void add_workload_options(CLI::App& command, const std::string& workload_name,
                          WorkloadOptions& options);
void add_format_option(CLI::App& command, WorkloadOptions& options);
void add_cluster_option(CLI::App& command, WorkloadOptions& options);
void add_seed_option(CLI::App& command, WorkloadOptions& options);
void add_drop_larger_option(CLI::App& command, WorkloadOptions& options);

Expected<Cluster> load_cluster(const WorkloadOptions& options);

/// Reads or generates it. What was left out on the way is said on stderr.
Expected<Workload> load_workload(const WorkloadOptions& options, const Cluster& cluster);

/// A line on stderr about something that is no error.
void note(std::string_view text);

}  // namespace trainyard::cli
