#include "live/system/private_file.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstring>
#include <filesystem>

#include "live/system/files.h"

namespace trainyard {
namespace {

bool is_trusted(uid_t owner) {
  return owner == 0 || owner == ::geteuid();
}

/// In a folder with the sticky bit others can add files, and replace none of ours.
Expected<void> check_folder(const std::string& path) {
  std::error_code problem;
  const auto real = std::filesystem::canonical(path, problem);
  if (problem) return fail("{}: cannot be read: {}", path, problem.message());
  const std::string folder = real.parent_path().string();
  struct stat facts {};
  if (::stat(folder.c_str(), &facts) != 0)
    return fail("{}: cannot be looked at: {}", folder, std::strerror(errno));
  if (!is_trusted(facts.st_uid))
    return fail("{}: its folder {} belongs to user {}, who could replace it", path, folder,
                facts.st_uid);
  if ((facts.st_mode & 022) != 0 && (facts.st_mode & S_ISVTX) == 0)
    return fail("{}: others may write to its folder (mode {:o}); type: chmod go-w '{}'", path,
                facts.st_mode & 07777, folder);
  return {};
}

Expected<void> check_file(const std::string& path, const struct stat& facts) {
  if (!S_ISREG(facts.st_mode)) return fail("{}: is not a file", path);
  if (!is_trusted(facts.st_uid))
    return fail("{}: belongs to user {}, not to the user who runs this; type: chown {} '{}'", path,
                facts.st_uid, ::geteuid(), path);
  if ((facts.st_mode & 077) != 0)
    return fail(
        "{}: others may use it (mode {:o}), so what is in it may be known; make it anew, and "
        "type: chmod 600 '{}'",
        path, facts.st_mode & 07777, path);
  return check_folder(path);
}

}  // namespace

Expected<void> check_not_others(const std::string& path) {
  const Descriptor file(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK));
  struct stat facts {};
  if (!file || ::fstat(file.get(), &facts) != 0)
    return fail("{}: cannot be read: {}", path, std::strerror(errno));
  if (!S_ISREG(facts.st_mode)) return fail("{}: is not a file", path);
  if (!is_trusted(facts.st_uid))
    return fail("{}: belongs to user {}, who may have changed it", path, facts.st_uid);
  if ((facts.st_mode & 022) != 0)
    return fail("{}: others may write to it (mode {:o}), and may have changed it", path,
                facts.st_mode & 07777);
  return check_folder(path);
}

Expected<std::optional<std::string>> read_private_file(const std::string& path, std::size_t limit,
                                                       bool follows_links) {
  const int flags = O_RDONLY | O_CLOEXEC | O_NONBLOCK | (follows_links ? 0 : O_NOFOLLOW);
  const Descriptor file(::open(path.c_str(), flags));
  if (!file && errno == ENOENT) return std::nullopt;
  struct stat facts {};
  if (!file || ::fstat(file.get(), &facts) != 0)
    return fail("{}: cannot be read: {}", path, std::strerror(errno));
  if (auto ok = check_file(path, facts); !ok) return tl::make_unexpected(ok.error());
  std::string text;
  std::array<char, 4096> part{};
  ssize_t got = 0;
  while ((got = ::read(file.get(), part.data(), part.size())) > 0) {
    text.append(part.data(), static_cast<std::size_t>(got));
    if (text.size() > limit) return fail("{}: is longer than {} bytes", path, limit);
  }
  if (got < 0) return fail("{}: cannot be read: {}", path, std::strerror(errno));
  return text;
}

}  // namespace trainyard
