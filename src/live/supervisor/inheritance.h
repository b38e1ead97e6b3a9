// What a job inherits from the daemon, by way of its supervisor. Everything is listed here, carried
// out in inheritance.cpp between fork and exec, and looked at line by line in a real process by
// inheritance_test.cpp.
//
//   set anew
//     signals                all at their default, none blocked
//     session, terminal      its own session, no terminal
//     descriptors            0 reads /dev/null, 1 and 2 are the output, no others
//     umask                  022
//     scheduling             SCHED_OTHER, no I/O priority, the default timer slack
//     oom_score_adj          0: the daemon is spared when memory runs out, its jobs are not
//     personality            Linux's own, with address randomisation
//     resource limits, nice  those of the user's login (login_limits.h)
//     session keyring        a new and empty one: the daemon's has root's keys
//     user and groups        the job's user, with that user's groups only
//     capabilities           none, unless the job is root's; none inheritable or ambient
//     securebits             none
//     parent-death signal    SIGKILL
//     environment, directory the job's (environment.h)
//   kept
//     control groups         the run's, which the worker enters before all this (cgroup.h)
//     bounding set, seccomp filter, no_new_privs, mounts and other namespaces, CPU affinity, NUMA
//     policy: what the daemon's unit forbids is forbidden to jobs too
#pragma once

#include "live/supervisor/login_limits.h"
#include "live/supervisor/run_plan.h"

namespace trainyard {

/// Sets anew what takes the daemon's rights, or none. The rest follows in become_user().
void shed_inheritance(const RunPlan& plan, const LoginLimits& login);

/// Changes to the job's user and gives up every right that this user does not have. Returns false,
/// with the reason in errno, if any part of it cannot be done: the job must not run then.
bool become_user(const RunPlan& plan);

}  // namespace trainyard
