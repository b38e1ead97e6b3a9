// trainyard submit: gives the daemon a script or a command to run, with the environment and the
// folder it was submitted from, as sbatch does.
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <filesystem>
#include <iostream>
#include <map>
#include <thread>

#include "cli/answer_text.h"
#include "cli/client.h"
#include "cli/options.h"
#include "live/book/job_words.h"
#include "live/job/utf8.h"
#include "live/sbatch/batch_script.h"
#include "live/sbatch/job_options.h"
#include "workload/mapped_file.h"

namespace trainyard::cli {
namespace {

using nlohmann::json;

struct SubmitOptions : AskOptions {
  std::map<std::string, std::string> given;  // options of the job, by name
  std::map<std::string, bool> switched;      // those that take no value
  std::vector<std::string> words;            // the script and its arguments
  std::vector<std::string> command;          // what stood after --
  std::string exported;                      // --export
  bool wait = false, dry_run = false;
};

/// Drops the largest until the daemon takes the rest.
void shrink(std::map<std::string, std::string>& variables) {
  const auto bytes_of = [](const auto& variable) {
    return variable.first.size() + variable.second.size() + 2;
  };
  std::size_t bytes = 0;
  for (const auto& variable : variables) bytes += bytes_of(variable);
  while (bytes > kMostEnvironmentBytes) {
    const auto largest = std::ranges::max_element(variables, {}, bytes_of);
    note(fmt::format("the variable {} is left out: all together are larger than {} bytes",
                     trainyard::quoted(largest->first), kMostEnvironmentBytes));
    bytes -= bytes_of(*largest);
    variables.erase(largest);
  }
}

/// What the job's processes may find beside what Trainyard sets: any environment is good for that,
/// less what no daemon takes. Not the token: it is for the person, not for whatever the job runs.
/// Functions that bash exports are no variables.
std::map<std::string, std::string> environment_to_send() {
  std::map<std::string, std::string> variables;
  for (char** entry = environ; *entry != nullptr; ++entry) {
    const std::string text = *entry;
    const std::size_t sign = text.find('=');
    if (sign == std::string::npos || sign == 0) continue;
    const std::string name = text.substr(0, sign);
    if (name == "TRAINYARD_TOKEN" || name.find_first_of("%()") != std::string::npos) continue;
    if (!is_utf8(text))
      note(fmt::format("the variable {} is not UTF-8 and is left out", trainyard::quoted(name)));
    else if (!is_variable_name(name))
      note(fmt::format("the variable {} is left out: its name is not of letters, digits and _",
                       trainyard::quoted(name)));
    else
      variables[name] = text.substr(sign + 1);
  }
  shrink(variables);
  return variables;
}

/// JSON holds UTF-8 alone.
Expected<void> check_utf8(const JobSpec& spec) {
  for (std::size_t i = 0; i < spec.command.size(); ++i)
    if (!is_utf8(spec.command[i]))
      return fail("word {} of the command, {}, is not UTF-8; pass such bytes through a file", i + 1,
                  trainyard::quoted(spec.command[i]));
  for (const auto& [what, text] :
       {std::pair{"the script", &spec.script}, std::pair{"the folder", &spec.directory},
        std::pair{"--name", &spec.name}, std::pair{"--output", &spec.output},
        std::pair{"--error", &spec.error}})
    if (!is_utf8(*text)) return fail("{} is not UTF-8", what);
  return {};
}

Expected<BatchScript> parse_script(std::string_view text, const std::string& where,
                                   const std::string& name) {
  auto script = parse_batch_script(text, where);
  if (!script) return script;
  for (const std::string& warning : script->warnings) note(warning);
  if (script->spec.name.empty()) script->spec.name = name;
  return script;
}

/// `path` may be "-".
Expected<BatchScript> read_script(const std::string& path) {
  if (path == "-") {
    const auto text = read_standard_input();
    if (!text) return tl::make_unexpected(text.error());
    return parse_script(*text, "standard input", "stdin");
  }
  const auto file = MappedFile::open(path);
  if (!file)
    return fail("{}; for a command, write: trainyard submit -- COMMAND ...", file.error().message);
  return parse_script(file->text(), path, std::filesystem::path(path).filename());
}

/// Of a word that stands where the script should.
tl::unexpected<Error> unknown_option(std::string_view word) {
  const bool is_long = word.starts_with("--");
  const std::string_view name = is_long ? word.substr(0, word.find('=')) : word.substr(0, 2);
  const SbatchOption* sbatch = find_sbatch_option(name);
  std::vector<std::string_view> known{"--wait", "--json", "--state", "--server", "--export"};
  for (const JobOption& option : job_options()) known.push_back(option.name);
  if (sbatch == nullptr)
    return fail("unknown option {}{}", trainyard::quoted(word), did_you_mean(name, known));
  if (sbatch->fate == SbatchOption::Fate::taken)
    return fail(
        "{} is an option of sbatch: write it into the script, as #SBATCH {}, or say it as "
        "trainyard submit --help has it",
        name, sbatch->name);
  if (sbatch->fate == SbatchOption::Fate::ignored)
    return fail("{} does nothing here, leave it out: {}", name, sbatch->text);
  return fail("{} is not supported: {}", name, sbatch->text);
}

/// What is to run, before the command line's options.
Expected<BatchScript> what_to_run(const SubmitOptions& options) {
  if (options.words.empty() && options.command.empty()) {
    if (::isatty(STDIN_FILENO) != 0)
      return fail("there is nothing to run; give a script, or a command after --");
    return read_script("-");
  }
  if (options.words.empty()) {
    BatchScript command;
    command.spec.directory.clear();
    command.spec.command = options.command;
    command.spec.name = std::filesystem::path(options.command[0]).filename();
    return command;
  }
  const std::string& path = options.words[0];
  if (path.starts_with('-') && path != "-") return unknown_option(path);
  auto script = read_script(path);
  if (!script) return script;
  std::vector<std::string>& arguments = script->spec.command;
  arguments.assign(options.words.begin() + 1, options.words.end());
  arguments.insert(arguments.end(), options.command.begin(), options.command.end());
  return script;
}

Expected<JobSpec> make_spec(const SubmitOptions& options) {
  auto script = what_to_run(options);
  if (!script) return tl::make_unexpected(script.error());
  JobSpec* spec = &script->spec;
  std::error_code problem;
  const auto here = std::filesystem::current_path(problem);
  for (const JobOption& option : job_options()) {
    const std::string name(option.name);
    std::string value = option.is_switch() ? "" : options.given.at(name);
    if (option.is_switch() ? !options.switched.at(name) : value.empty()) continue;
    if (option.field == "directory") value = (here / value).lexically_normal();
    if (auto ok = set_job_option(*spec, option, value); !ok) return tl::make_unexpected(ok.error());
  }
  if (problem && !spec->directory.starts_with('/'))
    return fail("the present folder cannot be found: {}; give --chdir", problem.message());
  spec->directory = spec->directory.empty() ? here : (here / spec->directory).lexically_normal();
  const auto rule = options.exported.empty() ? script->exported : parse_export(options.exported);
  if (!rule) return fail_at("--export", rule.error());
  if (auto ok = set_job_field(*spec, "environment", exported(*rule, environment_to_send())); !ok)
    return tl::make_unexpected(ok.error());
  if (auto ok = check_utf8(*spec); !ok) return tl::make_unexpected(ok.error());
  // The same checks as the daemon makes, before anything is sent.
  return job_spec_from_json(to_json(*spec));
}

/// Looks whenever something happens, until `has_ended` of what it sees. A daemon that restarts
/// meanwhile is waited for.
Expected<json> wait_for_end(const ClientOptions& daemon, const std::string& path,
                            bool (*has_ended)(const json& seen)) {
  constexpr int kTries = 60;
  Error problem;
  for (int tries = 0; tries < kTries; ++tries) {
    auto client = Client::open(daemon), events = Client::open(daemon);
    if (client && events) {
      Expected<json> seen = fail("no answer");
      EventReader reader;
      const auto done = events->stream("/v1/events", [&](std::string_view part) {
        // Others' jobs have events too: only an end may be the one that is waited for.
        const auto heard = reader.take(part);
        const bool is_end = std::ranges::any_of(
            heard, [](const json& event) { return is_end_state(event.value("kind", "")); });
        if (seen && !heard.empty() && !is_end) return true;
        seen = client->get(path);
        if (seen) tries = 0;
        return seen && !has_ended(*seen);
      });
      if (seen && has_ended(*seen)) return seen;
      problem = seen ? (done ? Error{"the daemon ended the events"} : done.error()) : seen.error();
    } else {
      problem = client ? events.error() : client.error();
    }
    std::this_thread::sleep_for(std::chrono::seconds(1));
  }
  return tl::make_unexpected(problem);
}

/// Ends the program as the job ended.
Expected<void> wait(const SubmitOptions& options, const ClientOptions& daemon,
                    std::int64_t number) {
  const auto job = wait_for_end(daemon, fmt::format("/v1/jobs/{}", number), [](const json& seen) {
    return is_end_state(seen.at("state").get<std::string>());
  });
  if (!job) return tl::make_unexpected(job.error());
  const std::string state = job->at("state"), reason = job->at("reason");
  const json& status = job->at("exit_status");
  auto ok = options.json() ? print_json(*job)
                           : print(fmt::format("job {} {}{}\n", number, in_words(state),
                                               reason.empty() ? "" : ": " + reason));
  if (!ok) return ok;
  hint(options, fmt::format("trainyard logs {}", number));
  if (state == "done") return {};
  throw ExitWith{status.is_number_integer() && status != 0 ? status.get<int>() : 1};
}

/// Until all tasks have ended; ends the program with 1 unless all are done.
Expected<void> wait_for_array(const SubmitOptions& options, const ClientOptions& daemon,
                              std::int64_t number) {
  const std::string tasks = fmt::format("/v1/jobs?array={}&limit=1&state=", number);
  const auto none = wait_for_end(daemon, tasks + unfinished_state_names(","),
                                 [](const json& seen) { return seen.at("jobs").empty(); });
  if (!none) return tl::make_unexpected(none.error());
  auto client = Client::open(daemon);
  if (!client) return tl::make_unexpected(client.error());
  const auto page = client->get(tasks + "failed,cancelled");
  if (!page) return tl::make_unexpected(page.error());
  const json& lost = page->at("jobs");
  std::string text = fmt::format("array {}: all tasks are done\n", number);
  if (!lost.empty())
    text = fmt::format("array {} has ended, and not all of its tasks are done: {} {}\n", number,
                       lost[0].at("id").get<std::string>(),
                       in_words(lost[0].at("state").get<std::string>()));
  if (auto ok = options.json() ? print_json(*page) : print(text); !ok) return ok;
  hint(options, fmt::format("trainyard queue --all --array {}", number));
  if (lost.empty()) return {};
  throw ExitWith{1};
}

std::string describe(const JobSpec& spec, const json& answer) {
  const auto number = answer.at("job").get<std::int64_t>();
  std::string text = fmt::format("submitted job {}", number);
  if (answer.contains("tasks"))
    text += fmt::format(", an array of {} tasks", answer["tasks"].get<std::size_t>());
  if (spec.time.us == 0) return text + " (no time limit)";
  return text + fmt::format(" (time limit {})", format_exact(spec.time));
}

/// Tells what would be if it were submitted.
Expected<void> dry_run(const SubmitOptions& options, Client& client, const JobSpec& spec) {
  const auto answer = client.post("/v1/jobs?dry_run", to_json(spec));
  if (!answer) return tl::make_unexpected(answer.error());
  if (options.json()) return print_json(*answer);
  const std::string start = expected(answer->at("expected_start"));
  std::string text =
      start.empty() ? "would not start within two days\n" : fmt::format("would start {}\n", start);
  for (const json& change : answer->at("sooner"))
    text += fmt::format("with {}: {}\n", change.at("change").get<std::string>(),
                        expected(change.at("expected_start")));
  return print(text + "nothing was submitted\n");
}

Expected<void> submit(const SubmitOptions& options) {
  const auto spec = make_spec(options);
  if (!spec) return tl::make_unexpected(spec.error());
  auto client = Client::open(options.client);
  if (!client) return tl::make_unexpected(client.error());
  if (options.dry_run) return dry_run(options, *client, *spec);
  const auto answer = client->post("/v1/jobs", to_json(*spec));
  if (!answer) return tl::make_unexpected(answer.error());
  for (const json& warning : answer->at("warnings")) note(warning.get<std::string>());
  const std::string text = describe(*spec, *answer);
  const auto number = answer->at("job").get<std::int64_t>();
  const bool is_array = answer->contains("tasks");
  if (options.wait) {
    note(text);
    return is_array ? wait_for_array(options, client->found(), number)
                    : wait(options, client->found(), number);
  }
  if (auto ok = options.json() ? print_json(*answer) : print(text + "\n"); !ok) return ok;
  hint(options, is_array ? fmt::format("trainyard queue --array {}", number)
                         : fmt::format("trainyard logs -f {}", number));
  return {};
}

}  // namespace

void add_submit_command(Command& program) {
  const auto options = std::make_shared<SubmitOptions>();
  Command& command =
      add_daemon_command(program, "submit",
                         "Submits a script (with #SBATCH or #TRAINYARD lines; - is standard "
                         "input) and its arguments, or a command after --; "
                         "options stand before both.",
                         "trainyard submit train.sh\n"
                         "trainyard submit --gpus 2 --workers 4 --time 12h train.sh --lr 0.1\n"
                         "trainyard submit --class trial --wait -- python train.py --epochs 1\n"
                         "trainyard submit --signal USR1@90 --grace 2m --after 7 train.sh\n"
                         "trainyard submit --array 0-9%2 train.sh\n"
                         "trainyard submit < train.sh",
                         *options);
  for (const JobOption& option : job_options()) {
    const std::string name(option.name), help(option.help);
    if (option.is_switch())
      command.flag(name, &options->switched[name], help);
    else
      command.option(name, &options->given[name], help, {.type = std::string(option.type)});
  }
  command.option(
      "--export", &options->exported,
      "variables that go along: ALL, NONE, or names and NAME=VALUE with commas; else all",
      {.type = "LIST"});
  command.flag("--dry-run", &options->dry_run,
               "submit nothing: tell when it would start, and how it would be sooner");
  command.flag("--wait", &options->wait, "until it has ended, and end with its exit status");
  command.rest = {&options->words, &options->command};
  command.action = [options] { return submit(*options); };
}

}  // namespace trainyard::cli
