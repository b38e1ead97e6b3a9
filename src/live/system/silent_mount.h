// For tests: a file system that never answers, as that of a server which is gone. A process that
// asks it for anything sleeps until it is unmounted.
#pragma once

#include <fcntl.h>
#include <fmt/format.h>
#include <linux/fuse.h>
#include <poll.h>
#include <sys/mount.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <cerrno>
#include <cstring>
#include <string>
#include <thread>
#include <tuple>

#include "live/system/files.h"

namespace trainyard {

class SilentMount {
 public:
  enum class Kind : std::uint8_t {
    is_gone,         // nothing takes requests: a sleeper can be killed
    takes_requests,  // they are taken and not answered: it cannot
  };

  explicit SilentMount(std::string path, Kind kind = Kind::is_gone) : path_(std::move(path)) {
    device_ = Descriptor(::open("/dev/fuse", O_RDWR | O_CLOEXEC | O_NONBLOCK));
    const std::string options = fmt::format(
        "fd={},rootmode=40000,user_id={},group_id=0,allow_other", device_.get(), ::geteuid());
    is_there_ = device_ && ::mount("silent", path_.c_str(), "fuse", 0, options.c_str()) == 0;
    if (!is_there_) why_not_ = std::strerror(errno);
    if (is_there_ && kind == Kind::takes_requests) thread_ = std::thread([this] { take(); });
  }
  ~SilentMount() { end(); }
  SilentMount(const SilentMount&) = delete;
  SilentMount& operator=(const SilentMount&) = delete;

  /// False where this machine lets nobody mount: `why_not` says why.
  [[nodiscard]] bool is_there() const { return is_there_; }
  [[nodiscard]] const std::string& why_not() const { return why_not_; }
  /// Until a request was taken.
  void wait_for_request() const {
    while (!has_taken_) ::usleep(1000);
  }
  /// All that waits for it fails.
  void end() {
    if (is_there_) ::umount2(path_.c_str(), MNT_FORCE | MNT_DETACH);
    is_there_ = false;
    if (thread_.joinable()) thread_.join();
    device_.reset();
  }

 private:
  /// Answers the first request, with which the kernel says hello, and no other.
  void take() {
    std::array<char, 1 << 17> buffer;
    for (;;) {
      pollfd ready{.fd = device_.get(), .events = POLLIN, .revents = 0};
      ::poll(&ready, 1, -1);
      const ssize_t got = ::read(device_.get(), buffer.data(), buffer.size());
      if (got < 0 && errno != EAGAIN && errno != EINTR) return;  // it is unmounted
      if (got < static_cast<ssize_t>(sizeof(fuse_in_header))) continue;
      fuse_in_header asked;
      std::memcpy(&asked, buffer.data(), sizeof asked);
      asked.opcode == FUSE_INIT ? say_hello(asked.unique) : has_taken_.store(true);
    }
  }
  void say_hello(std::uint64_t request) {
    struct {
      fuse_out_header head;
      fuse_init_out hello;
    } answer{};
    answer.head = {.len = sizeof answer, .error = 0, .unique = request};
    answer.hello.major = FUSE_KERNEL_VERSION;
    answer.hello.minor = 31;
    answer.hello.max_write = 4096;
    std::ignore = ::write(device_.get(), &answer, sizeof answer);
  }

  std::string path_, why_not_;
  Descriptor device_;
  bool is_there_ = false;
  std::atomic<bool> has_taken_ = false;
  std::thread thread_;
};

}  // namespace trainyard
