// trainyard nodes, close, open: the machines, what is free on them, and whether they take jobs.
#include "cli/answer_text.h"
#include "cli/client.h"

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
  if (options.json()) return print_json(*cluster);
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
  if (options.json()) return print_json(*done);
  const bool closes = std::string_view(verb) == "close";
  if (auto ok = print(
          fmt::format("{} {}\n", options.machine,
                      closes ? "starts nothing new; what runs there goes on" : "takes jobs again"));
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

void add_close_command(Command& program) {
  add_change(program, "close", "Starts nothing new on a machine; for operators.");
}

void add_open_command(Command& program) {
  add_change(program, "open", "Lets a machine take jobs again; for operators.");
}

}  // namespace trainyard::cli
