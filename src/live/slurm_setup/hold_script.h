// The job_submit/lua script for a partition that Trainyard steers: what is submitted there is held
// until Trainyard starts it, users cannot release it themselves, and a job that Trainyard could
// never take is refused by sbatch at once, with the reason.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include <sys/types.h>

namespace trainyard {

/// The first line of every script that hold_script wrote.
constexpr std::string_view kHoldScriptHead = "-- Written by `trainyard slurm setup`";

/// The script writes it on every job that it holds, where users cannot write: what is held without
/// it is held by its user.
constexpr std::string_view kHeldMark = "trainyard: held";

/// `operators`: the users whose changes the script lets through, beside root.
std::string hold_script(std::string_view partition, const std::vector<uid_t>& operators);

}  // namespace trainyard
