// trainyard submit: gives the daemon a script or a command to run, with the environment and the
// folder it was submitted from, as sbatch does.
#include <unistd.h>

#include <chrono>
#include <filesystem>
#include <iostream>
#include <map>
#include <thread>

#include "cli/daemon.h"
#include "cli/options.h"
#include "live/batch_script.h"
#include "live/job_options.h"
#include "workload/mapped_file.h"

namespace trainyard::cli {
namespace {

using nlohmann::json;

struct SubmitOptions : AskOptions {
  std::map<std::string, std::string> given;  // options of the job, by name
  std::vector<std::string> words;            // the script and its arguments
  std::vector<std::string> command;          // what stood after --
  bool wait = false;
};

bool is_utf8(const std::string& text) {
  try {
    std::ignore = json(text).dump();
    return true;
  } catch (const json::exception&) {
    return false;
  }
}

/// What the job's processes will find beside what Trainyard sets. Not the token: it is for the
/// person, not for whatever the job runs. Functions that bash exports are no variables.
json environment_to_send() {
  json variables = json::object();
  for (char** entry = environ; *entry != nullptr; ++entry) {
    const std::string text = *entry;
    const std::size_t sign = text.find('=');
    if (sign == std::string::npos || sign == 0) continue;
    const std::string name = text.substr(0, sign);
    if (name == "TRAINYARD_TOKEN" || name.find_first_of("%()") != std::string::npos) continue;
    if (is_utf8(text))
      variables[name] = text.substr(sign + 1);
    else
      note(fmt::format("the variable {} is not UTF-8 and is left out", trainyard::quoted(name)));
  }
  return variables;
}

Expected<JobSpec> spec_of_script(const std::string& path, const std::string& name) {
  const auto file = MappedFile::open(path);
  if (!file)
    return fail("{}; for a command, write: trainyard submit -- COMMAND ...", file.error().message);
  auto script = parse_batch_script(file->text(), path);
  if (!script) return tl::make_unexpected(script.error());
  for (const std::string& warning : script->warnings) note(warning);
  if (script->spec.name.empty()) script->spec.name = name;
  return std::move(script->spec);
}

/// What is to run, before the command line's options.
Expected<JobSpec> base_spec(const SubmitOptions& options) {
  if (options.words.empty() && options.command.empty())
    return fail("what? Give a script, or a command after --");
  if (options.words.empty()) {
    JobSpec spec;
    spec.directory.clear();
    spec.command = options.command;
    spec.name = std::filesystem::path(options.command[0]).filename();
    return spec;
  }
  const std::string& path = options.words[0];
  if (path.starts_with('-')) {
    std::vector<std::string_view> known{"--wait", "--json", "--state", "--server"};
    for (const JobOption& option : job_options()) known.push_back(option.name);
    return fail("unknown option {}{}", trainyard::quoted(path), did_you_mean(path, known));
  }
  auto spec = spec_of_script(path, std::filesystem::path(path).filename());
  if (!spec) return spec;
  spec->command.assign(options.words.begin() + 1, options.words.end());
  spec->command.insert(spec->command.end(), options.command.begin(), options.command.end());
  return spec;
}

Expected<JobSpec> make_spec(const SubmitOptions& options) {
  auto spec = base_spec(options);
  if (!spec) return spec;
  std::error_code problem;
  const auto here = std::filesystem::current_path(problem);
  for (const JobOption& option : job_options()) {
    const auto given = options.given.find(std::string(option.name));
    if (given == options.given.end() || given->second.empty()) continue;
    std::string value = given->second;
    if (option.field == "directory") value = (here / value).lexically_normal();
    if (auto ok = set_job_option(*spec, option, value); !ok) return tl::make_unexpected(ok.error());
  }
  if (spec->directory.empty() && problem)
    return fail("the present folder cannot be found: {}; give --chdir", problem.message());
  if (spec->directory.empty()) spec->directory = here;
  if (auto ok = set_job_field(*spec, "environment", environment_to_send()); !ok)
    return tl::make_unexpected(ok.error());
  // The same checks as the daemon makes, before anything is sent.
  return job_spec_from_json(to_json(*spec));
}

/// Looks at the job whenever something happens to it, until it has ended. A daemon that restarts
/// meanwhile is waited for.
Expected<json> wait_for_end(const SubmitOptions& options, std::int64_t number) {
  const std::string path = fmt::format("/v1/jobs/{}", number);
  constexpr int kTries = 60;
  Error problem;
  for (int tries = 0; tries < kTries; ++tries) {
    auto client = Client::open(options.client), events = Client::open(options.client);
    if (client && events) {
      Expected<json> job = fail("no answer");
      const auto done = events->stream("/v1/events", [&](std::string_view) {
        job = client->get(path);
        if (job) tries = 0;
        return job && !is_end_state(job->at("state").get<std::string>());
      });
      if (job && is_end_state(job->at("state").get<std::string>())) return job;
      problem = job ? (done ? Error{"the daemon ended the events"} : done.error()) : job.error();
    } else {
      problem = client ? events.error() : client.error();
    }
    std::this_thread::sleep_for(std::chrono::seconds(1));
  }
  return tl::make_unexpected(problem);
}

/// Ends the program as the job ended.
Expected<void> wait(const SubmitOptions& options, std::int64_t number) {
  const auto job = wait_for_end(options, number);
  if (!job) return tl::make_unexpected(job.error());
  const std::string state = job->at("state"), reason = job->at("reason");
  const json& status = job->at("exit_status");
  auto ok = options.json ? print_json(*job)
                         : print(fmt::format("job {} is {}{}\n", number, state,
                                             reason.empty() ? "" : ": " + printable(reason)));
  if (!ok) return ok;
  hint(options, fmt::format("trainyard logs {}", number));
  if (state == "done") return {};
  throw ExitWith{status.is_number_integer() && status != 0 ? status.get<int>() : 1};
}

Expected<void> submit(const SubmitOptions& options) {
  const auto spec = make_spec(options);
  if (!spec) return tl::make_unexpected(spec.error());
  auto client = Client::open(options.client);
  if (!client) return tl::make_unexpected(client.error());
  const auto answer = client->post("/v1/jobs", to_json(*spec));
  if (!answer) return tl::make_unexpected(answer.error());
  const auto number = answer->at("job").get<std::int64_t>();
  for (const json& warning : answer->at("warnings")) note(warning.get<std::string>());
  const std::string done =
      fmt::format("submitted job {} ({})", number,
                  spec->time.us > 0 ? "time limit " + format_exact(spec->time) : "no time limit");
  if (options.wait) {
    note(done);
    return wait(options, number);
  }
  if (auto ok = options.json ? print_json(*answer) : print(done + "\n"); !ok) return ok;
  hint(options, fmt::format("trainyard logs -f {}", number));
  return {};
}

}  // namespace

void add_submit_command(Command& program) {
  const auto options = std::make_shared<SubmitOptions>();
  Command& command =
      add_daemon_command(program, "submit",
                         "Submits a script (with #SBATCH or #TRAINYARD lines) and its arguments, "
                         "or a command after --; "
                         "options stand before both.",
                         "trainyard submit train.sh\n"
                         "trainyard submit --gpus 2 --workers 4 --time 12h train.sh --lr 0.1\n"
                         "trainyard submit --class trial --wait -- python train.py --epochs 1\n"
                         "trainyard submit --signal USR1@90 --grace 2m --after 7 train.sh",
                         *options);
  for (const JobOption& option : job_options())
    command.option(option.name, &options->given[std::string(option.name)], std::string(option.help),
                   {.type = std::string(option.type)});
  command.flag("--wait", &options->wait, "until it has ended, and end with its exit status");
  command.rest = {&options->words, &options->command};
  command.action = [options] { return submit(*options); };
}

}  // namespace trainyard::cli
