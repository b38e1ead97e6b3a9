#include "live/supervisor/inheritance.h"

#include <fcntl.h>
#include <grp.h>
#include <gtest/gtest.h>
#include <linux/capability.h>
#include <linux/keyctl.h>
#include <linux/securebits.h>
#include <poll.h>
#include <sched.h>
#include <sys/personality.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <filesystem>

#include "live/supervisor/worker.h"
#include "live/system/testing.h"

namespace trainyard {
namespace {

/// A job that says what it has inherited, a line for each.
constexpr const char* kLook = R"(
import ctypes, os, resource, signal
libc = ctypes.CDLL(None, use_errno=True)
status = dict(line.split(':\t', 1) for line in open('/proc/self/status') if ':\t' in line)
stat = open('/proc/self/stat').read().rsplit(')', 1)[1].split()
old = os.umask(0)
def can_open(path):
    try: os.close(os.open(path, os.O_RDWR)); return True
    except OSError: return False
hold = libc.syscall(250, 11, -3, 0, 0)
descriptors = sorted(int(fd) for fd in os.listdir('/proc/self/fd'))[:-1]
print('user', status['Uid'].split(), status['Gid'].split(), 'groups', status['Groups'].split())
print('capabilities', *(int(status['Cap' + name], 16) for name in ('Inh', 'Prm', 'Eff', 'Amb')))
print('securebits', libc.prctl(27, 0, 0, 0, 0))
# Python ignores two by itself, and the C library keeps 32 and 33.
ignored = int(status['SigIgn'], 16) & ~(1 << 12 | 1 << 24 | 1 << 31 | 1 << 32)
print('signals blocked', int(status['SigBlk'], 16), 'ignored', ignored)
print('session of its own', os.getsid(0) == os.getpid(), 'terminal', can_open('/dev/tty'))
print('descriptors', descriptors, os.readlink('/proc/self/fd/0'))
print('umask', oct(old))
print('nice', stat[16], 'policy', stat[38], 'io', libc.syscall(252, 1, 0))
print('timer slack', libc.prctl(30, 0, 0, 0, 0))
print('oom_score_adj', open('/proc/self/oom_score_adj').read().strip())
print('personality', libc.personality(0xffffffff))
print('open files', resource.getrlimit(resource.RLIMIT_NOFILE)[0])
print('processes', resource.getrlimit(resource.RLIMIT_NPROC)[1])
print('root key', libc.syscall(249, b'user', b'trainyard-secret', None, 0) >= 0)
death = ctypes.c_int(); libc.prctl(2, ctypes.byref(death), 0, 0, 0)
print('dies with its parent', death.value == signal.SIGKILL)
)";

constexpr const char* kExpected =
    R"(user ['65534', '65534', '65534', '65534'] ['65534', '65534', '65534', '65534'] groups ['65534']
capabilities 0 0 0 0
securebits 0
signals blocked 0 ignored 0
session of its own True terminal False
descriptors [0, 1, 2] /dev/null
umask 0o22
nice 0 policy 0 io 0
timer slack 50000
oom_score_adj 0
personality 0
open files 1024
processes 5000
root key False
dies with its parent True
)";

void take_ambient_capability() {
  __user_cap_header_struct header{_LINUX_CAPABILITY_VERSION_3, 0};
  __user_cap_data_struct sets[_LINUX_CAPABILITY_U32S_3] = {};
  ::syscall(SYS_capget, &header, sets);
  sets[0].inheritable |= 1U << CAP_NET_BIND_SERVICE;
  ::syscall(SYS_capset, &header, sets);
  ::prctl(PR_CAP_AMBIENT, PR_CAP_AMBIENT_RAISE, CAP_NET_BIND_SERVICE, 0, 0);
}

/// Everything that a job must not inherit differs from what it is to have.
void become_a_strange_daemon() {
  sigset_t some;
  ::sigemptyset(&some);
  ::sigaddset(&some, SIGUSR2);
  ::sigprocmask(SIG_BLOCK, &some, nullptr);
  for (const int number : {SIGHUP, SIGINT, SIGTERM}) ::signal(number, SIG_IGN);
  ::umask(077);
  ::setpriority(PRIO_PROCESS, 0, 7);
  const sched_param batch{};
  ::sched_setscheduler(0, SCHED_BATCH, &batch);
  constexpr int kThisProcess = 1, kLeastOfBestEffort = (2 << 13) | 7;  // linux/ioprio.h
  ::syscall(SYS_ioprio_set, kThisProcess, 0, kLeastOfBestEffort);
  ::prctl(PR_SET_TIMERSLACK, 999'999);
  write_to("/proc/self/oom_score_adj", "300");
  ::personality(ADDR_NO_RANDOMIZE);
  ::syscall(SYS_keyctl, KEYCTL_JOIN_SESSION_KEYRING, nullptr);
  ::syscall(SYS_add_key, "user", "trainyard-secret", "x", 1, KEY_SPEC_SESSION_KEYRING);
  const gid_t groups[] = {1, 2, 3};
  ::setgroups(3, groups);
  ::prctl(PR_SET_SECUREBITS, SECBIT_NO_SETUID_FIXUP);
  take_ambient_capability();
  (void)::open("/etc/hostname", O_RDONLY);  // inherited over exec, unless it is closed
}

/// Writes down what a worker of this process prints.
bool run_worker(const RunPlan& plan, const std::string& file) {
  LoginLimits login = own_limits();
  login.limits[RLIMIT_NPROC] = {20'000, 20'000};
  std::optional<UnbornWorker> unborn;
  const auto worker =
      start_worker(plan, 0, RunCgroup({}, ""), login,
                   {.limit = seconds(60), .is_stopped = [] { return false; }}, unborn);
  if (!worker) return replace_file(file, worker.error().message, 0600).has_value();
  std::string text;
  std::array<char, 4096> part;
  pollfd ready{.fd = worker->output.get(), .events = POLLIN, .revents = 0};
  while (::poll(&ready, 1, -1) > 0) {
    const ssize_t got = ::read(worker->output.get(), part.data(), part.size());
    if (got <= 0) break;
    text.append(part.data(), static_cast<std::size_t>(got));
  }
  return replace_file(file, text, 0600).has_value();
}

TEST(Inheritance, IsWhatItsListSays) {
  if (!can_be_others()) GTEST_SKIP() << kCannotBeOthers;
  if (::access("/usr/bin/python3", X_OK) != 0) GTEST_SKIP() << "there is no python3 here";
  std::string root = std::filesystem::temp_directory_path() / "trainyard-inherits-XXXXXX";
  ASSERT_NE(::mkdtemp(root.data()), nullptr);
  RunPlan plan;
  plan.uid = plan.gid = 65534;
  plan.groups = {65534};
  plan.user = "nobody";
  plan.command = {"/usr/bin/python3", "-I", "-S", "-c", kLook};
  plan.directory = "/";
  plan.gpus = {{0}};
  plan.user_processes = 5000;
  const pid_t child = ::fork();
  ASSERT_GE(child, 0);
  if (child == 0) {
    become_a_strange_daemon();
    ::_exit(run_worker(plan, root + "/said") ? 0 : 1);
  }
  int status = 0;
  ASSERT_EQ(::waitpid(child, &status, 0), child);
  EXPECT_EQ(status, 0);
  EXPECT_EQ(read_small_file(root + "/said").value_or(""), kExpected);
  std::filesystem::remove_all(root);
}

}  // namespace
}  // namespace trainyard
