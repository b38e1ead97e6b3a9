#include "live/engine/local/account.h"

#include <grp.h>
#include <pwd.h>

#include <algorithm>
#include <array>

namespace trainyard {
namespace {

std::vector<gid_t> groups_of(const std::string& user, gid_t group) {
  std::vector<gid_t> groups(64);
  auto count = static_cast<int>(groups.size());
  if (::getgrouplist(user.c_str(), group, groups.data(), &count) < 0) {
    groups.resize(static_cast<std::size_t>(count));
    if (::getgrouplist(user.c_str(), group, groups.data(), &count) < 0) return {group};
  }
  groups.resize(static_cast<std::size_t>(count));
  return groups;
}

Account account_from(const passwd& entry, gid_t group) {
  const auto own = groups_of(entry.pw_name, entry.pw_gid);
  const bool is_member = std::find(own.begin(), own.end(), group) != own.end();
  return {.uid = entry.pw_uid,
          .gid = is_member ? group : entry.pw_gid,
          .groups = own,
          .user = entry.pw_name,
          .home = entry.pw_dir,
          .shell = entry.pw_shell[0] != '\0' ? entry.pw_shell : "/bin/sh"};
}

}  // namespace

Expected<Account> account_of(const Identity& owner) {
  passwd entry{}, *found = nullptr;
  std::array<char, 16'384> texts;
  // By name first: a number may have several.
  if (::getpwnam_r(owner.user.c_str(), &entry, texts.data(), texts.size(), &found) == 0 && found &&
      entry.pw_uid == owner.uid)
    return account_from(entry, owner.gid);
  if (::getpwuid_r(owner.uid, &entry, texts.data(), texts.size(), &found) == 0 && found)
    return fail("user {} ({}): this number is now that of user {}: submit the job again",
                owner.user, owner.uid, entry.pw_name);
  return Account{.uid = owner.uid,
                 .gid = owner.gid,
                 .groups = {owner.gid},
                 .user = owner.user,
                 .home = "/",
                 .shell = "/bin/sh"};
}

}  // namespace trainyard
