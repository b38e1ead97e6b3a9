#include "live/engine/local/run_places.h"

#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <cstring>
#include <filesystem>
#include <set>
#include <utility>

#include "live/system/closed_directory.h"

namespace trainyard {
namespace {

namespace fs = std::filesystem;

const std::string kRuns = "runs", kCheckpoints = "checkpoints";

std::string user_folder(uid_t user) {
  return fmt::format("u{}", user);
}

std::string inner_folder(uid_t user) {
  return user_folder(user) + "/jobs";
}

std::string name_of_run(RunId id) {
  return fmt::format("{}.{}", id.job, id.run);
}

std::optional<uid_t> parse_user_folder(std::string_view name) {
  uid_t user = 0;
  if (!name.starts_with('u')) return {};
  const char* end = name.data() + name.size();
  const auto [at, wrong] = std::from_chars(name.data() + 1, end, user);
  if (wrong != std::errc() || at != end || name != user_folder(user)) return {};
  return user;
}

std::vector<std::string> names_in(const std::string& folder) {
  std::vector<std::string> names;
  std::error_code none;
  for (const auto& entry : fs::directory_iterator(folder, none))
    names.push_back(entry.path().filename().string());
  return names;
}

std::vector<RunId> runs_in(const std::string& folder) {
  std::vector<RunId> found;
  for (const std::string& name : names_in(folder))
    if (const auto id = parse_run(name)) found.push_back(*id);
  return found;
}

bool is_there(const std::string& path) {
  struct stat about {};
  return ::lstat(path.c_str(), &about) == 0;
}

void warn_of_old(Log& log, const std::string& path) {
  log.write(LogLevel::warning, fmt::format("{}: other users can still see its owner and times, "
                                           "because it cannot be moved: {}",
                                           path, std::strerror(errno)));
}

}  // namespace

std::optional<RunId> parse_run(std::string_view text) {
  RunId id;
  const char* end = text.data() + text.size();
  auto [at, wrong] = std::from_chars(text.data(), end, id.job);
  if (wrong != std::errc() || id.job <= 0) return {};
  if (at == end) return id;
  if (*at != '.') return {};
  const auto run = std::from_chars(at + 1, end, id.run);
  if (run.ec != std::errc() || run.ptr != end) return {};
  return id;
}

Expected<std::unique_ptr<RunPlaces>> RunPlaces::open(std::string state) {
  std::unique_ptr<RunPlaces> places(new RunPlaces(std::move(state)));
  std::set<std::pair<uid_t, gid_t>> found{{::geteuid(), ::getegid()}};
  for (const std::string& kind : {kRuns, kCheckpoints})
    for (const std::string& name : names_in(places->state_ + "/" + kind)) {
      const auto user = parse_user_folder(name);
      struct stat about {};
      if (user && ::stat(fmt::format("{}/{}/{}", places->state_, kind, name).c_str(), &about) == 0)
        found.emplace(*user, about.st_gid);
    }
  for (const auto& [user, group] : found)
    if (auto ok = places->make(user, group); !ok) return tl::make_unexpected(ok.error());
  return places;
}

Expected<void> RunPlaces::make(uid_t user, gid_t group) {
  for (const std::string& kind : {kRuns, kCheckpoints}) {
    const std::string parent = fmt::format("{}/{}/", state_, kind);
    if (auto ok = make_closed_directory(parent + user_folder(user), user, group); !ok) return ok;
    const std::string inner = parent + inner_folder(user);
    if (::mkdir(inner.c_str(), 0711) == 0)
      ::chmod(inner.c_str(), 0711);  // whatever the umask is
    else if (errno != EEXIST)
      return fail("{}: cannot be made: {}", inner, std::strerror(errno));
  }
  const std::lock_guard lock(mutex_);
  if (std::ranges::find(users_, user) == users_.end()) users_.push_back(user);
  return {};
}

// --- looking ---

/// Below runs/ and checkpoints/; the empty one is that of older daemons.
std::vector<std::string> RunPlaces::folders() const {
  const std::lock_guard lock(mutex_);
  std::vector<std::string> all{""};
  for (const uid_t user : users_) all.push_back("/" + inner_folder(user));
  return all;
}

/// Asks the file system, folder by folder: microseconds each, and no index that could be wrong.
std::string RunPlaces::folder_of(const std::string& kind, const std::string& name,
                                 uid_t else_of) const {
  for (const std::string& folder : folders())
    if (UserDirectory(fmt::format("{}/{}{}", state_, kind, folder), name).exists())
      return kind + folder;
  return kind + "/" + inner_folder(else_of);
}

Expected<RunPlaces::Folders> RunPlaces::folders_for(RunId id, uid_t user, gid_t group) {
  if (auto ok = make(user, group); !ok) return tl::make_unexpected(ok.error());
  return Folders{.runs = folder_of(kRuns, name_of_run(id), user),
                 .checkpoints = folder_of(kCheckpoints, std::to_string(id.job), user)};
}

std::string RunPlaces::run(RunId id) const {
  const std::string name = name_of_run(id);
  return fmt::format("{}/{}/{}", state_, folder_of(kRuns, name, ::geteuid()), name);
}

UserDirectory RunPlaces::checkpoints(JobNumber job) const {
  const std::string name = std::to_string(job);
  return {state_ + "/" + folder_of(kCheckpoints, name, ::geteuid()), name};
}

std::vector<RunId> RunPlaces::runs() const {
  std::vector<RunId> found;
  for (const std::string& folder : folders())
    for (const RunId id : runs_in(state_ + "/" + kRuns + folder)) found.push_back(id);
  std::ranges::sort(found);
  return found;
}

std::vector<JobNumber> RunPlaces::jobs_with_checkpoints() const {
  std::vector<JobNumber> found;
  for (const std::string& folder : folders())
    for (const RunId id : runs_in(state_ + "/" + kCheckpoints + folder)) found.push_back(id.job);
  return found;
}

// --- what older daemons have left ---

void RunPlaces::hide_old(Log& log) {
  hide_old_runs(log);
  hide_old_checkpoints(log);
}

/// To the daemon's own folder: its user needs nothing of a run that has ended. One has if its
/// supervisor has recorded that, or if the plan is gone, by which it could be started.
void RunPlaces::hide_old_runs(Log& log) {
  const std::string old = state_ + "/" + kRuns + "/", own = old + inner_folder(::geteuid()) + "/";
  for (const RunId id : runs_in(old)) {
    const std::string name = name_of_run(id);
    const bool has_ended =
        is_there(old + name + "/exit.json") || !is_there(old + name + "/run.json");
    if (has_ended && std::rename((old + name).c_str(), (own + name).c_str()) != 0)
      warn_of_old(log, old + name);
  }
}

void RunPlaces::hide_old_checkpoints(Log& log) {
  const std::string old = state_ + "/" + kCheckpoints;
  std::set<JobNumber> in_use;
  for (const RunId id : runs_in(state_ + "/" + kRuns)) in_use.insert(id.job);
  for (const RunId id : runs_in(old)) {
    const std::string name = std::to_string(id.job);
    if (in_use.contains(id.job)) continue;
    const UserDirectory directory(old, name);
    const auto owner = directory.owner();
    if (!owner) {
      warn_of_old(log, old + "/" + name);
      continue;
    }
    const auto ok = make(owner->user, owner->group);
    if (!ok) log.write(LogLevel::warning, ok.error().message);
    const std::string aim = fmt::format("{}/{}/{}", old, inner_folder(owner->user), name);
    if (ok && !directory.move_to(aim)) warn_of_old(log, old + "/" + name);
  }
}

}  // namespace trainyard
