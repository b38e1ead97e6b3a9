#include "live/supervisor/inheritance.h"

#include <grp.h>
#include <linux/capability.h>
#include <linux/keyctl.h>
#include <sched.h>
#include <sys/personality.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <csignal>

#include "live/system/files.h"

namespace trainyard {
namespace {

void reset_signals() {
  for (int number = 1; number < NSIG; ++number) ::signal(number, SIG_DFL);
  sigset_t none;
  ::sigemptyset(&none);
  ::sigprocmask(SIG_SETMASK, &none, nullptr);
}

/// As in linux/ioprio.h, which some versions of Linux (6.1.192) have in C alone.
constexpr int kOfProcess = 1, kNoClass = 0;

void reset_scheduling() {
  const sched_param normal{};
  (void)::sched_setscheduler(0, SCHED_OTHER, &normal);
  (void)::syscall(SYS_ioprio_set, kOfProcess, 0, kNoClass);
  // 0 is the default of the thread, which its creator's slack has become; 50 us is the kernel's.
  (void)::prctl(PR_SET_TIMERSLACK, 50'000);
}

/// Where no pids controller limits the run.
LoginLimits with_processes(LoginLimits login, std::int64_t most) {
  if (most <= 0) return login;
  rlimit& processes = login.limits[RLIMIT_NPROC];
  processes.rlim_max = std::min<rlim_t>(processes.rlim_max, static_cast<rlim_t>(most));
  processes.rlim_cur = std::min(processes.rlim_cur, processes.rlim_max);
  return login;
}

/// Where the calls do not exist, or are forbidden as in containers, the job cannot get at the
/// daemon's keys either.
bool leave_session_keyring() {
  return ::syscall(SYS_keyctl, KEYCTL_JOIN_SESSION_KEYRING, nullptr) >= 0 || errno == ENOSYS ||
         errno == EPERM;
}

bool clear_securebits() {
  return ::prctl(PR_GET_SECUREBITS) == 0 || ::prctl(PR_SET_SECUREBITS, 0) == 0;
}

/// None may come back with the next program; and unless the job is root's, none is left now.
bool clear_capabilities(bool is_root) {
  (void)::prctl(PR_CAP_AMBIENT, PR_CAP_AMBIENT_CLEAR_ALL, 0, 0, 0);
  __user_cap_header_struct header{_LINUX_CAPABILITY_VERSION_3, 0};
  __user_cap_data_struct sets[_LINUX_CAPABILITY_U32S_3] = {};
  if (::syscall(SYS_capget, &header, sets) != 0) return false;
  for (__user_cap_data_struct& set : sets) {
    set.inheritable = 0;
    if (!is_root) set.permitted = set.effective = 0;
  }
  return ::syscall(SYS_capset, &header, sets) == 0;
}

bool change_user(const RunPlan& plan) {
  if (::setgroups(plan.groups.size(), plan.groups.data()) != 0) return false;
  if (::setresgid(plan.gid, plan.gid, plan.gid) != 0) return false;
  if (::setresuid(plan.uid, plan.uid, plan.uid) != 0) return false;
  return plan.uid == 0 || ::setuid(0) != 0;
}

}  // namespace

void shed_inheritance(const RunPlan& plan, const LoginLimits& login) {
  reset_signals();
  ::umask(022);
  reset_scheduling();
  write_to("/proc/self/oom_score_adj", "0");
  (void)::personality(PER_LINUX);
  apply(with_processes(login, plan.user_processes));
}

bool become_user(const RunPlan& plan) {
  const bool is_roots = ::geteuid() == 0;
  if (!is_roots && ::getuid() != plan.uid) return errno = EPERM, false;
  if (is_roots && (!leave_session_keyring() || !clear_securebits() || !change_user(plan)))
    return false;
  if (!clear_capabilities(plan.uid == 0)) return false;
  // A change of user clears it, so it comes after that.
  return ::prctl(PR_SET_PDEATHSIG, SIGKILL) == 0;
}

}  // namespace trainyard
