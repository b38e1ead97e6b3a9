// Tokens by which callers beyond the Unix socket are known: 256 random bits each, of which only the
// SHA-256 is kept, in STATE/tokens.json (mode 0600). An operator makes them, for a user of this
// machine and with a role; nobody can read one again.
#pragma once

#include <sys/types.h>

#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"
#include "live/job/identity.h"

namespace trainyard {

/// "viewer", "user", "operator".
std::string_view name(Role role);
Expected<Role> parse_role(std::string_view text);

struct Token {
  std::string name;  // what the operator calls it
  Role role{};
  std::string user;    // as whom its holder acts
  std::string sha256;  // of the token, in hexadecimal
};

/// The file. Changes are whole or not at all, and one after the other.
class TokenFile {
 public:
  explicit TokenFile(std::string state_directory);

  /// The token itself, which is kept nowhere.
  Expected<std::string> add(const std::string& name, Role role, const std::string& user);
  Expected<void> remove(const std::string& name);
  /// None when there is no file. Refuses one that others may read or write.
  [[nodiscard]] Expected<std::vector<Token>> list() const;
  [[nodiscard]] const std::string& path() const { return path_; }

 private:
  Expected<void> change(const auto& edit);
  std::string path_;
};

/// Who bears a token, by the file as it now is. Safe to call from any thread.
class TokenCheck {
 public:
  explicit TokenCheck(TokenFile file) : file_(std::move(file)) {}

  struct Bearer {
    std::string token_name;
    Identity identity;
  };
  /// Compares with all tokens in constant time. Nobody when the user does not exist.
  std::optional<Bearer> find(std::string_view token);
  Expected<std::size_t> count();

 private:
  Expected<void> reload();

  TokenFile file_;
  std::mutex mutex_;
  std::vector<Token> tokens_;
  std::string version_;  // of the file that was read last
};

/// A user of this machine by name. Role is left to the caller.
std::optional<Identity> find_user(const std::string& name);
/// By number: with its name, or the number as its name.
Identity user_of(uid_t uid, gid_t gid);

}  // namespace trainyard
