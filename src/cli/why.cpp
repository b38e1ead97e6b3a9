// trainyard why: what a job waits for, and what can be done about it.
#include "cli/answer_text.h"
#include "cli/client.h"
#include "cli/terminal.h"

namespace trainyard::cli {
namespace {

using nlohmann::json;

struct WhyOptions : AskOptions {
  std::string job;
};

Expected<void> why(const WhyOptions& options) {
  auto client = Client::open(options.client);
  if (!client) return tl::make_unexpected(client.error());
  const auto answer = client->get(job_path(options.job) + "/why");
  if (!answer) return tl::make_unexpected(answer.error());
  if (options.json()) return print_json(*answer);
  const std::string state = answer->at("state"), category = answer->at("category");
  std::string text = fmt::format("job {} {}", options.job, in_words(state));
  if (category.empty()) {
    const std::string size = answer->at("sentence");
    text += fmt::format(" and waits for nothing{}{}\n", size.empty() ? "" : "; it ", size);
  } else {
    text +=
        fmt::format("\n{}: {}\n", coloured(answer->at("token").get<std::string>(), Colour::bold),
                    answer->at("sentence").get<std::string>());
    if (answer->at("place") > 0)
      text += fmt::format("place in the queue: {}\n", answer->at("place").get<std::size_t>());
    if (const json& start = answer->at("expected_start"); start.is_number())
      text += fmt::format("expected start: {} ({}), if {}\n", clock(start), from_now(start),
                          answer->at("expected_if").get<std::string>());
    if (const std::string start = expected(answer->value("forecast", json())); !start.empty())
      text += fmt::format("by the forecast it starts {}\n", start);
    if (const std::string advice = answer->at("advice"); !advice.empty())
      text += fmt::format("what you can do: {}\n", advice);
  }
  if (const json& pause = answer->at("last_pause"); pause.is_object())
    text += fmt::format("paused: {}{}\n", pause_text(pause),
                        answer->at("pause_cost_s").is_number()
                            ? "; a pause of it costs about " + span(answer->at("pause_cost_s"))
                            : "");
  if (const std::string flow = answer->value("flow", ""); !flow.empty())
    text += fmt::format("its bytes: {}\n", flow);
  if (auto ok = print(text); !ok) return ok;
  hint(options, category.empty() ? fmt::format("trainyard show {}", options.job)
                                 : std::string("trainyard nodes"));
  return {};
}

}  // namespace

void add_why_command(Command& program) {
  const auto options = std::make_shared<WhyOptions>();
  Command& command = add_daemon_command(
      program, "why", "Tells why a job waits, and what would help.", "trainyard why 7", *options);
  add_job_argument(command, options->job);
  command.action = [options] { return why(*options); };
}

}  // namespace trainyard::cli
