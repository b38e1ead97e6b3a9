// Made-up workloads, from a line of text: "GENERATOR:key=value,key=value". The table of generators
// is the only place that knows them: each has its parameters with defaults and help, which errors,
// `trainyard workload generate --help` and docs/generators.md all speak from.
//
//   poisson:jobs=20000,load=0.8,mean=2h        philly-like:jobs=1000000,trial=0.3,save=20
//
// The same text, cluster and seed give the same jobs, byte for byte.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"
#include "model/cluster.h"
#include "model/workload.h"
#include "workload/generate/settings.h"
#include "workload/read.h"

namespace trainyard {

/// How the file of trace:file=... is read.
struct TraceOptions {
  ReadOptions read = {};
  bool drop_larger = false;  // leaves out what could never run on the cluster, instead of refusing
};

struct Generator {
  std::string_view name;
  std::string_view summary;
  std::vector<Parameter> parameters;
  Expected<Workload> (*make)(Settings& settings, const Cluster& cluster,
                             std::uint64_t seed) = nullptr;  // null: make_trace
  /// What pauses cost is left unsaid, as in a trace, unless the key `pause` says it.
  bool leaves_pauses_open = false;
};

std::span<const Generator> generators();

/// Whether the text names a generator, alone or before a colon.
bool names_generator(std::string_view text);

/// The file that a workload is read from, itself or by trace:file=...; empty: it is drawn.
std::string trace_file(std::string_view workload);

/// `cluster` says how many GPUs the offered load is a share of, and what is the largest job.
Expected<Workload> generate(std::string_view spec, const Cluster& cluster, std::uint64_t seed,
                            const TraceOptions& trace = {});

}  // namespace trainyard
