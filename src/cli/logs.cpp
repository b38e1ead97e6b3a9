// trainyard logs: what a job wrote, and with -f what it goes on to write.
#include <unistd.h>

#include <chrono>
#include <iostream>
#include <thread>

#include "base/visible_text.h"
#include "cli/answer_text.h"
#include "cli/client.h"
#include "cli/options.h"

namespace trainyard::cli {
namespace {

using nlohmann::json;

struct LogsOptions : AskOptions {
  std::string job;
  std::uint64_t worker = 0, run = 0;
  bool follow = false, raw = false;
};

/// Output on its way to standard output. Where that is a terminal, and unless --raw is given, what
/// would control the terminal is shown instead: the output is another user's when root reads it.
class LogPrinter {
 public:
  explicit LogPrinter(bool raw) : is_shown_(!raw && ::isatty(STDOUT_FILENO) != 0) {}

  bool print(std::string_view text) {
    return cli::print(is_shown_ ? stream_.take(text) : std::string(text)).has_value();
  }
  bool finish() { return cli::print(stream_.finish()).has_value(); }

 private:
  bool is_shown_;
  VisibleStream stream_;
};

/// The output of one run to its end.
Expected<void> copy_run(Client& client, const LogsOptions& options, std::uint64_t run) {
  LogPrinter printer(options.raw);
  bool is_written = true;
  const auto done =
      client.stream(fmt::format("{}/logs?worker={}&run={}&follow={}", job_path(options.job),
                                options.worker, run, options.follow),
                    [&](std::string_view text) { return is_written = printer.print(text); });
  if (!printer.finish() || !is_written) return fail("standard output cannot be written");
  return done;
}

Expected<void> follow_all_runs(Client& client, const LogsOptions& options) {
  const std::string path = job_path(options.job);
  for (std::uint64_t run = options.run;;) {
    if (auto ok = copy_run(client, options, run); !ok) return ok;
    const auto job = client.get(path);
    if (!job) return tl::make_unexpected(job.error());
    if (options.run != 0 || is_end_state(job->at("state").get<std::string>())) return {};
    // It was paused, and runs again, or will.
    const auto runs = job->at("runs").get<std::uint64_t>();
    if (runs == run) std::this_thread::sleep_for(std::chrono::milliseconds(500));
    run = runs;
  }
}

Expected<void> print_as_json(Client& client, const LogsOptions& options) {
  std::string text;
  const auto done = client.stream(
      fmt::format("{}/logs?worker={}&run={}", job_path(options.job), options.worker, options.run),
      [&](std::string_view part) { return text += part, true; });
  if (!done) return done;
  return print_json({{"job", options.job}, {"worker", options.worker}, {"text", text}});
}

/// Which run is shown, where that may not be what was meant.
Expected<void> tell_run(Client& client, const LogsOptions& options) {
  const auto job = client.get(fmt::format("/v1/jobs/{}", options.job));
  if (!job) return tl::make_unexpected(job.error());
  const std::uint64_t runs = job->value("runs", 0);
  if (runs > 1)
    note(fmt::format("this is run {0} of job {1}; an earlier one: {3} logs {1} --run {2}", runs,
                     options.job, runs - 1, program_to_type()));
  if (runs == 0 && job->contains("runs"))
    note(fmt::format("job {} has not started yet{}", options.job,
                     options.follow ? "; its output follows when it does" : ""));
  return {};
}

/// Output seldom says why a job failed, and there may be none.
Expected<void> tell_failure(Client& client, const LogsOptions& options) {
  const auto job = client.get(job_path(options.job));
  if (!job) return tl::make_unexpected(job.error());
  if (job->at("state") == "failed")
    note(fmt::format("job {} has failed: {}", options.job, job->at("reason").get<std::string>()));
  return {};
}

Expected<void> logs(const LogsOptions& options) {
  auto client = Client::open(options.client);
  if (!client) return tl::make_unexpected(client.error());
  if (options.json()) return print_as_json(*client, options);
  if (options.run == 0)
    if (auto ok = tell_run(*client, options); !ok) return ok;
  auto done =
      options.follow ? follow_all_runs(*client, options) : copy_run(*client, options, options.run);
  if (!done) return done;
  if (auto ok = tell_failure(*client, options); !ok) return ok;
  hint(options, fmt::format("trainyard show {}", options.job));
  return {};
}

}  // namespace

void add_logs_command(Command& program) {
  const auto options = std::make_shared<LogsOptions>();
  Command& command = add_daemon_command(program, "logs", "Prints what a job wrote.",
                                        "trainyard logs 7\ntrainyard logs -f 7\ntrainyard logs 7 "
                                        "--worker 3 --run 1\ntrainyard logs 7 --raw | less -R",
                                        *options);
  add_job_argument(command, options->job);
  command.flag("--follow,-f", &options->follow, "go on until the job has ended");
  command.flag("--raw", &options->raw,
               "as it was written, also to a terminal; else a terminal is shown all but colours "
               "as \\x1b and the like");
  command.option("--worker", &options->worker, "by rank; 0 if not given",
                 {.range = Range{0, 1 << 20}});
  command.option("--run", &options->run, "1 for the first; the last if not given",
                 {.range = Range{1, 1'000'000}});
  command.action = [options] { return logs(*options); };
}

}  // namespace trainyard::cli
