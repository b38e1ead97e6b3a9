#include "live/supervisor/login_limits.h"

#include <dlfcn.h>
#include <fcntl.h>
#include <poll.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <csignal>
#include <cstdlib>
#include <cstring>

#include "live/system/files.h"

namespace trainyard {
namespace {

constexpr rlim_t kOpenFiles = 1024;
constexpr int kAskAgainMs = 50;

// Of libpam's interface, which is the same on every Linux.
constexpr int kPamSuccess = 0, kPamConversationError = 19, kPamSilent = 0x8000;
struct PamConversation {
  int (*answer)(int, const void**, void**, void*);
  void* data;
};

/// There is no user to ask.
int no_answer(int, const void**, void**, void*) {
  return kPamConversationError;
}

/// What the process that asks PAM reports.
struct PamReply {
  LoginLimits login;
  int error = kPamSuccess;
  std::array<char, 128> why{};
};

template <class Function>
Function function_of(void* library, const char* name) {
  return reinterpret_cast<Function>(::dlsym(library, name));
}

void set_why(PamReply& reply, const char* why) {
  reply.error = -1;
  std::strncpy(reply.why.data(), why, reply.why.size() - 1);
}

PamReply ask_pam(const std::string& user, const LoginService& service) {
  PamReply reply;
  void* library = ::dlopen("libpam.so.0", RTLD_NOW | RTLD_LOCAL);
  if (library == nullptr) return set_why(reply, "libpam.so.0 cannot be loaded"), reply;
  const auto start =
      function_of<int (*)(const char*, const char*, const PamConversation*, const char*, void**)>(
          library, "pam_start_confdir");
  const auto open = function_of<int (*)(void*, int)>(library, "pam_open_session");
  const auto close = function_of<int (*)(void*, int)>(library, "pam_close_session");
  const auto end = function_of<int (*)(void*, int)>(library, "pam_end");
  const auto text = function_of<const char* (*)(void*, int)>(library, "pam_strerror");
  if (!start || !open || !close || !end || !text)
    return set_why(reply, "libpam.so.0 is older than 1.4"), reply;
  const PamConversation conversation{no_answer, nullptr};
  void* session = nullptr;
  int error =
      start(service.name.c_str(), user.c_str(), &conversation, service.folder.c_str(), &session);
  if (error == kPamSuccess) error = open(session, kPamSilent);
  if (error != kPamSuccess) return set_why(reply, text(session, error)), reply;
  for (int kind = 0; kind < RLIM_NLIMITS; ++kind)
    ::getrlimit(static_cast<__rlimit_resource_t>(kind),
                &reply.login.limits[static_cast<std::size_t>(kind)]);
  reply.login.nice = ::getpriority(PRIO_PROCESS, 0);
  error = close(session, kPamSilent);
  end(session, error);
  return reply;
}

/// In the process that asks: it is to have no handler, priority or limit of the supervisor's.
[[noreturn]] void report_login(int to, const std::string& user, const LoginService& service) {
  for (int number = 1; number < NSIG; ++number) ::signal(number, SIG_DFL);
  sigset_t none;
  ::sigemptyset(&none);
  ::sigprocmask(SIG_SETMASK, &none, nullptr);
  ::setpriority(PRIO_PROCESS, 0, 0);
  apply(own_limits());
  const PamReply reply = ask_pam(user, service);
  // A limit on file sizes is no matter for a pipe.
  std::ignore = ::write(to, &reply, sizeof reply);
  ::_exit(0);
}

/// Returns false if it did not come in time.
bool wait_for_reply(int from, PamReply& reply, const std::function<bool()>& is_stopped,
                    Duration patience) {
  using std::chrono::steady_clock;
  const auto deadline = steady_clock::now() + std::chrono::microseconds(patience.us);
  pollfd ready{.fd = from, .events = POLLIN, .revents = 0};
  while (::poll(&ready, 1, kAskAgainMs) <= 0)
    if (is_stopped() || steady_clock::now() >= deadline) return false;
  return ::read(from, &reply, sizeof reply) == sizeof reply;
}

}  // namespace

bool asks_pam(const LoginService& service) {
  return ::geteuid() == 0 && ::access((service.folder + "/" + service.name).c_str(), R_OK) == 0;
}

LoginLimits own_limits() {
  LoginLimits own;
  for (int kind = 0; kind < RLIM_NLIMITS; ++kind)
    ::getrlimit(static_cast<__rlimit_resource_t>(kind),
                &own.limits[static_cast<std::size_t>(kind)]);
  rlimit& files = own.limits[RLIMIT_NOFILE];
  files.rlim_cur = std::min(files.rlim_cur, kOpenFiles);
  return own;
}

Expected<LoginLimits> login_limits(const std::string& user, const std::function<bool()>& is_stopped,
                                   const LoginService& service, Duration patience) {
  const LoginLimits own = own_limits();
  if (!asks_pam(service)) return own;
  int ends[2];
  if (::pipe2(ends, O_CLOEXEC) != 0)
    return fail("the limits of {}'s login: no pipe: {}", user, std::strerror(errno));
  const Descriptor from(ends[0]);
  Descriptor to(ends[1]);
  const pid_t pid = ::fork();
  if (pid == 0) report_login(to.get(), user, service);
  if (pid < 0) return fail("the limits of {}'s login: {}", user, std::strerror(errno));
  to.reset();
  PamReply reply;
  const bool came = wait_for_reply(from.get(), reply, is_stopped, patience);
  // One that hangs may take long to die. It is reaped later, as every child of a supervisor is.
  ::kill(pid, SIGKILL);
  ::waitpid(pid, nullptr, came ? 0 : WNOHANG);
  if (!came)
    return fail("the limits of {}'s login: PAM did not answer (service {})", user, service.name);
  if (reply.error != kPamSuccess)
    return fail("the limits of {}'s login: PAM refuses a session of service {}: {}", user,
                service.name, reply.why.data());
  return within(reply.login, own);
}

LoginLimits within(LoginLimits login, const LoginLimits& ceiling) {
  for (std::size_t kind = 0; kind < login.limits.size(); ++kind) {
    rlimit& limit = login.limits[kind];
    limit.rlim_max = std::min(limit.rlim_max, ceiling.limits[kind].rlim_max);
    limit.rlim_cur = std::min(limit.rlim_cur, limit.rlim_max);
  }
  return login;
}

void apply(const LoginLimits& login) {
  for (int kind = 0; kind < RLIM_NLIMITS; ++kind)
    (void)::setrlimit(static_cast<__rlimit_resource_t>(kind),
                      &login.limits[static_cast<std::size_t>(kind)]);
  (void)::setpriority(PRIO_PROCESS, 0, login.nice);
}

}  // namespace trainyard
