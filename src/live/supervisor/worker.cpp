#include "live/supervisor/worker.h"

#include <fcntl.h>
#include <linux/close_range.h>
#include <linux/sched.h>
#include <poll.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstring>

#include "live/job/output_path.h"
#include "live/supervisor/environment.h"
#include "live/supervisor/inheritance.h"

namespace trainyard {
namespace {

constexpr int kPipeBytes = 1 << 20;
constexpr int kLookAgainMs = 50;

/// How far a process on its way to the user's program came, and what stopped it.
struct Failure {
  enum class Stage : int {
    output,
    cgroup,
    user,
    orphaned,
    directory,
    out_file,
    error_file,
    program
  };
  Stage stage{};
  int why = 0;
};

/// A file that the job's user wants output in.
struct OutputFile {
  std::string path;  // empty: none
  bool truncate = false;
};

/// Everything that can be prepared before the fork.
struct Preparation {
  const RunPlan& plan;
  const LoginLimits& login;
  std::vector<std::string> groups;  // to enter
  std::vector<char*> arguments, environment;
  pid_t parent = 0;
  int output = -1;
  OutputFile out, error;
};

/// Workers start one after the other, and those that share a file must not cut what others wrote.
OutputFile output_file(const std::string& pattern, const RunPlan& plan, std::int32_t rank) {
  const OutputNames names{plan.job, plan.task, plan.name, plan.user, plan.host, rank};
  return {output_path(pattern, names), !plan.append && (rank == 0 || has_rank(pattern))};
}

/// Appending, so that workers which share a file do not write over each other.
bool write_to_file(const OutputFile& file, int descriptor) {
  const int flags = O_WRONLY | O_CREAT | O_APPEND | O_NOCTTY | O_CLOEXEC;
  const int opened = ::open(file.path.c_str(), file.truncate ? flags | O_TRUNC : flags, 0666);
  return opened >= 0 && ::dup2(opened, descriptor) == descriptor;
}

bool redirect(int output) {
  const int null = ::open("/dev/null", O_RDONLY);
  return null >= 0 && ::dup2(null, 0) == 0 && ::dup2(output, 1) == 1 && ::dup2(output, 2) == 2 &&
         ::close_range(3, ~0U, CLOSE_RANGE_CLOEXEC) == 0;
}

/// Returns only if something is wrong.
Failure become_worker(Preparation& prepared) {
  using Stage = Failure::Stage;
  const RunPlan& plan = prepared.plan;
  ::setsid();
  if (!redirect(prepared.output)) return {Stage::output, errno};
  for (const std::string& group : prepared.groups)
    if (!write_to(group + "/cgroup.procs", "0")) return {Stage::cgroup, errno};
  shed_inheritance(plan, prepared.login);
  if (!become_user(plan)) return {Stage::user, errno};
  if (::getppid() != prepared.parent) return {Stage::orphaned, 0};
  if (::chdir(plan.directory.c_str()) != 0) return {Stage::directory, errno};
  // As the user by now, so that no file is opened which the user could not open.
  const OutputFile &out = prepared.out, &error = prepared.error;
  if (!out.path.empty() && !write_to_file(out, 1)) return {Stage::out_file, errno};
  if (error.path.empty() || error.path == out.path) {
    if (::dup2(1, 2) != 2) return {Stage::out_file, errno};
  } else if (!write_to_file(error, 2)) {
    return {Stage::error_file, errno};
  }
  environ = prepared.environment.data();
  ::execvp(prepared.arguments[0], prepared.arguments.data());
  return {Stage::program, errno};
}

std::string first_line_of_script(const RunPlan& plan) {
  const auto text = read_small_file(run_directory(plan) + "/script");
  return text ? text->substr(0, text->find('\n')) : "";
}

tl::unexpected<Error> program_fails(const RunPlan& plan, int why) {
  if (plan.has_script)
    return fail("the script cannot be run: {} (its first line is {})", std::strerror(why),
                trainyard::quoted(first_line_of_script(plan)));
  const std::string& program = plan.command[0];
  if (why == ENOENT && program.find('/') == std::string::npos)
    return fail("{}: there is no such command in the job's PATH", trainyard::quoted(program));
  return fail("{}: cannot be run: {}", trainyard::quoted(program), std::strerror(why));
}

tl::unexpected<Error> explain(const Preparation& prepared, const Failure& failure) {
  using Stage = Failure::Stage;
  const RunPlan& plan = prepared.plan;
  const char* why = std::strerror(failure.why);
  switch (failure.stage) {
    case Stage::directory:
      return fail("the directory {} cannot be entered by user {}: {}",
                  trainyard::quoted(plan.directory), plan.user, why);
    case Stage::out_file:
      return fail("the file {} of --output cannot be opened by user {}: {}",
                  trainyard::quoted(prepared.out.path), plan.user, why);
    case Stage::error_file:
      return fail("the file {} of --error cannot be opened by user {}: {}",
                  trainyard::quoted(prepared.error.path), plan.user, why);
    case Stage::program:
      return program_fails(plan, failure.why);
    case Stage::user:
      return fail("user {} ({}): the worker cannot run as this user: {}", plan.user, plan.uid, why);
    case Stage::cgroup:
      return fail("a worker cannot be started: its control group cannot be entered: {}", why);
    case Stage::output:
    case Stage::orphaned:
      break;
  }
  return fail("a worker cannot be started: {}", why);
}

/// Like fork, but born within a control group where the kernel can do that: entering one later
/// waits for all other forks of the machine, for about 7 ms. What is done is taken off the list.
pid_t fork_into(const std::string& group, std::vector<std::string>& groups) {
  const Descriptor folder(group.empty() ? -1 : ::open(group.c_str(), O_RDONLY | O_DIRECTORY));
  if (!folder) return ::fork();
  clone_args how{};
  how.flags = CLONE_INTO_CGROUP;
  how.exit_signal = SIGCHLD;
  how.cgroup = static_cast<std::uint64_t>(folder.get());
  const auto pid = static_cast<pid_t>(::syscall(SYS_clone3, &how, sizeof how));
  if (pid < 0) return ::fork();
  std::erase(groups, group);
  return pid;
}

std::vector<char*> pointers(std::vector<std::string>& lines) {
  std::vector<char*> all;
  for (std::string& line : lines) all.push_back(line.data());
  all.push_back(nullptr);
  return all;
}

struct Pipe {
  Descriptor read, write;
};

Expected<Pipe> make_pipe() {
  int ends[2];
  if (::pipe2(ends, O_CLOEXEC) != 0)
    return fail("a worker cannot be started: no pipe: {}", std::strerror(errno));
  return Pipe{Descriptor(ends[0]), Descriptor(ends[1])};
}

Expected<Pipe> output_pipe(const RunPlan& plan) {
  auto pipe = make_pipe();
  if (!pipe) return pipe;
  // Else who is not root could not open /dev/stdout; a job run by its own user needs no change.
  if (::geteuid() == 0) std::ignore = ::fchown(pipe->write.get(), plan.uid, plan.gid);
  ::fcntl(pipe->read.get(), F_SETPIPE_SZ, kPipeBytes);
  ::fcntl(pipe->read.get(), F_SETFL, O_NONBLOCK);
  return pipe;
}

/// What the user named that a worker has to open before its program runs.
std::string places_of_start(const Preparation& prepared) {
  std::string text = "its directory " + trainyard::quoted(prepared.plan.directory);
  for (const OutputFile* file : {&prepared.out, &prepared.error})
    if (!file->path.empty()) text += " or its output " + trainyard::quoted(file->path);
  return text;
}

/// Until it has failed, or runs its program and so has closed the pipe. It may do neither: it is
/// the user's process by now, to be halted like any other.
Expected<void> wait_for_outcome(int failures, const Preparation& prepared,
                                const StartPatience& patience) {
  using std::chrono::steady_clock;
  const auto deadline = steady_clock::now() + std::chrono::microseconds(patience.limit.us);
  pollfd outcome{.fd = failures, .events = POLLIN, .revents = 0};
  while (::poll(&outcome, 1, kLookAgainMs) <= 0) {
    if (patience.is_stopped()) return fail("a worker was stopped before it began");
    if (steady_clock::now() >= deadline)
      return fail(
          "a worker did not begin within {}: {} may be on a file system that hangs, or be a "
          "FIFO that no process reads",
          format(patience.limit), places_of_start(prepared));
  }
  return {};
}

}  // namespace

bool UnbornWorker::is_stuck() const {
  pollfd end{.fd = outcome.get(), .events = POLLIN, .revents = 0};
  return ::poll(&end, 1, 0) == 0;
}

Expected<WorkerProcess> start_worker(const RunPlan& plan, std::int32_t rank,
                                     const RunCgroup& cgroup, const LoginLimits& login,
                                     const StartPatience& patience,
                                     std::optional<UnbornWorker>& unborn) {
  auto output = output_pipe(plan), failures = make_pipe();
  if (!output) return tl::make_unexpected(output.error());
  if (!failures) return tl::make_unexpected(failures.error());
  std::vector<std::string> arguments = plan.command, variables = worker_environment(plan, rank);
  if (plan.has_script) arguments.insert(arguments.begin(), run_directory(plan) + "/script");
  if (arguments.empty()) return fail("there is no command to run");
  Preparation prepared{.plan = plan,
                       .login = login,
                       .groups = cgroup.directories(),
                       .arguments = pointers(arguments),
                       .environment = pointers(variables),
                       .parent = ::getpid(),
                       .output = output->write.get(),
                       .out = output_file(plan.output, plan, rank),
                       .error = output_file(plan.error, plan, rank)};
  const pid_t pid = fork_into(cgroup.unified(), prepared.groups);
  if (pid < 0) return fail("a worker cannot be started: {}", std::strerror(errno));
  if (pid == 0) {
    const Failure failure = become_worker(prepared);
    std::ignore = ::write(failures->write.get(), &failure, sizeof failure);
    ::_exit(127);
  }
  failures->write.reset();
  if (auto ok = wait_for_outcome(failures->read.get(), prepared, patience); !ok) {
    ::kill(pid, SIGKILL);
    unborn = {pid, std::move(failures->read)};
    return tl::make_unexpected(ok.error());
  }
  Failure failure;
  ssize_t got = 0;
  do got = ::read(failures->read.get(), &failure, sizeof failure);
  while (got < 0 && errno == EINTR);
  if (got != sizeof failure) return WorkerProcess{pid, std::move(output->read)};
  ::waitpid(pid, nullptr, 0);
  return explain(prepared, failure);
}

}  // namespace trainyard
