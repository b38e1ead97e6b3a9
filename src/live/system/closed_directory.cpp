#include "live/system/closed_directory.h"

#include <endian.h>
#include <linux/posix_acl.h>
#include <linux/posix_acl_xattr.h>
#include <sys/stat.h>
#include <sys/xattr.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstring>

namespace trainyard {
namespace {

constexpr const char* kAccessList = "system.posix_acl_access";
constexpr mode_t kPermissions = 07777;

/// All for the owner, passing for the user, nothing for others. The kernel wants this order.
std::string list_for(uid_t user) {
  struct List {
    posix_acl_xattr_header header;
    std::array<posix_acl_xattr_entry, 5> entries;
  };
  const auto entry = [](std::uint16_t tag, std::uint16_t rights, std::uint32_t id) {
    return posix_acl_xattr_entry{htole16(tag), htole16(rights), htole32(id)};
  };
  constexpr auto kNone = static_cast<std::uint32_t>(ACL_UNDEFINED_ID);
  const List list{{htole32(POSIX_ACL_XATTR_VERSION)},
                  {entry(ACL_USER_OBJ, ACL_READ | ACL_WRITE | ACL_EXECUTE, kNone),
                   entry(ACL_USER, ACL_EXECUTE, user), entry(ACL_GROUP_OBJ, 0, kNone),
                   entry(ACL_MASK, ACL_EXECUTE, kNone), entry(ACL_OTHER, 0, kNone)}};
  std::string bytes(sizeof list, '\0');
  std::memcpy(bytes.data(), &list, sizeof list);
  return bytes;
}

/// False, with errno, if it cannot be set.
bool set_list(const std::string& path, const std::string& list) {
  std::string present(list.size(), '\0');
  const ssize_t size = ::getxattr(path.c_str(), kAccessList, present.data(), present.size());
  if (size == static_cast<ssize_t>(list.size()) && present == list) return true;
  return ::setxattr(path.c_str(), kAccessList, list.data(), list.size(), 0) == 0;
}

bool set_mode(const std::string& path, const struct stat& about, mode_t mode) {
  return (about.st_mode & kPermissions) == mode || ::chmod(path.c_str(), mode) == 0;
}

bool let_pass(const std::string& path, uid_t user, gid_t group) {
  struct stat about {};
  if (::stat(path.c_str(), &about) != 0) return false;
  if (user == ::geteuid()) return set_mode(path, about, 0700);
  if (set_list(path, list_for(user))) return true;
  if (errno != EOPNOTSUPP) return false;
  if (about.st_gid != group && ::chown(path.c_str(), -1, group) != 0) return false;
  return set_mode(path, about, 0710);
}

}  // namespace

Expected<void> make_closed_directory(const std::string& path, uid_t user, gid_t group) {
  if (::mkdir(path.c_str(), 0700) != 0 && errno != EEXIST)
    return fail("{}: cannot be made: {}", path, std::strerror(errno));
  if (!let_pass(path, user, group))
    return fail("{}: cannot be closed to all but user {}: {}", path, user, std::strerror(errno));
  return {};
}

bool has_access_lists(const std::string& path) {
  return ::getxattr(path.c_str(), kAccessList, nullptr, 0) >= 0 || errno != EOPNOTSUPP;
}

}  // namespace trainyard
