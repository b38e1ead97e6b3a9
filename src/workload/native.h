// The columns of our own CSV, which reader and writer share; docs/workloads.md describes each.
#pragma once

#include <array>
#include <string_view>

namespace trainyard {

enum class NativeColumn {
  id,
  user,
  job_class,
  submit,
  duration,
  estimate,
  workers,
  gpus,
  cpus,
  memory,
  min_workers,
  max_workers,
  model,
  iterations,
  iteration_time,
  kind,
  measured_on,
  constraint,
  grace,
  save,
  declared_pause,
  load,
  checkpoint_interval,
  checkpoint_cost
};

/// In the order of the enumeration, which is also that of writing.
constexpr std::array<std::string_view, 24> kNativeColumns{"id",
                                                          "user",
                                                          "class",
                                                          "submit",
                                                          "duration",
                                                          "estimate",
                                                          "workers",
                                                          "gpus",
                                                          "cpus",
                                                          "memory",
                                                          "min_workers",
                                                          "max_workers",
                                                          "model",
                                                          "iterations",
                                                          "iteration_time",
                                                          "kind",
                                                          "measured_on",
                                                          "constraint",
                                                          "grace",
                                                          "save",
                                                          "declared_pause",
                                                          "load",
                                                          "checkpoint_interval",
                                                          "checkpoint_cost"};

}  // namespace trainyard
