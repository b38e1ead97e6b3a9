#include "live/system/elsewhere.h"

#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <filesystem>

#include "live/system/files.h"

namespace trainyard {
namespace {

namespace fs = std::filesystem;

constexpr const char* kMark = "/belongs-to";

/// Where it leads; empty: it is no link.
std::string target_of(const std::string& place) {
  std::error_code none;
  return fs::is_symlink(place, none) ? fs::read_symlink(place, none).string() : std::string();
}

/// True for the folder of a user (engine/local/run_places.h) that has no jobs.
bool is_unused_by_user(const fs::path& folder) {
  std::error_code error;
  return folder.filename().string().starts_with('u') && fs::is_empty(folder / "jobs", error) &&
         !error;
}

/// True if nothing of a job is in it: `trash` and the mark are ours.
bool is_unused(const std::string& folder) {
  std::error_code none;
  for (const auto& entry : fs::directory_iterator(folder, none))
    if (const auto name = entry.path().filename();
        name != "trash" && name != &kMark[1] && !is_unused_by_user(entry.path()))
      return false;
  return true;
}

/// Leaves it empty. No file of a user is in it.
void remove_own_folders(const std::string& unused) {
  std::error_code none;
  for (const auto& entry : fs::directory_iterator(unused, none)) fs::remove_all(entry.path(), none);
}

/// Makes the folder, as it has to be: who could write into it could pass for the daemon.
Expected<std::string> make_folder(const std::string& path) {
  std::error_code error;
  fs::create_directories(path, error);
  if (error) return fail("{}: cannot be made: {}", path, error.message());
  const std::string absolute = fs::canonical(path, error).string();
  if (error) return fail("{}: {}", path, error.message());
  struct stat about {};
  if (::stat(absolute.c_str(), &about) != 0 || about.st_uid != ::geteuid())
    return fail("{}: belongs to user {}, not to the daemon's user {}", absolute, about.st_uid,
                ::geteuid());
  if (::chmod(absolute.c_str(), 0711) != 0)
    return fail("{}: its permissions cannot be set: {}", absolute, std::strerror(errno));
  return absolute;
}

Expected<void> check_mark(const std::string& folder, const std::string& place) {
  const auto mark = read_small_file(folder + kMark);
  if (!mark)
    return fail("{}: leads to {}, which has no file {}: is its file system not mounted?", place,
                folder, &kMark[1]);
  if (*mark == place) return {};
  return fail("{}: belongs to {}; give {} another folder, or remove {}{} if that was moved here",
              folder, *mark, place, folder, kMark);
}

Expected<void> leave_behind(const std::string& place, const std::string& target) {
  if (!is_unused(place))
    return fail(
        "{}: holds what jobs have left{}; move it to {} while the daemon is ended and no job runs, "
        "or leave it where it is",
        place, target_of(place).empty() ? "" : fmt::format(" (in {})", target_of(place)), target);
  std::error_code error;
  const std::string before = target_of(place);
  if (!before.empty()) fs::remove(before + kMark, error);
  if (before.empty()) remove_own_folders(place);
  fs::remove(place, error);
  if (error) return fail("{}: cannot be replaced by a link: {}", place, error.message());
  return {};
}

}  // namespace

Expected<void> keep_elsewhere(const std::string& place, const std::string& target) {
  const std::string before = target_of(place);
  if (target.empty()) return before.empty() ? Expected<void>() : check_mark(before, place);
  const auto folder = make_folder(target);
  if (!folder) return tl::make_unexpected(folder.error());
  if (before == *folder) return check_mark(before, place);
  std::error_code none;
  if (fs::exists(*folder + kMark, none))
    if (auto ok = check_mark(*folder, place); !ok) return ok;
  // What is not mounted only looks unused: jobs would go on without their checkpoints.
  if (!before.empty())
    if (auto ok = check_mark(before, place); !ok)
      return fail("{}; to give it up for {}, remove the link {}", ok.error().message, *folder,
                  place);
  if (fs::exists(fs::symlink_status(place, none)))
    if (auto ok = leave_behind(place, *folder); !ok) return ok;
  if (auto ok = replace_file(*folder + kMark, place, 0600); !ok) return ok;
  if (::symlink(folder->c_str(), place.c_str()) != 0)
    return fail("{}: cannot be made a link to {}: {}", place, *folder, std::strerror(errno));
  return {};
}

}  // namespace trainyard
