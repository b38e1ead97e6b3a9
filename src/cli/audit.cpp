// trainyard audit: who did what, from STATE/audit.log. Reads the files themselves, so it is for
// whoever the daemon runs as, and needs no daemon.
#include "base/visible_text.h"
#include "cli/answer_text.h"
#include "cli/client.h"
#include "live/system/audit_log.h"
#include "live/system/utc.h"

namespace trainyard::cli {
namespace {

using nlohmann::json;

struct AuditOptions : AskOptions {
  bool verify = false;
  std::string user, since;
};

json as_json(const AuditLine& line) {
  const AuditEntry& entry = line.entry;
  return {{"line", line.number}, {"at", entry.at.seconds()}, {"user", entry.user},
          {"uid", entry.uid},    {"via", entry.via},         {"from", entry.from},
          {"act", entry.act},    {"object", entry.object},   {"outcome", entry.outcome},
          {"why", entry.why},    {"of", entry.of},           {"left_out", entry.left_out}};
}

std::string as_text(const AuditLine& line) {
  const AuditEntry& entry = line.entry;
  std::string text =
      fmt::format("{} {} {} by {}", line.number, format_utc(entry.at),
                  entry.user.empty() ? "-" : visible(entry.user), visible(entry.via));
  if (!entry.from.empty()) text += " from " + visible(entry.from);
  text += fmt::format(": {} {}", visible(entry.act), entry.outcome);
  if (!entry.object.empty()) text += ", " + visible(entry.object);
  if (!entry.why.empty()) text += ": " + visible(entry.why);
  if (entry.of > 0) text += fmt::format(" (asked in line {})", entry.of);
  if (entry.left_out > 0)
    text += fmt::format(" ({} refusals before it are left out)", entry.left_out);
  return text + "\n";
}

/// From when on lines are shown.
Expected<Time> shown_from(const AuditOptions& options) {
  if (options.since.empty()) return Time{std::numeric_limits<std::int64_t>::min()};
  const auto back = parse_duration(options.since);
  if (!back) return fail("--since {}: give how far back, as 2d or 6h", quoted(options.since));
  return RealSystem().wall_clock() - *back;
}

Expected<void> tell_verdict(const AuditOptions& options, const AuditVerdict& found) {
  if (options.json()) {
    if (auto ok = print_json({{"lines", found.lines},
                              {"first", found.first},
                              {"last", found.last},
                              {"last_sha256", found.last_hash},
                              {"problems", found.problems}});
        !ok)
      return ok;
  } else if (found.problems.empty()) {
    if (auto ok = print(fmt::format(
            "{} lines in {} files, from line {} on: the chain holds; line {} has SHA-256 {}\n",
            found.lines, found.files, found.first, found.last, found.last_hash));
        !ok)
      return ok;
  }
  if (found.problems.empty()) return {};
  std::string all = "the audit was changed, or a line of it was torn by a crash";
  for (const std::string& problem : found.problems) all += "\n  " + visible(problem);
  return fail("{}", all);
}

Expected<void> show_audit(const AuditOptions& options) {
  const auto state = options.client.state.empty() ? default_state_directory()
                                                  : Expected<std::string>(options.client.state);
  if (!state) return tl::make_unexpected(state.error());
  const auto begin = shown_from(options);
  if (!begin) return tl::make_unexpected(begin.error());
  Expected<void> printed;
  const auto found = read_audit(*state, [&](const AuditLine& line) {
    const bool is_wanted = !options.verify && line.entry.at >= *begin &&
                           (options.user.empty() || line.entry.user == options.user);
    if (is_wanted && printed)
      printed = options.json() ? print_json(as_json(line)) : print(as_text(line));
  });
  if (!found) return tl::make_unexpected(found.error());
  if (!printed) return printed;
  if (found->files == 0) return fail("{}/audit.log: there is none, or it cannot be read", *state);
  return options.verify ? tell_verdict(options, *found) : Expected<void>{};
}

}  // namespace

void add_audit_command(Command& program) {
  const auto options = std::make_shared<AuditOptions>();
  Command& command =
      program.add("audit", "Prints who changed what, or verifies that no line of it was changed.",
                  "trainyard audit --since 2d\ntrainyard audit --user ada --json\ntrainyard audit "
                  "--verify");
  command.group = kLiveGroup;
  command.option("--state", &options->client.state, "the daemon's state folder", {.type = "DIR"});
  command.flag("--json", &options->client.is_exact, "print a line of JSON for each");
  command.flag("--verify", &options->verify,
               "check the chain of hashes, and print the last; fails if a line was changed or "
               "removed");
  command.option("--user", &options->user, "only what this user did", {.type = "USER"});
  command.option("--since", &options->since, "only this far back", {.type = "DURATION"});
  command.action = [options] { return show_audit(*options); };
}

}  // namespace trainyard::cli
