#include "live/engine/local/gpu_claims.h"

#include <pwd.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <chrono>
#include <cstddef>
#include <fstream>
#include <optional>
#include <thread>

namespace trainyard {
namespace {

constexpr int kAskers = 4096;  // who may ask whose it is: connections are never accepted
constexpr std::chrono::seconds kPatience{1};  // a daemon that was just killed takes a moment to go

/// An abstract name begins with a NUL byte.
struct Name {
  sockaddr_un address{};
  socklen_t size = 0;

  explicit Name(const std::string& text) {
    address.sun_family = AF_UNIX;
    const std::size_t copied = text.copy(address.sun_path + 1, sizeof address.sun_path - 1);
    size = static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + 1 + copied);
  }
  [[nodiscard]] const sockaddr* get() const { return reinterpret_cast<const sockaddr*>(&address); }
};

std::string prefix(const Gpu& gpu) {
  // A driver that tells no UUID at least numbers them the same for everybody.
  return "trainyard/" + (gpu.uuid.empty() ? fmt::format("number-{}", gpu.number) : gpu.uuid) + "/";
}

/// None: somebody has it.
Descriptor claim(const std::string& text) {
  const Name name(text);
  Descriptor socket(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  if (!socket || ::bind(socket.get(), name.get(), name.size) != 0 ||
      ::listen(socket.get(), kAskers) != 0)
    return Descriptor();
  return socket;
}

std::string user_name(uid_t uid) {
  const passwd* entry = ::getpwuid(uid);
  return entry == nullptr ? std::to_string(uid) : entry->pw_name;
}

/// Whose a name is, as the kernel says.
std::optional<ucred> owner_of(const std::string& text) {
  const Name name(text);
  const Descriptor socket(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  ucred owner{};
  socklen_t size = sizeof owner;
  if (::connect(socket.get(), name.get(), name.size) != 0 ||
      ::getsockopt(socket.get(), SOL_SOCKET, SO_PEERCRED, &owner, &size) != 0)
    return std::nullopt;
  return owner;
}

/// "process 17 of user eve".
std::string holder(const std::string& name) {
  const auto owner = owner_of(name);
  return owner ? fmt::format("process {} of user {}", owner->pid, user_name(owner->uid))
               : "somebody who cannot be told";
}

/// The abstract names that are in use on this machine, without the '@' that stands for the NUL
/// byte.
std::vector<std::string> names_in_use() {
  std::vector<std::string> names;
  std::ifstream lines("/proc/net/unix");
  for (std::string line; std::getline(lines, line);)
    if (const std::size_t at = line.find(" @trainyard/"); at != std::string::npos)
      names.push_back(line.substr(at + 2));
  return names;
}

/// FNV-1a: the same for a state directory in every life of the daemon.
std::string hash_of(const std::string& state) {
  std::uint64_t hash = 14'695'981'039'346'656'037U;
  for (const char c : state) hash = (hash ^ static_cast<unsigned char>(c)) * 1'099'511'628'211U;
  return fmt::format("{:016x}", hash);
}

std::string sentence(const Gpu& gpu, const std::string& held_by) {
  return fmt::format("GPU {} ({}{}) is held by {}", gpu.number, gpu.kind,
                     gpu.uuid.empty() ? "" : ", " + gpu.uuid, held_by);
}

}  // namespace

GpuClaims GpuClaims::take(const std::vector<Gpu>& gpus, const std::string& state) {
  GpuClaims all;
  all.state_ = hash_of(state);
  std::vector<Descriptor> taken(gpus.size());
  const auto until = std::chrono::steady_clock::now() + kPatience;
  for (std::size_t i = 0; i < gpus.size(); ++i)
    while (!(taken[i] = claim(prefix(gpus[i]) + "daemon")) &&
           std::chrono::steady_clock::now() < until)
      std::this_thread::sleep_for(std::chrono::milliseconds(10));

  const auto names = names_in_use();
  for (std::size_t i = 0; i < gpus.size(); ++i) {
    const std::string runs = prefix(gpus[i]) + "run/";
    std::string held_by = taken[i] ? "" : holder(prefix(gpus[i]) + "daemon");
    for (const std::string& name : names)
      if (taken[i] && name.starts_with(runs) && name != runs + all.state_)
        held_by = "a run of another daemon, " + holder(name);
    if (!held_by.empty()) {
      all.left_out_.push_back(sentence(gpus[i], held_by));
      continue;
    }
    all.ours_.push_back(gpus[i]);
    all.claims_.push_back(std::move(taken[i]));
  }
  return all;
}

std::string GpuClaims::names() const {
  std::string text;
  for (const Gpu& gpu : ours_) text += prefix(gpu);
  return text;
}

Expected<std::vector<Descriptor>> GpuClaims::for_run(std::span<const std::int32_t> gpus) const {
  std::vector<Descriptor> claims;
  for (const std::int32_t gpu : gpus) {
    const std::string name = prefix(ours_.at(static_cast<std::size_t>(gpu))) + "run/" + state_;
    Descriptor made = claim(name);
    if (made) {
      claims.push_back(std::move(made));
      continue;
    }
    // Our own last run there may not be gone yet. A stranger who sits on the name has nothing of
    // it: the daemon's claim holds, and the run goes without one of its own.
    const auto owner = owner_of(name);
    if (!owner || owner->uid == ::geteuid())
      return fail("GPU {} cannot be claimed for the run: its last run is not gone yet", gpu);
  }
  return claims;
}

}  // namespace trainyard
