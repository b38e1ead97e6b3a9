// The options that describe a job, as a person gives them: to `trainyard submit`, and in the lines
// of a script that begin with #TRAINYARD.
#pragma once

#include <span>
#include <string>
#include <string_view>

#include "base/error.h"
#include "live/job/job_spec.h"

namespace trainyard {

struct JobOption {
  std::string_view name;   // "--gpus"
  std::string_view field;  // of a job in JSON
  std::string_view type, help;

  [[nodiscard]] bool is_switch() const { return type.empty(); }  // takes no value
};

std::span<const JobOption> job_options();

/// The error begins with the option's name. The value of a switch is not looked at.
Expected<void> set_job_option(JobSpec& spec, const JobOption& option, std::string_view value);

}  // namespace trainyard
