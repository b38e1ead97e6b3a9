// A job of Slurm's as the yard sees it: a gang of workers. Slurm cannot be told how many GPUs a job
// shall have on each of its nodes unless they are equally many, so a worker is what a job has on
// one node, and no two workers of a job share a node:
//
//   -N 2 --gres=gpu:4                     two workers of 4 GPUs
//   --gpus=3, -n 3 --gpus-per-task=1      one worker of 3
//   --gpus=16 on nodes of 8               two workers of 8: nodes that are wholly its own
//   -N 2 -n 4 --ntasks-per-node=2
//      --gpus-per-task=1                  two workers of 2
//   --exclusive -N 2                      two workers, each with all that a node has
//
// The yard may put two workers on one machine if both fit. So that it does not, a worker that takes
// no more than half of a node's GPUs is said to take more than half of its CPUs
// (NodeDemand::alone). Nodes may differ: whatever depends on the node is resolved where the job is
// placed.
//
// --constraint is taken as model/constraint.h has it. What else says where a job may run (lists of
// nodes, features that are counted ...) is Slurm's and not known to policies: such a job is not
// taken, and the error says why.
#pragma once

#include <vector>

#include "base/error.h"
#include "live/engine/slurm/slurm_controller.h"

namespace trainyard {

/// What the yard is told of it, its comment (comment.h) included.
Expected<JobSpec> spec_of(const SlurmJob& job, const std::vector<SlurmNode>& nodes);

}  // namespace trainyard
