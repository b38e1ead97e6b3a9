// trainyard slurm: what an operator does with a Slurm cluster beside `trainyard serve --engine
// slurm`.
#include "cli/client.h"
#include "cli/commands.h"

namespace trainyard::cli {

void add_slurm_setup_command(Command& slurm);    // slurm_setup.cpp
void add_slurm_release_command(Command& slurm);  // slurm_release.cpp

void add_slurm_command(Command& program) {
  Command& command =
      program.add("slurm", "Prepares a Slurm cluster for Trainyard, or gives it back.",
                  "trainyard slurm setup --partition train\n"
                  "trainyard slurm release --partition train");
  command.group = kLiveGroup;
  add_slurm_setup_command(command);
  add_slurm_release_command(command);
}

}  // namespace trainyard::cli
