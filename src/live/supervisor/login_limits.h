// The resource limits (ulimit) of a job: those that a login of its user would have by PAM, so that
// /etc/security/limits.conf and whatever else an administrator has set up for logins hold for jobs
// too. The limits of the daemon's unit are the ceiling.
//
// PAM is asked in a process of its own, which opens a session of the service "trainyard", reports
// its limits and its niceness, closes the session and ends. Nothing else of the session reaches the
// job. A session around the whole run would do harm: pam_systemd would move the job out of its
// control group, and a module that hangs or crashes would take the supervisor along, which has to
// outlive everything.
//
// libpam is loaded at run time, as on a machine without it jobs run as well. Where there is no
// /etc/pam.d/trainyard PAM is not asked, as its fallback service is for refusing; and a daemon that
// is not root's has its user's limits already.
#pragma once

#include <sys/resource.h>

#include <array>
#include <functional>
#include <string>

#include "base/error.h"
#include "base/time.h"

namespace trainyard {

struct LoginLimits {
  std::array<rlimit, RLIM_NLIMITS> limits{};  // by RLIMIT_...
  int nice = 0;
};

/// Where PAM's description of a login is.
struct LoginService {
  std::string folder = "/etc/pam.d";
  std::string name = "trainyard";
};

/// True if PAM is asked for the limits of jobs here.
bool asks_pam(const LoginService& service = {});

/// This process's own limits, but for 1,024 open files as most programs expect; they may raise it.
LoginLimits own_limits();

/// Gives up after `patience`, or when `is_stopped` says so. An error if PAM refuses the session.
Expected<LoginLimits> login_limits(const std::string& user, const std::function<bool()>& is_stopped,
                                   const LoginService& service = {},
                                   Duration patience = seconds(30));

/// Lowers limits to the hard limits of `ceiling`.
LoginLimits within(LoginLimits login, const LoginLimits& ceiling);

/// Takes over the limits in this process; those that cannot be raised stay lower.
void apply(const LoginLimits& login);

}  // namespace trainyard
