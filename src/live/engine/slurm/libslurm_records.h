// What Slurm's records of jobs and nodes say, in our words. With libslurm.cpp, the only files that
// see Slurm's headers.
#pragma once

#include <slurm/slurm.h>

#include <string>
#include <string_view>
#include <vector>

#include "live/engine/slurm/slurm_controller.h"

namespace trainyard {

/// Empty where there is none.
std::string text_of(const char* text);
/// "n[1-3],m7", each by its name.
std::vector<std::string> hosts_of(const char* list);

/// Tasks that wait together are one record of Slurm's. `only`: all but this one are left out.
void add_job(const slurm_job_info_t& info, bool memory_counts, std::vector<SlurmJob>& jobs,
             std::string_view only = {});
SlurmNode node_of(const node_info_t& node);

}  // namespace trainyard
