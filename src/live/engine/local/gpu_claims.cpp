#include "live/engine/local/gpu_claims.h"

#include <pwd.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <fstream>
#include <optional>
#include <thread>

namespace trainyard {
namespace {

constexpr int kAskers = 4096;  // who may ask whose it is: connections are never accepted
constexpr std::chrono::seconds kPatience{1};  // a daemon that was just killed takes a moment to go

// --- Names, among users --------------------------------------------------------------------------

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
  return "trainyard/" + name(gpu) + "/";
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
               : "a process that cannot be told";
}

/// The abstract names that are in use on this machine, without the '@' that stands for the NUL
/// byte.
std::vector<std::string> names_in_use() {
  std::vector<std::string> names;
  std::ifstream lines("/proc/net/unix");
  for (std::string line; std::getline(lines, line);)
    if (const std::size_t at = line.find(" @trainyard/"); at != std::string::npos)
      names.push_back(line.substr(at + 2));
  std::ranges::sort(names);
  const auto twice = std::ranges::unique(names);  // a connection has the name of its listener
  names.erase(twice.begin(), twice.end());
  return names;
}

// --- Locks, of root ------------------------------------------------------------------------------

/// As a file's name: older drivers have "MIG-GPU-.../1/0".
std::string file_prefix(const Gpu& gpu) {
  std::string text = name(gpu) + ".";
  std::ranges::replace(text, '/', ':');
  return text;
}

bool has_claim(const Gpu& gpu, const std::set<std::string>& locked) {
  const std::string prefix = file_prefix(gpu);
  const auto first = locked.lower_bound(prefix);
  return first != locked.end() && first->starts_with(prefix);
}

// --- Both ----------------------------------------------------------------------------------------

/// FNV-1a: the same for a state directory in every life of the daemon.
std::string hash_of(const std::string& state) {
  std::uint64_t hash = 14'695'981'039'346'656'037U;
  for (const char c : state) hash = (hash ^ static_cast<unsigned char>(c)) * 1'099'511'628'211U;
  return fmt::format("{:016x}", hash);
}

std::string describe(const Gpu& gpu) {
  return fmt::format("GPU {} ({}{})", gpu.number, gpu.kind,
                     gpu.uuid.empty() ? "" : ", " + gpu.uuid);
}

std::string sentence(const Gpu& gpu, const std::string& held_by) {
  return fmt::format("{} is held by {}", describe(gpu), held_by);
}

tl::unexpected<Error> not_gone_yet(const Gpu& gpu) {
  return fail("{} cannot be claimed for the run: its last run is not gone yet", describe(gpu));
}

/// Tries until it works, or until a daemon that was just killed should be gone.
template <class Try>
auto with_patience(std::chrono::steady_clock::time_point until, Try attempt) {
  auto got = attempt();
  while (!got && std::chrono::steady_clock::now() < until) {
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
    got = attempt();
  }
  return got;
}

}  // namespace

Expected<GpuClaims> GpuClaims::take(const std::vector<Gpu>& gpus, const std::string& state,
                                    const std::string& run) {
  GpuClaims all;
  all.state_ = hash_of(state), all.run_ = run;
  const auto taken = ::geteuid() == 0 ? all.take_as_root(gpus) : all.take_as_user(gpus);
  if (!taken) return tl::make_unexpected(taken.error());
  return all;
}

void GpuClaims::add(const Gpu& gpu, Descriptor claim) {
  ours_.push_back(gpu);
  claims_.push_back(std::move(claim));
}

Expected<void> GpuClaims::take_as_root(const std::vector<Gpu>& gpus) {
  auto opened = GpuLocks::open(run_);
  if (!opened) return tl::make_unexpected(opened.error());
  locks_ = std::move(*opened);
  const std::string us = fmt::format("process {} of user {}", ::getpid(), user_name(0));
  std::vector<Descriptor> taken;
  const auto until = std::chrono::steady_clock::now() + kPatience;
  for (const Gpu& gpu : gpus) {
    Expected<Descriptor> lock;
    taken.push_back(with_patience(until, [&] {
      lock = locks_->lock(file_prefix(gpu) + "daemon", us);
      return lock ? std::move(*lock) : Descriptor();
    }));
    if (!lock) return tl::make_unexpected(lock.error());
  }
  const auto locked = locks_->locked();
  if (!locked) return tl::make_unexpected(locked.error());
  const auto names = names_in_use();
  for (std::size_t i = 0; i < gpus.size(); ++i) {
    const std::string daemon = file_prefix(gpus[i]) + "daemon";
    std::string held_by = taken[i] ? "" : locks_->holder(daemon);
    for (const std::string& name : *locked)
      if (taken[i] && name.starts_with(file_prefix(gpus[i]) + "run.") && !name.ends_with(state_))
        held_by = "a run of another daemon, " + locks_->holder(name);
    if (!held_by.empty()) {
      left_out_.push_back(sentence(gpus[i], held_by));
      continue;
    }
    add(gpus[i], std::move(taken[i]));
    for (const std::string& name : names)
      if (name.starts_with(prefix(gpus[i])))
        shared_.push_back(
            fmt::format("{} was claimed before by {}", describe(gpus[i]), holder(name)));
  }
  return {};
}

Expected<void> GpuClaims::take_as_user(const std::vector<Gpu>& gpus) {
  std::vector<Descriptor> taken;
  const auto until = std::chrono::steady_clock::now() + kPatience;
  for (const Gpu& gpu : gpus)
    taken.push_back(with_patience(until, [&] { return claim(prefix(gpu) + "daemon"); }));
  const auto locked = gpu_locks_of_root(run_);
  if (!locked) return tl::make_unexpected(locked.error());
  const auto names = names_in_use();
  for (std::size_t i = 0; i < gpus.size(); ++i) {
    const std::string runs = prefix(gpus[i]) + "run/";
    std::string held_by = taken[i] ? "" : holder(prefix(gpus[i]) + "daemon");
    for (const std::string& name : names)
      if (taken[i] && name.starts_with(runs) && name != runs + state_)
        held_by = "a run of another daemon, " + holder(name);
    if (has_claim(gpus[i], *locked)) held_by = "root's daemon, or a run of it";
    if (held_by.empty())
      add(gpus[i], std::move(taken[i]));
    else
      left_out_.push_back(sentence(gpus[i], held_by));
  }
  return {};
}

Expected<std::vector<Descriptor>> GpuClaims::for_run(std::span<const std::int32_t> gpus) const {
  std::vector<Descriptor> claims;
  for (const std::int32_t number : gpus) {
    const Gpu& gpu = ours_.at(static_cast<std::size_t>(number));
    auto made = locks_ ? claim_run_as_root(gpu) : claim_run_as_user(gpu);
    if (!made) return tl::make_unexpected(made.error());
    if (*made) claims.push_back(std::move(*made));
  }
  return claims;
}

Expected<Descriptor> GpuClaims::claim_run_as_root(const Gpu& gpu) const {
  auto made = locks_->lock(
      file_prefix(gpu) + "run." + state_,
      fmt::format("which process {} of user {} has started", ::getpid(), user_name(0)));
  if (made && !*made) return not_gone_yet(gpu);
  return made;
}

Expected<Descriptor> GpuClaims::claim_run_as_user(const Gpu& gpu) const {
  const auto locked = gpu_locks_of_root(run_);
  if (!locked) return tl::make_unexpected(locked.error());
  if (has_claim(gpu, *locked)) return fail("{} is root's daemon's now", describe(gpu));
  const std::string name = prefix(gpu) + "run/" + state_;
  Descriptor made = claim(name);
  if (made) return made;
  // Our own last run there may not be gone yet. A stranger who sits on the name has nothing of it:
  // the daemon's claim holds, and the run goes without one of its own.
  const auto owner = owner_of(name);
  if (!owner || owner->uid == ::geteuid()) return not_gone_yet(gpu);
  return Descriptor();
}

std::vector<std::string> GpuClaims::give_way_to_root() {
  std::vector<std::string> given;
  if (locks_ || ours_.empty()) return given;
  const auto locked = gpu_locks_of_root(run_);
  for (std::size_t i = 0; locked && i < ours_.size();) {
    if (!has_claim(ours_[i], *locked)) {
      ++i;
      continue;
    }
    given.push_back(describe(ours_[i]) + " is root's daemon's now");
    ours_.erase(ours_.begin() + static_cast<std::ptrdiff_t>(i));
    claims_.erase(claims_.begin() + static_cast<std::ptrdiff_t>(i));
  }
  return given;
}

}  // namespace trainyard
