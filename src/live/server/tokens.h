// Tokens by which callers beyond the Unix socket are known: 256 random bits each, of which only the
// SHA-256 is kept, in STATE/tokens.json (mode 0600). An operator makes them, for a user of this
// machine, with a role, and until a day when they expire; nobody can read one again.
//
// The daemon writes down when each was last used, in STATE/tokens-used.json: at most once a minute,
// and not forced to disk.
#pragma once

#include <sys/types.h>

#include <functional>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"
#include "base/time.h"
#include "live/job/identity.h"

namespace trainyard {

/// "agent", "viewer", "user", "operator".
std::string_view name(Role role);
Expected<Role> parse_role(std::string_view text);

struct Token {
  std::string name;  // what the operator calls it
  Role role{};
  std::string user;                    // as whom its holder acts
  std::string sha256;                  // of the token, in hexadecimal
  std::optional<Time> expires = {};    // none if it never does
  std::optional<Time> last_used = {};  // to the minute; none if it is not known to have been
  std::string machine = {};            // of an agent: the one that it is for
};

/// A user of this machine by name. Role is left to the caller.
std::optional<Identity> find_user(const std::string& name);
using FindUser = std::function<std::optional<Identity>(const std::string& name)>;

/// The file. Changes are whole or not at all, and one after the other.
class TokenFile {
 public:
  explicit TokenFile(std::string state_directory, FindUser find_user = trainyard::find_user);

  /// The token itself, which is kept nowhere. One of an agent is for a machine, and no other is.
  Expected<std::string> add(const std::string& name, Role role, const std::string& user,
                            std::optional<Time> expires = {}, const std::string& machine = {});
  Expected<void> remove(const std::string& name);
  /// None when there is no file. Refuses one that others may read or replace.
  [[nodiscard]] Expected<std::vector<Token>> list() const;
  /// Writes down when tokens were last used, for list().
  void note_use(const std::vector<Token>& tokens) const;
  [[nodiscard]] const std::string& path() const { return path_; }
  [[nodiscard]] const FindUser& users() const { return find_user_; }

 private:
  Expected<void> change(const auto& edit);
  std::string path_;
  FindUser find_user_;
};

/// Who bears a token, by the file as it now is. Safe to call from any thread.
class TokenCheck {
 public:
  explicit TokenCheck(TokenFile file) : file_(std::move(file)) {}

  struct Bearer {
    std::string token_name;
    Identity identity;
  };
  /// Compares with all tokens in constant time. The error is for who showed it: the token is not
  /// known, has expired, or is of a user who does not exist.
  Expected<Bearer> find(std::string_view token, Time now);
  Expected<std::size_t> count();

 private:
  Expected<void> reload();
  void note_use(Token& token, Time now);

  TokenFile file_;
  std::mutex mutex_;
  std::vector<Token> tokens_;
  std::string version_;  // of the file that was read last
};

/// By number: with its name, or the number as its name.
Identity user_of(uid_t uid, gid_t gid);

}  // namespace trainyard
