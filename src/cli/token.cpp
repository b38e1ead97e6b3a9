// trainyard token: lets people in who do not come over the Unix socket. Works on the state folder
// itself, so it is for whoever the daemon runs as, and needs no daemon.
#include <unistd.h>

#include <filesystem>

#include "base/visible_text.h"
#include "cli/answer_text.h"
#include "cli/client.h"
#include "cli/options.h"
#include "live/server/tokens.h"
#include "live/system/audit_log.h"
#include "live/system/system.h"
#include "live/system/utc.h"

namespace trainyard::cli {
namespace {

using nlohmann::json;

struct TokenOptions : AskOptions {
  std::string name, role = "user", user, machine, expires = "90d";
};

/// When a token that is made now expires; none for "never".
Expected<std::optional<Time>> expiry_of(const std::string& text) {
  if (text == "never") return std::nullopt;
  const auto lasts = parse_duration(text);
  if (!lasts) return fail("--expires {}: give a duration, as 90d, or never", quoted(text));
  if (lasts->us == 0) return fail("--expires {}: it would be of no use to anybody", quoted(text));
  return RealSystem().wall_clock() + *lasts;
}

std::string day_of(const std::optional<Time>& time, const char* otherwise) {
  return time ? format_utc(*time) : otherwise;
}

json seconds_of(const std::optional<Time>& time) {
  return time ? json(time->us / 1'000'000) : json();
}

Expected<TokenFile> token_file(const TokenOptions& options) {
  const auto state = options.client.state.empty() ? default_state_directory()
                                                  : Expected<std::string>(options.client.state);
  if (!state) return tl::make_unexpected(state.error());
  return TokenFile(*state);
}

/// Tells the audit what was done to the tokens, which is done here and not by the daemon.
Expected<void> note_in_audit(const TokenFile& file, const char* act, std::string object,
                             std::string outcome) {
  RealSystem system;
  AuditLog log(system, std::filesystem::path(file.path()).parent_path().string());
  const auto line = log.append({.at = system.wall_clock(),
                                .user = user_of(::getuid(), ::getgid()).user,
                                .uid = ::getuid(),
                                .via = "command",
                                .act = act,
                                .object = std::move(object),
                                .outcome = std::move(outcome)});
  if (!line) return tl::make_unexpected(line.error());
  return {};
}

Expected<void> add_token(const TokenOptions& options) {
  auto file = token_file(options);
  if (!file) return tl::make_unexpected(file.error());
  const auto role = parse_role(options.role);
  if (!role) return tl::make_unexpected(role.error());
  const std::string user =
      options.user.empty() ? user_of(::geteuid(), ::getegid()).user : options.user;
  const auto expires = expiry_of(options.expires);
  if (!expires) return tl::make_unexpected(expires.error());
  const std::string object = fmt::format("token {} of {}, role {}, expires {}", options.name, user,
                                         options.role, day_of(*expires, "never"));
  if (auto ok = note_in_audit(*file, "token add", object, "asked"); !ok) return ok;
  const auto token = file->add(options.name, *role, user, *expires, options.machine);
  if (auto ok = note_in_audit(*file, "token add", object, token ? "done" : "refused"); !ok)
    return ok;
  if (!token) return tl::make_unexpected(token.error());
  if (options.json())
    return print_json({{"name", options.name},
                       {"role", options.role},
                       {"user", user},
                       {"token", *token},
                       {"expires", seconds_of(*expires)}});
  if (auto ok = print(*token + "\n"); !ok) return ok;
  note(fmt::format(
      "keep the token now, it is not shown again; it expires {}; commands with --server "
      "take it from TRAINYARD_TOKEN",
      day_of(*expires, "never")));
  hint(options, "trainyard token list");
  return {};
}

Expected<void> list_tokens(const TokenOptions& options) {
  auto file = token_file(options);
  if (!file) return tl::make_unexpected(file.error());
  const auto tokens = file->list();
  if (!tokens) return tl::make_unexpected(tokens.error());
  const Time now = RealSystem().wall_clock();
  json all = json::array();
  std::vector<std::vector<std::string>> rows{{"NAME", "ROLE", "USER", "EXPIRES", "LAST USED"}};
  for (const Token& token : *tokens) {
    all.push_back({{"name", token.name},
                   {"role", name(token.role)},
                   {"user", token.user},
                   {"expires", seconds_of(token.expires)},
                   {"last_used", seconds_of(token.last_used)}});
    const bool is_over = token.expires && now >= *token.expires;
    rows.push_back({token.name, std::string(name(token.role)), visible(token.user),
                    day_of(token.expires, "never") + (is_over ? " (expired)" : ""),
                    day_of(token.last_used, "-")});
  }
  if (options.json()) return print_json(all);
  if (auto ok = print(table(rows)); !ok) return ok;
  hint(options, "trainyard token add --help");
  return {};
}

Expected<void> remove_token(const TokenOptions& options) {
  auto file = token_file(options);
  if (!file) return tl::make_unexpected(file.error());
  const std::string object = "token " + options.name;
  if (auto ok = note_in_audit(*file, "token remove", object, "asked"); !ok) return ok;
  auto done = file->remove(options.name);
  (void)note_in_audit(*file, "token remove", object, done ? "done" : "refused");
  if (!done) return done;
  if (options.json()) return print_json({{"removed", options.name}});
  if (auto ok =
          print(fmt::format("the token {} is removed, and no longer accepted\n", options.name));
      !ok)
    return ok;
  hint(options, "trainyard token list");
  return {};
}

Command& add_part(Command& parent, const char* verb, const char* description, TokenOptions& options,
                  bool is_named) {
  const std::string name = is_named ? " ci" : "";
  Command& command = parent.add(verb, description, fmt::format("trainyard token {}{}", verb, name));
  command.option("--state", &options.client.state, "the daemon's state folder", {.type = "DIR"});
  command.flag("--json", &options.client.is_exact, "print the answer as JSON");
  if (is_named) command.option("name", &options.name, "what it is for", {.required = true});
  return command;
}

}  // namespace

void add_token_command(Command& program) {
  Command& command =
      program.add("token", "Makes, lists and removes tokens for access over TCP.",
                  "trainyard token add ci --role user --as ada --expires 90d\n"
                  "trainyard token add flow-gpu1 --role agent --machine gpu1 --expires never\n"
                  "trainyard token list\ntrainyard token remove ci");
  command.group = kLiveGroup;
  const auto options = std::make_shared<TokenOptions>();
  Command& add = add_part(command, "add", "Makes a token and prints it, once.", *options, true);
  add.option("--role", &options->role, "what its holder may do; user if not given",
             {.words = {"agent", "viewer", "user", "operator"}});
  add.option("--machine", &options->machine, "of an agent: the machine that it is for",
             {.type = "MACHINE"});
  add.option("--as", &options->user, "as which user of this machine; you if not given",
             {.type = "USER"});
  add.option("--expires", &options->expires, "how long it is accepted: a duration, or never",
             {.type = "DURATION", .initial = options->expires});
  add.action = [options] { return add_token(*options); };
  add_part(command, "list", "Lists them.", *options, false).action = [options] {
    return list_tokens(*options);
  };
  add_part(command, "remove", "Removes one.", *options, true).action = [options] {
    return remove_token(*options);
  };
}

}  // namespace trainyard::cli
