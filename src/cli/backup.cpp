// trainyard backup, verify and restore: one file with all that a daemon must not lose. They work on
// the state folder itself, so they are for whoever the daemon runs as, and need no daemon.
#include "live/journal/backup.h"

#include <filesystem>
#include <memory>

#include "cli/answer_text.h"
#include "cli/client.h"
#include "cli/options.h"
#include "live/journal/verify.h"

namespace trainyard::cli {
namespace {

using nlohmann::json;

struct BackupOptions {
  std::string state, file;
  bool json = false;
};

Expected<std::string> state_of(const BackupOptions& options) {
  if (options.state.empty()) return default_state_directory();
  return options.state;
}

json as_json(const Verification& found) {
  return {{"format", found.format},         {"rows", found.rows},
          {"unsummed", found.unsummed},     {"jobs", found.jobs},
          {"unfinished", found.unfinished}, {"structure", found.structure},
          {"problems", found.problems}};
}

/// A line for each problem, to standard error.
void tell_problems(const Verification& found) {
  for (const std::string& problem : found.structure) note("SQLite: " + problem);
  for (const std::string& problem : found.problems) note(problem);
}

std::string counted(const Verification& found) {
  const std::string old =
      found.unsummed == 0
          ? ""
          : fmt::format(" ({} from an older format, without a checksum)", found.unsummed);
  return fmt::format("{} rows{}, {} jobs of which {} have not ended", found.rows, old, found.jobs,
                     found.unfinished);
}

Expected<void> make_backup(const BackupOptions& options) {
  const auto state = state_of(options);
  if (!state) return tl::make_unexpected(state.error());
  const auto found = back_up(*state, options.file);
  if (!found) return tl::make_unexpected(found.error());
  if (auto ok = options.json ? print_json({{"backup", options.file}, {"found", as_json(*found)}})
                             : print(fmt::format("{}: {}\n", options.file, counted(*found)));
      !ok)
    return ok;
  if (found->is_right()) return {};
  tell_problems(*found);
  note("the backup was made; rows that are damaged in the journal are damaged in it");
  throw ExitWith{kJournalDamaged};
}

Expected<void> verify(const BackupOptions& options) {
  std::string path = options.file;
  if (path.empty()) {
    const auto state = state_of(options);
    if (!state) return tl::make_unexpected(state.error());
    path = *state;
  }
  if (std::filesystem::is_directory(path)) path += "/journal.db";
  const auto found = verify_journal(path);
  if (!found) return tl::make_unexpected(found.error());
  const std::string end = found->is_right() ? "all is right" : "damaged";
  if (auto ok = options.json ? print_json(as_json(*found))
                             : print(fmt::format("{}: {}; {}\n", path, counted(*found), end));
      !ok)
    return ok;
  if (found->is_right()) return {};
  tell_problems(*found);
  throw ExitWith{kJournalDamaged};
}

Expected<void> restore(const BackupOptions& options) {
  const auto done = restore_backup(options.file, options.state);
  if (!done) return tl::make_unexpected(done.error());
  tell_problems(done->found);
  if (options.json)
    return print_json({{"restored", options.state},
                       {"made", done->made},
                       {"aside", done->aside},
                       {"found", as_json(done->found)}});
  std::string text = fmt::format("{}: {}", options.state, counted(done->found));
  if (!done->made.empty()) text += fmt::format(", as of {}", done->made);
  if (!done->aside.empty()) text += fmt::format("\nWhat was there is in {}.", done->aside);
  return print(text +
               "\nStart the daemon: it says what is missing, and takes up runs that live.\n");
}

Command& add_part(Command& program, const char* name, const char* about, const char* examples,
                  BackupOptions& options, bool needs_state) {
  Command& command = program.add(name, about, examples);
  command.group = kLiveGroup;
  command.option("--state", &options.state, "the daemon's state folder",
                 {.type = "DIR", .required = needs_state});
  command.flag("--json", &options.json, "print the answer as JSON");
  return command;
}

}  // namespace

void add_backup_command(Command& program) {
  const auto options = std::make_shared<BackupOptions>();
  Command& command = add_part(program, "backup", "Writes the journal and the tokens into one file.",
                              "trainyard backup /backup/trainyard-$(date +%F).db\n"
                              "trainyard backup --state /var/lib/trainyard /mnt/nas/trainyard.db",
                              *options, false);
  command.option("file", &options->file, "a file that does not exist yet", {.required = true});
  command.notes =
      "Works while the daemon runs, and without it; run it as the user of the daemon. Checkpoints "
      "and output of jobs are not in the file. It is checked before it gets its name; the status "
      "is 1 if rows of the journal are damaged.";
  command.action = [options] { return make_backup(*options); };
}

void add_verify_command(Command& program) {
  const auto options = std::make_shared<BackupOptions>();
  Command& command = add_part(program, "verify", "Checks every row of a journal or of a backup.",
                              "trainyard verify\ntrainyard verify /backup/trainyard-2026-01-31.db",
                              *options, false);
  command.option("file", &options->file, "a backup, or a state folder; --state if not given");
  command.notes =
      "Only reads, also while the daemon runs. Each problem is a line that names its job; the "
      "status is 1 if there is any.";
  command.action = [options] { return verify(*options); };
}

void add_restore_command(Command& program) {
  const auto options = std::make_shared<BackupOptions>();
  Command& command =
      add_part(program, "restore", "Puts a backup in place of the journal.",
               "trainyard restore /backup/trainyard-2026-01-31.db --state /var/lib/trainyard",
               *options, true);
  command.option("file", &options->file, "what trainyard backup wrote", {.required = true});
  command.notes =
      "Refused while a daemon runs there. Nothing is deleted: what was there moves into a folder "
      "before-restore-TIME. Runs that live are left alone; the next daemon takes them up, and "
      "gives no number of a job again that it knows to have been given.";
  command.action = [options] { return restore(*options); };
}

}  // namespace trainyard::cli
