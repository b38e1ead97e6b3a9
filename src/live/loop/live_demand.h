// What a live job takes of machines, as the yard has it. A user asks for GPUs, and perhaps for CPUs
// and memory; the rest is the share of the machine where a worker is placed.
//
// A job that is alone on its machine (--exclusive) is one worker of a whole machine in the yard,
// however many workers it starts there: these share the machine's GPUs evenly.
#pragma once

#include <string>

#include "live/job/job_terms.h"
#include "model/cluster.h"
#include "model/workload.h"

namespace trainyard {

/// Sets the job's workers, what each takes, and its terms.
void set_demand(Job& job, const JobSpec& spec, Workload& workload);
/// Sets the kinds of GPU that it names, by the workload's numbers. Any, where the cluster has its
/// kind no more.
void set_kinds(Job& job, const JobSpec& spec, const Cluster& cluster, Workload& workload);

/// Returns what a worker of the yard takes of this machine, whatever its features are: for runs
/// that are there already.
Resources share_on(const JobSpec& spec, const Machine& machine);
/// Returns the fewest GPUs that a worker of the job can have on a machine of the cluster.
std::int32_t fewest_gpus(const JobSpec& spec, const Cluster& cluster);

/// Says why the cluster could never run it; empty when it could.
std::string misfit(const JobSpec& spec, const Cluster& cluster);

}  // namespace trainyard
