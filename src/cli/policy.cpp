// trainyard policy: which policy decides, and how to set another while jobs run.
#include <fmt/ranges.h>

#include "cli/client.h"
#include "cli/options.h"

namespace trainyard::cli {
namespace {

using nlohmann::json;

struct PolicyOptions : AskOptions {
  std::string name;
  std::vector<std::string> settings;
};

/// The policy, and below it all settings that hold.
std::string describe(const json& policy, std::string_view verb) {
  std::string text = fmt::format("{}{}\n", policy.at("policy").get<std::string>(), verb);
  for (const json& setting : policy.at("settings"))
    text += "  " + setting.get<std::string>() + "\n";
  return text;
}

Expected<void> show_policy(const PolicyOptions& options) {
  auto client = Client::open(options.client);
  if (!client) return tl::make_unexpected(client.error());
  const auto policy = client->get("/v1/policy");
  if (!policy) return tl::make_unexpected(policy.error());
  if (options.json()) return print_json(*policy);
  if (auto ok = print(describe(*policy, "")); !ok) return ok;
  hint(options, "trainyard policies");
  return {};
}

Expected<void> set_policy(const PolicyOptions& options) {
  auto client = Client::open(options.client);
  if (!client) return tl::make_unexpected(client.error());
  const json policy{{"policy", options.name}, {"settings", options.settings}};
  const auto done = client->put("/v1/policy", policy);
  if (!done) return tl::make_unexpected(done.error());
  const auto in_force = client->get("/v1/policy");  // with what the daemon was started with
  if (!in_force) return tl::make_unexpected(in_force.error());
  if (options.json()) return print_json(*in_force);
  if (auto ok = print(describe(*in_force, " decides from now on")); !ok) return ok;
  hint(options, "trainyard watch");
  return {};
}

}  // namespace

void add_policy_command(Command& program) {
  const auto options = std::make_shared<PolicyOptions>();
  Command& command =
      add_daemon_command(program, "policy", "Shows the policy that decides, or sets another.",
                         "trainyard policy                 # the same as trainyard policy show\n"
                         "trainyard policy set fitgpp",
                         *options);
  command.action = [options] { return show_policy(*options); };
  Command& show =
      add_daemon_command(command, "show", "Shows it.", "trainyard policy show", *options);
  show.action = [options] { return show_policy(*options); };
  Command& set = add_daemon_command(
      command, "set",
      "Sets another, while jobs run; for operators. What was given to serve with --set still "
      "holds.",
      "trainyard policy set fitgpp\ntrainyard policy set las --set order.thresholds=1h", *options);
  set.option("name", &options->name, "a preset, or a line of stages",
             {.type = "POLICY", .required = true});
  add_set_option(set, options->settings);
  set.action = [options] { return set_policy(*options); };
}

}  // namespace trainyard::cli
