#include "live/server/tokens.h"

#include <fcntl.h>
#include <openssl/crypto.h>
#include <openssl/rand.h>
#include <openssl/sha.h>
#include <pwd.h>
#include <sys/file.h>
#include <sys/stat.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <nlohmann/json.hpp>

#include "live/system/files.h"
#include "live/system/private_file.h"
#include "live/system/sha256.h"
#include "live/system/utc.h"

namespace trainyard {
namespace {

using nlohmann::json;

constexpr std::array kRoles{Role::agent, Role::viewer, Role::user, Role::operator_};
constexpr std::string_view kPrefix = "ty_";
constexpr std::size_t kMostBytes = std::size_t{4} << 20;

std::string hexadecimal(const unsigned char* bytes, std::size_t size) {
  std::string text;
  for (std::size_t i = 0; i < size; ++i) text += fmt::format("{:02x}", bytes[i]);
  return text;
}

Expected<void> check_name(std::string_view name) {
  const auto is_allowed = [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '-' ||
           c == '_' || c == '.';
  };
  if (!name.empty() && name.size() <= 64 && std::ranges::all_of(name, is_allowed)) return {};
  return fail("{} is not a name for a token: 1 to 64 letters, digits, and - _ . are",
              trainyard::quoted(name));
}

Expected<Token> token_from_json(const json& value) {
  const auto text = [&](const char* field) {
    const auto found = value.find(field);
    return found != value.end() && found->is_string() ? found->get<std::string>() : std::string();
  };
  if (!value.is_object()) return fail("a token is an object");
  const auto role = parse_role(text("role"));
  if (!role) return tl::make_unexpected(role.error());
  Token token{text("name"), *role, text("user"), text("sha256")};
  if (const auto expires = value.find("expires"); expires != value.end()) {
    if (!expires->is_number_integer())
      return fail("token {}: expires is not a number of seconds", quoted(token.name));
    token.expires = Time{} + seconds(expires->get<std::int64_t>());
  }
  token.machine = text("machine");
  if (auto ok = check_name(token.name); !ok) return tl::make_unexpected(ok.error());
  if ((token.role == Role::agent) == token.machine.empty())
    return fail("token {} has {}", token.name,
                token.machine.empty() ? "no machine" : "a machine, and is no agent's");
  if (token.sha256.size() != std::size_t{2} * SHA256_DIGEST_LENGTH || token.user.empty())
    return fail("token {} has no sha256 or no user", token.name);
  return token;
}

std::string used_path(std::string path) {
  path.replace(path.rfind(".json"), std::string::npos, "-used.json");
  return path;
}

/// When each token was last used, by its hash; nothing where that cannot be read.
json uses(const std::string& path) {
  const auto text = read_private_file(used_path(path), kMostBytes, false);
  json all = text && *text ? json::parse(**text, nullptr, false) : json();
  return all.is_object() ? all : json::object();
}

Expected<void> write_private(const std::string& path, const std::string& text) {
  const std::string draft = path + ".new";
  ::unlink(draft.c_str());
  const Descriptor file(
      ::open(draft.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0600));
  if (!file || ::write(file.get(), text.data(), text.size()) != std::ssize(text) ||
      ::fsync(file.get()) != 0 || ::rename(draft.c_str(), path.c_str()) != 0)
    return fail("{}: cannot be written: {}", path, std::strerror(errno));
  return {};
}

}  // namespace

std::string_view name(Role role) {
  switch (role) {
    case Role::agent:
      return "agent";
    case Role::viewer:
      return "viewer";
    case Role::user:
      return "user";
    case Role::operator_:
      return "operator";
  }
  return "?";
}

Expected<Role> parse_role(std::string_view text) {
  for (const Role role : kRoles)
    if (name(role) == text) return role;
  return fail("{} is not a role: agent, viewer, user and operator are", trainyard::quoted(text));
}

TokenFile::TokenFile(std::string state_directory, FindUser find_user)
    : path_(std::move(state_directory)), find_user_(std::move(find_user)) {
  path_ += "/tokens.json";
}

Expected<std::vector<Token>> TokenFile::list() const {
  const auto text = read_private_file(path_, kMostBytes, false);
  if (!text) return tl::make_unexpected(text.error());
  std::vector<Token> tokens;
  if (!text->has_value()) return tokens;
  const json all = json::parse(**text, nullptr, false);
  if (!all.is_array()) return fail("{}: is not a list of tokens in JSON", path_);
  const json used = uses(path_);
  for (const json& entry : all) {
    auto token = token_from_json(entry);
    if (!token) return fail_at(path_, token.error());
    if (const auto at = used.find(token->sha256); at != used.end() && at->is_number_integer())
      token->last_used = Time{} + seconds(at->get<std::int64_t>());
    tokens.push_back(*std::move(token));
  }
  return tokens;
}

void TokenFile::note_use(const std::vector<Token>& tokens) const {
  json used = json::object();
  for (const Token& token : tokens)
    if (token.last_used) used[token.sha256] = token.last_used->us / 1'000'000;
  (void)replace_file(used_path(path_), used.dump() + "\n", 0600);  // only an operator's comfort
}

/// Reads, lets `edit` change the list, and writes, while others who do the same wait.
Expected<void> TokenFile::change(const auto& edit) {
  const std::string path = path_ + ".lock";
  const Descriptor lock(::open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600));
  if (!lock || ::flock(lock.get(), LOCK_EX) != 0)
    return fail("{}: cannot be changed: {}", path_, std::strerror(errno));
  auto tokens = list();
  if (!tokens) return tl::make_unexpected(tokens.error());
  if (auto ok = edit(*tokens); !ok) return ok;
  json all = json::array();
  for (const Token& token : *tokens) {
    all.push_back({{"name", token.name},
                   {"role", name(token.role)},
                   {"user", token.user},
                   {"sha256", token.sha256}});
    if (token.expires) all.back()["expires"] = token.expires->us / 1'000'000;
    if (!token.machine.empty()) all.back()["machine"] = token.machine;
  }
  return write_private(path_, all.dump(2) + "\n");
}

Expected<std::string> TokenFile::add(const std::string& name, Role role, const std::string& user,
                                     std::optional<Time> expires, const std::string& machine) {
  if (auto ok = check_name(name); !ok) return tl::make_unexpected(ok.error());
  if ((role == Role::agent) == machine.empty())
    return fail("a token of the role agent is for one machine, and only such a token is");
  if (!find_user_(user))
    return fail("there is no user {} on this machine", trainyard::quoted(user));
  std::array<unsigned char, 32> bits{};
  if (RAND_bytes(bits.data(), static_cast<int>(bits.size())) != 1)
    return fail("the system gives no random numbers");
  const std::string token = std::string(kPrefix) + hexadecimal(bits.data(), bits.size());
  const auto done = change([&](std::vector<Token>& tokens) -> Expected<void> {
    if (std::ranges::find(tokens, name, &Token::name) != tokens.end())
      return fail("there is a token {} already; remove it first", name);
    tokens.push_back({name, role, user, sha256(token), expires, {}, machine});
    return {};
  });
  if (!done) return tl::make_unexpected(done.error());
  return token;
}

Expected<void> TokenFile::remove(const std::string& name) {
  return change([&](std::vector<Token>& tokens) -> Expected<void> {
    if (std::erase_if(tokens, [&](const Token& token) { return token.name == name; }) == 0)
      return fail("there is no token {}", trainyard::quoted(name));
    return {};
  });
}

Expected<void> TokenCheck::reload() {
  struct stat facts {};
  std::string version = "none";
  if (::stat(file_.path().c_str(), &facts) == 0)
    version = fmt::format("{} {} {} {}", facts.st_ino, facts.st_size, facts.st_mtim.tv_sec,
                          facts.st_mtim.tv_nsec);
  if (version == version_) return {};
  tokens_.clear();  // what cannot be trusted any more lets nobody in
  version_.clear();
  auto tokens = file_.list();
  if (!tokens) return tl::make_unexpected(tokens.error());
  tokens_ = *std::move(tokens);
  version_ = std::move(version);
  return {};
}

Expected<TokenCheck::Bearer> TokenCheck::find(std::string_view token, Time now) {
  const std::string digest = sha256(token);
  const std::lock_guard lock(mutex_);
  Token* match = nullptr;
  if (reload())
    for (Token& known : tokens_)
      if (CRYPTO_memcmp(known.sha256.data(), digest.data(), digest.size()) == 0) match = &known;
  if (match == nullptr) return fail("the token is not valid");
  if (match->expires && now >= *match->expires)
    return fail("the token {} expired at {}; ask an operator for another", match->name,
                format_utc(*match->expires));
  auto identity = file_.users()(match->user);
  if (!identity) return fail("the token {} is of a user who does not exist", match->name);
  identity->role = match->role;
  identity->machine = match->machine;
  note_use(*match, now);
  return Bearer{match->name, *std::move(identity)};
}

void TokenCheck::note_use(Token& token, Time now) {
  // Also where the clock was set back.
  if (token.last_used && now >= *token.last_used && now - *token.last_used < minutes(1)) return;
  token.last_used = now;
  file_.note_use(tokens_);
}

Expected<std::size_t> TokenCheck::count() {
  const std::lock_guard lock(mutex_);
  if (auto ok = reload(); !ok) return tl::make_unexpected(ok.error());
  return tokens_.size();
}

std::optional<Identity> find_user(const std::string& name) {
  passwd entry{}, *found = nullptr;
  std::array<char, 16'384> texts{};
  if (::getpwnam_r(name.c_str(), &entry, texts.data(), texts.size(), &found) != 0 || !found)
    return {};
  return Identity{name, entry.pw_uid, entry.pw_gid};
}

Identity user_of(uid_t uid, gid_t gid) {
  passwd entry{}, *found = nullptr;
  std::array<char, 16'384> texts{};
  if (::getpwuid_r(uid, &entry, texts.data(), texts.size(), &found) != 0 || !found)
    return {std::to_string(uid), uid, gid};
  return {entry.pw_name, uid, gid};
}

}  // namespace trainyard
