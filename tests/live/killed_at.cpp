// Runs a program and kills it, by SIGKILL, at one of its acts, in whichever of its threads: an act
// is a system call whose effect others can see (it writes, sends, removes, syncs or starts a
// program), and has two sides.
//
//   killed_at POINT COMMAND...     POINT: which side, from 1; 0: none
//
// Ends as the program does, or with 137 if it was killed. At its end it prints how many points
// there were. SIGTERM goes on to the program. What the program starts is left alone.
#include <fmt/format.h>
#include <signal.h>
#include <sys/ptrace.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <iostream>
#include <set>
#include <string>

namespace {

const std::set<std::uint64_t> kActs{
#ifdef SYS_rename
    SYS_rename,
#endif
#ifdef SYS_unlink
    SYS_unlink,
#endif
#ifdef SYS_vfork
    SYS_vfork,
#endif
    SYS_write,     SYS_writev,    SYS_pwrite64, SYS_sendto, SYS_sendmsg,
    SYS_renameat,  SYS_renameat2, SYS_unlinkat, SYS_fsync,  SYS_fdatasync,
    SYS_ftruncate, SYS_clone,     SYS_clone3,   SYS_kill};

pid_t program = -1;

void pass_on(int signal) {
  ::kill(program, signal);
}

[[noreturn]] void die(const std::string& what) {
  std::cerr << "killed_at: " << what << ": " << std::strerror(errno) << std::endl;
  std::exit(3);
}

[[noreturn]] void become(char** command) {
  // Looking for leaks is done by tracing, and who is traced already cannot be.
  const char* given = std::getenv("ASAN_OPTIONS");
  const std::string options = std::string(given != nullptr ? given : "") + ":detect_leaks=0";
  ::setenv("ASAN_OPTIONS", options.c_str(), 1);
  if (::ptrace(PTRACE_TRACEME, 0, 0, 0) != 0) die("no program can be traced here");
  ::raise(SIGSTOP);
  ::execvp(command[0], command);
  die(command[0]);
}

/// True if a thread that has stopped at a system call is at a side of an act.
bool is_at_act(pid_t thread, std::set<pid_t>& within_act) {
  __ptrace_syscall_info info{};
  if (::ptrace(PTRACE_GET_SYSCALL_INFO, thread, sizeof info, &info) <= 0) return false;
  if (info.op == PTRACE_SYSCALL_INFO_EXIT) return within_act.erase(thread) > 0;
  return kActs.contains(info.entry.nr) && within_act.insert(thread).second;
}

/// Follows the program to its end; returns its status.
int follow(std::int64_t point, std::int64_t& passed) {
  std::set<pid_t> within_act, known{program};
  while (true) {
    int status = 0;
    const pid_t thread = ::waitpid(-1, &status, __WALL);
    if (thread < 0 && errno == EINTR) continue;
    if (thread < 0) die("lost");
    if (WIFEXITED(status) || WIFSIGNALED(status)) {
      if (thread == program) return status;
      continue;
    }
    const int stop = WSTOPSIG(status);
    const bool is_new = known.insert(thread).second;
    int deliver = 0;
    if (stop == (SIGTRAP | 0x80)) {
      if (is_at_act(thread, within_act) && ++passed == point) ::kill(program, SIGKILL);
    } else if (status >> 16 == 0 && !(is_new && stop == SIGSTOP)) {
      deliver = stop;
    }
    ::ptrace(PTRACE_SYSCALL, thread, 0, deliver);
  }
}

}  // namespace

int main(int count, char** words) {
  if (count < 3) die("killed_at POINT COMMAND...");
  const std::int64_t point = std::atoll(words[1]);
  program = ::fork();
  if (program == 0) become(words + 2);
  int status = 0;
  if (::waitpid(program, &status, 0) != program || !WIFSTOPPED(status)) die("it did not begin");
  for (const int signal : {SIGTERM, SIGINT}) {
    struct sigaction action {};
    action.sa_handler = pass_on;
    ::sigaction(signal, &action, nullptr);
  }
  constexpr long kOptions =
      PTRACE_O_TRACESYSGOOD | PTRACE_O_TRACECLONE | PTRACE_O_TRACEEXEC | PTRACE_O_EXITKILL;
  if (::ptrace(PTRACE_SETOPTIONS, program, 0, kOptions) != 0) die("no program can be traced here");
  ::ptrace(PTRACE_SYSCALL, program, 0, 0);
  std::int64_t passed = 0;
  status = follow(point, passed);
  std::cerr << fmt::format("killed_at: {} points", passed) << std::endl;
  return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}
