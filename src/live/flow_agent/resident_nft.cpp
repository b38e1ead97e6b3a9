#include "live/flow_agent/resident_nft.h"

#include <fcntl.h>
#include <poll.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstring>

namespace trainyard {
namespace {

constexpr std::chrono::seconds kNftPatience{20};  // machines can be very busy
/// Lists nothing, and so tells that all before it is done.
constexpr std::string_view kDone = "list tables netdev\n";
constexpr std::size_t kMostOutput = std::size_t{16} << 20;

struct Pipe {
  Descriptor read, write;
};

Expected<Pipe> make_pipe() {
  std::array<int, 2> ends{};
  if (::pipe2(ends.data(), O_CLOEXEC) != 0)
    return fail("no pipe can be made: {}", std::strerror(errno));
  return Pipe{Descriptor(ends[0]), Descriptor(ends[1])};
}

/// With no more of our environment than the place of programs: it may have secrets.
Expected<pid_t> spawn(const std::vector<std::string>& command, int input, int output) {
  posix_spawn_file_actions_t actions;
  ::posix_spawn_file_actions_init(&actions);
  ::posix_spawn_file_actions_adddup2(&actions, input, STDIN_FILENO);
  ::posix_spawn_file_actions_adddup2(&actions, output, STDOUT_FILENO);
  ::posix_spawn_file_actions_adddup2(&actions, output, STDERR_FILENO);
  posix_spawnattr_t attributes;
  ::posix_spawnattr_init(&attributes);
  sigset_t none, usual;
  ::sigemptyset(&none), ::sigemptyset(&usual), ::sigaddset(&usual, SIGPIPE);
  ::posix_spawnattr_setsigmask(&attributes, &none);
  ::posix_spawnattr_setsigdefault(&attributes, &usual);
  ::posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF);
  std::vector<std::string> words = command;
  std::vector<char*> arguments;
  for (std::string& word : words) arguments.push_back(word.data());
  arguments.push_back(nullptr);
  std::string path = "PATH=/usr/sbin:/usr/bin:/sbin:/bin", language = "LC_ALL=C";
  std::array<char*, 3> environment{path.data(), language.data(), nullptr};
  int problem = ENOENT;
  pid_t child = -1;
  for (const char* folder : {"/usr/sbin/", "/sbin/", "/usr/bin/", "/bin/"}) {
    const std::string program = folder + command.front();
    if (::access(program.c_str(), X_OK) != 0) continue;
    problem = ::posix_spawn(&child, program.c_str(), &actions, &attributes, arguments.data(),
                            environment.data());
    break;
  }
  ::posix_spawn_file_actions_destroy(&actions);
  ::posix_spawnattr_destroy(&attributes);
  if (problem == ENOENT) return fail("there is no program {}; install it", command.front());
  if (problem != 0)
    return fail("{} cannot be started: {}", command.front(), std::strerror(problem));
  return child;
}

using Deadline = std::chrono::steady_clock::time_point;

/// False when nothing comes, or can be written, until then.
bool wait_for(int descriptor, short what, Deadline until) {
  while (true) {
    const auto left = std::chrono::duration_cast<std::chrono::milliseconds>(
        until - std::chrono::steady_clock::now());
    if (left.count() <= 0) return false;
    pollfd wait{descriptor, what, 0};
    if (::poll(&wait, 1, static_cast<int>(left.count())) > 0) return true;
  }
}

/// To an end of a pipe that never blocks.
Expected<void> write_all(int to, std::string_view text, Deadline until) {
  while (!text.empty()) {
    if (!wait_for(to, POLLOUT, until)) return fail("does not answer");
    const ssize_t done = ::write(to, text.data(), text.size());
    if (done < 0 && (errno == EINTR || errno == EAGAIN)) continue;
    if (done <= 0) return fail("has ended");
    text.remove_prefix(static_cast<std::size_t>(done));
  }
  return {};
}

/// More of it; an error if nothing comes until then, or it has ended.
Expected<void> read_more(int from, std::string& text, Deadline until) {
  while (true) {
    if (!wait_for(from, POLLIN, until)) return fail("does not answer");
    std::array<char, 16'384> part{};
    const ssize_t size = ::read(from, part.data(), part.size());
    if (size < 0 && errno == EINTR) continue;
    if (size <= 0 || text.size() > kMostOutput) return fail("has ended");
    text.append(part.data(), static_cast<std::size_t>(size));
    return {};
  }
}

std::string one_line(std::string text) {
  if (text.starts_with("Error: ")) text.erase(0, std::strlen("Error: "));
  return text.substr(0, text.find('\n'));
}

}  // namespace

Expected<void> ResidentNft::start() {
  end();
  auto input = make_pipe(), output = make_pipe();
  for (const auto* made : {&input, &output})
    if (!*made) return tl::make_unexpected(made->error());
  const auto child = spawn({"nft", "-j", "-i"}, input->read.get(), output->write.get());
  if (!child) return tl::make_unexpected(child.error());
  child_ = *child;
  ::fcntl(input->write.get(), F_SETFL, O_NONBLOCK);
  input_ = std::move(input->write), output_ = std::move(output->read);
  return {};
}

Expected<std::string> ResidentNft::run(std::string_view line) {
  if (child_ < 0) return fail("nft does not run");
  const Deadline until = std::chrono::steady_clock::now() + kNftPatience;
  const std::string text = std::string(line) + "\n" + std::string(kDone);
  if (auto ok = write_all(input_.get(), text, until); !ok) {
    end();
    return fail("nft {}", ok.error().message);
  }
  return answer(until);
}

/// Lines that are not JSON are what is wrong.
Expected<std::string> ResidentNft::answer(Deadline until) {
  std::string listed, problem;
  while (true) {
    const std::size_t end_of_line = unread_.find('\n');
    if (end_of_line == std::string::npos) {
      if (auto ok = read_more(output_.get(), unread_, until); !ok) {
        end();
        return fail("nft {}", problem.empty() ? ok.error().message : one_line(problem));
      }
      continue;
    }
    const std::string line = unread_.substr(0, end_of_line);
    unread_.erase(0, end_of_line + 1);
    if (!line.starts_with("{\"nftables\"")) {
      problem += line + "\n";
    } else if (line.find("\"counter\": {") != std::string::npos) {
      listed = line;
    } else {
      break;
    }
  }
  if (!problem.empty()) return fail("nft: {}", one_line(problem));
  return listed;
}

void ResidentNft::end() {
  input_ = Descriptor(), output_ = Descriptor();
  unread_.clear();
  if (child_ < 0) return;
  ::kill(child_, SIGKILL);
  while (::waitpid(child_, nullptr, 0) < 0 && errno == EINTR) {
  }
  child_ = -1;
}

bool ResidentNft::is_alive() {
  if (child_ < 0) return false;
  if (::waitpid(child_, nullptr, WNOHANG) == 0) return true;
  child_ = -1;
  return false;
}

Expected<std::string> run_program(const std::vector<std::string>& command, std::string_view input) {
  auto in = make_pipe(), out = make_pipe();
  for (const auto* made : {&in, &out})
    if (!*made) return tl::make_unexpected(made->error());
  const auto child = spawn(command, in->read.get(), out->write.get());
  if (!child) return tl::make_unexpected(child.error());
  in->read = Descriptor(), out->write = Descriptor();
  ::fcntl(in->write.get(), F_SETFL, O_NONBLOCK);
  const Deadline until = std::chrono::steady_clock::now() + kNftPatience;
  (void)write_all(in->write.get(), input, until);
  in->write = Descriptor();
  std::string text;
  Expected<void> more;
  while ((more = read_more(out->read.get(), text, until))) {
  }
  if (more.error().message != "has ended") ::kill(*child, SIGKILL);
  int status = 0;
  while (::waitpid(*child, &status, 0) < 0 && errno == EINTR) {
  }
  if (WIFEXITED(status) && WEXITSTATUS(status) == 0) return text;
  return fail("{}: {}", command.front(), one_line(text));
}

}  // namespace trainyard
