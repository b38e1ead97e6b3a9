// trainyard nodes, drain, resume: the machines, what is free on them, and whether they take jobs.
#include "cli/daemon.h"

namespace trainyard::cli {
namespace {

struct MachineOptions : AskOptions {
  std::string machine;
};

Expected<void> nodes(const AskOptions& options) {
  auto client = Client::open(options.client);
  if (!client) return tl::make_unexpected(client.error());
  const auto cluster = client->get("/v1/cluster");
  if (!cluster) return tl::make_unexpected(cluster.error());
  if (options.json) return print_json(*cluster);
  if (auto ok = print(machine_table(*cluster)); !ok) return ok;
  hint(options, "trainyard queue");
  return {};
}

Expected<void> change(const MachineOptions& options, const char* verb) {
  auto client = Client::open(options.client);
  if (!client) return tl::make_unexpected(client.error());
  const auto done =
      client->post(fmt::format("/v1/machines/{}/{}", url_encoded(options.machine), verb), nullptr);
  if (!done) return tl::make_unexpected(done.error());
  if (options.json) return print_json(*done);
  const bool drains = std::string_view(verb) == "drain";
  if (auto ok = print(
          fmt::format("{} {}\n", options.machine,
                      drains ? "starts nothing new; what runs there goes on" : "takes jobs again"));
      !ok)
    return ok;
  hint(options, "trainyard nodes");
  return {};
}

void add_change(Command& program, const char* verb, const char* description) {
  const auto options = std::make_shared<MachineOptions>();
  Command& command = add_daemon_command(program, verb, description,
                                        fmt::format("trainyard {} r0m0", verb), *options);
  command.option("machine", &options->machine, "its name", {.type = "MACHINE", .required = true});
  command.action = [options, verb] { return change(*options, verb); };
}

}  // namespace

void add_nodes_command(Command& program) {
  const auto options = std::make_shared<AskOptions>();
  Command& command =
      add_daemon_command(program, "nodes", "Lists machines and who holds their GPUs.",
                         "trainyard nodes\ntrainyard nodes --json", *options);
  command.action = [options] { return nodes(*options); };
}

void add_drain_command(Command& program) {
  add_change(program, "drain", "Starts nothing new on a machine; for operators.");
}

void add_resume_command(Command& program) {
  add_change(program, "resume", "Lets a machine take jobs again; for operators.");
}

}  // namespace trainyard::cli
