// A script to submit, with what it asks for in comments at its top, as sbatch has it:
//
//   #!/bin/bash
//   #SBATCH --ntasks=4 --gpus-per-task=1 --time=1-12:00:00
//   #SBATCH --signal=USR1@90
//   #TRAINYARD --class batch --grace 2m
//
// Such lines count until the first line that is neither empty nor a comment. Scripts written for
// Slurm are taken as they are: an option of sbatch without which the job does the same is a warning
// that names its line; one that is not supported, and a value that is wrong, is an error that does.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"
#include "live/job/job_spec.h"
#include "live/sbatch/sbatch_options.h"

namespace trainyard {

struct BatchScript {
  JobSpec spec;  // script included; name and directory are empty unless given, and the directory
                 // may be relative to where the script is submitted
  ExportRule exported;
  std::vector<std::string> warnings;
};

/// `where` names the script in messages: "train.sh:3: ...".
Expected<BatchScript> parse_batch_script(std::string_view text, std::string_view where);

}  // namespace trainyard
