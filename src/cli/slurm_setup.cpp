// trainyard slurm setup: what a site changes in its Slurm before Trainyard steers a partition. It
// writes the job_submit/lua script and prints the rest; slurm.conf itself is the operator's to
// edit.
#include <pwd.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <sstream>

#include "cli/commands.h"
#include "live/slurm_setup/checks.h"
#include "live/slurm_setup/hold_script.h"

namespace trainyard::cli {
namespace {

constexpr const char* kUsualConf = "/etc/slurm/slurm.conf";

struct SetupOptions {
  std::string partition, conf, script = "job_submit.lua";
  std::vector<std::string> operators;
};

Expected<std::string> read_text(const std::string& path) {
  std::ifstream file(path);
  if (!file || std::filesystem::is_directory(path))
    return fail("{}: cannot be read: {}", path, std::strerror(file ? EISDIR : errno));
  std::ostringstream text;
  text << file.rdbuf();
  return text.str();
}

/// The file that was named, or that Slurm's own commands would read; empty: there is none.
std::string conf_path(const SetupOptions& options) {
  if (!options.conf.empty()) return options.conf;
  const char* variable = std::getenv("SLURM_CONF");
  if (variable != nullptr && *variable != '\0') return variable;
  return std::filesystem::exists(kUsualConf) ? kUsualConf : "";
}

/// Names go into a script: only what Slurm itself takes.
Expected<void> check_partition_name(std::string_view name) {
  const bool is_plain =
      !name.empty() &&
      name.find_first_not_of("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-.") ==
          std::string_view::npos;
  if (!is_plain)
    return fail("--partition {}: a partition's name has letters, digits, '_', '-' and '.'",
                quoted(name));
  return {};
}

Expected<uid_t> uid_of(const std::string& user, std::string_view where) {
  const passwd* entry = ::getpwnam(user.c_str());
  if (entry == nullptr) return fail("{} {}: there is no such user here", where, quoted(user));
  return entry->pw_uid;
}

/// Those named, and SlurmUser, whom slurmctld runs as.
Expected<std::vector<uid_t>> operators(const SetupOptions& options, const SlurmConf* conf) {
  std::vector<uid_t> found;
  for (const std::string& user : options.operators) {
    const auto uid = uid_of(user, "--operator");
    if (!uid) return tl::make_unexpected(uid.error());
    found.push_back(*uid);
  }
  const auto* slurm_user = conf == nullptr ? nullptr : conf->find("SlurmUser");
  if (slurm_user == nullptr) return found;
  const auto uid = uid_of(slurm_user->value, "SlurmUser");
  if (!uid) return tl::make_unexpected(uid.error());
  found.push_back(*uid);
  return found;
}

/// A script that somebody else wrote stays.
Expected<void> write_script(const std::string& path, const std::string& text) {
  if (path != "-" && std::filesystem::exists(path)) {
    const auto present = read_text(path);
    if (!present) return tl::make_unexpected(present.error());
    if (!present->starts_with(kHoldScriptHead))
      return fail(
          "--script {}: the file is there and is not from this command; name another, and call "
          "its trainyard_submit and trainyard_modify from yours",
          path);
  }
  return write_output(path, text);
}

std::string to_text(const std::vector<SlurmFinding>& findings) {
  std::string text;
  for (const SlurmFinding& finding : findings) {
    const std::string where = finding.line == 0 ? "" : fmt::format("  (line {})", finding.line);
    text += fmt::format("{:8} {}{}\n         {}\n", name(finding.kind), finding.text, where,
                        finding.why);
  }
  return text;
}

std::string next_steps(const SetupOptions& options, const std::string& conf) {
  const std::string folder =
      conf.empty() ? "/etc/slurm" : std::filesystem::absolute(conf).parent_path().string();
  return fmt::format(
      "\nNext:\n"
      "  {0} serve --engine slurm --partition {1} --dry-run    # watches, and changes nothing\n"
      "  cp {2} {3}/job_submit.lua, edit slurm.conf as above, restart slurmctld\n"
      "  {0} serve --engine slurm --partition {1}\n"
      "And back:\n"
      "  take lua out of JobSubmitPlugins, restart slurmctld\n"
      "  {0} slurm release --partition {1}\n",
      program_to_type(), options.partition, shell_quoted(options.script), folder);
}

Expected<void> setup(const SetupOptions& options) {
  if (auto ok = check_partition_name(options.partition); !ok) return ok;
  const std::string path = conf_path(options);
  std::optional<SlurmConf> conf;
  if (!path.empty()) {
    const auto text = read_text(path);
    if (!text) return tl::make_unexpected(text.error());
    auto read = SlurmConf::parse(*text, path);
    if (!read) return tl::make_unexpected(read.error());
    conf = std::move(*read);
  }
  const SlurmConf* given = conf ? &*conf : nullptr;
  const auto allowed = operators(options, given);
  if (!allowed) return tl::make_unexpected(allowed.error());
  if (auto ok = write_script(options.script, hold_script(options.partition, *allowed)); !ok)
    return ok;
  if (options.script == "-") return {};

  std::string text = given == nullptr
                         ? "slurm.conf, which is not here, needs:\n\n"
                         : fmt::format("{}, for partition {}:\n\n", path, options.partition);
  text += to_text(check_slurm_conf(given, options.partition));
  if (given != nullptr)
    for (const std::size_t line : given->includes())
      text += fmt::format("note     line {} includes another file, which is not checked\n", line);
  text += fmt::format("\n{} is written; it belongs beside slurm.conf.\n", options.script);
  return print(text + next_steps(options, path));
}

}  // namespace

void add_slurm_setup_command(Command& slurm) {
  const auto options = std::make_shared<SetupOptions>();
  Command& command = slurm.add(
      "setup",
      "Writes the script that holds the jobs of a partition, and says what slurm.conf needs and "
      "why.",
      "trainyard slurm setup --partition train\n"
      "trainyard slurm setup --partition train --conf /etc/slurm/slurm.conf --operator trainyard");
  command.option("--partition", &options->partition, "the partition that Trainyard is to steer",
                 {.type = "NAME", .required = true});
  command.option("--conf", &options->conf,
                 "the slurm.conf to check [$SLURM_CONF, /etc/slurm/slurm.conf where it is there]",
                 {.type = "FILE"});
  command.option("--script", &options->script,
                 "where the script goes; - prints it and nothing else",
                 {.type = "FILE", .initial = options->script});
  command.option("--operator", &options->operators,
                 "a user who may hold, release and move jobs, beside root and SlurmUser: whom "
                 "`trainyard serve` runs as; repeatable",
                 {.type = "USER"});
  command.action = [options] { return setup(*options); };
}

}  // namespace trainyard::cli
