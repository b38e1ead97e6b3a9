// trainyard token: lets people in who do not come over the Unix socket. Works on the state folder
// itself, so it is for whoever the daemon runs as, and needs no daemon.
#include <unistd.h>

#include "cli/answer_text.h"
#include "cli/client.h"
#include "cli/options.h"
#include "live/server/tokens.h"

namespace trainyard::cli {
namespace {

using nlohmann::json;

struct TokenOptions : AskOptions {
  std::string name, role = "user", user;
};

Expected<TokenFile> token_file(const TokenOptions& options) {
  const auto state = options.client.state.empty() ? default_state_directory()
                                                  : Expected<std::string>(options.client.state);
  if (!state) return tl::make_unexpected(state.error());
  return TokenFile(*state);
}

Expected<void> add_token(const TokenOptions& options) {
  auto file = token_file(options);
  if (!file) return tl::make_unexpected(file.error());
  const auto role = parse_role(options.role);
  if (!role) return tl::make_unexpected(role.error());
  const std::string user =
      options.user.empty() ? user_of(::geteuid(), ::getegid()).user : options.user;
  const auto token = file->add(options.name, *role, user);
  if (!token) return tl::make_unexpected(token.error());
  if (options.json())
    return print_json(
        {{"name", options.name}, {"role", options.role}, {"user", user}, {"token", *token}});
  if (auto ok = print(*token + "\n"); !ok) return ok;
  note(
      "keep the token now, it is not shown again; commands with --server take it from "
      "TRAINYARD_TOKEN");
  hint(options, "trainyard token list");
  return {};
}

Expected<void> list_tokens(const TokenOptions& options) {
  auto file = token_file(options);
  if (!file) return tl::make_unexpected(file.error());
  const auto tokens = file->list();
  if (!tokens) return tl::make_unexpected(tokens.error());
  json all = json::array();
  std::vector<std::vector<std::string>> rows{{"NAME", "ROLE", "USER"}};
  for (const Token& token : *tokens) {
    all.push_back({{"name", token.name}, {"role", name(token.role)}, {"user", token.user}});
    rows.push_back({token.name, std::string(name(token.role)), token.user});
  }
  if (options.json()) return print_json(all);
  if (auto ok = print(table(rows)); !ok) return ok;
  hint(options, "trainyard token add --help");
  return {};
}

Expected<void> remove_token(const TokenOptions& options) {
  auto file = token_file(options);
  if (!file) return tl::make_unexpected(file.error());
  if (auto done = file->remove(options.name); !done) return done;
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
                  "trainyard token add ci --role user --as ada\ntrainyard token list\ntrainyard "
                  "token remove ci");
  command.group = kLiveGroup;
  const auto options = std::make_shared<TokenOptions>();
  Command& add = add_part(command, "add", "Makes a token and prints it, once.", *options, true);
  add.option("--role", &options->role, "what its holder may do; user if not given",
             {.words = {"viewer", "user", "operator"}});
  add.option("--as", &options->user, "as which user of this machine; you if not given",
             {.type = "USER"});
  add.action = [options] { return add_token(*options); };
  add_part(command, "list", "Lists them.", *options, false).action = [options] {
    return list_tokens(*options);
  };
  add_part(command, "remove", "Removes one.", *options, true).action = [options] {
    return remove_token(*options);
  };
}

}  // namespace trainyard::cli
