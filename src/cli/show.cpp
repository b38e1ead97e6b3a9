// trainyard show: all that is known of a job.
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>

#include "base/text_plot.h"
#include "cli/answer_text.h"
#include "cli/client.h"
#include "cli/terminal.h"
#include "live/job/reported_curve.h"

namespace trainyard::cli {
namespace {

using nlohmann::json;

struct ShowOptions : AskOptions {
  std::string job;
};

std::string progress_of(const json& progress) {
  std::string text = fmt::format("step {}", progress.at("step").get<std::int64_t>());
  if (progress.contains("total"))
    text += fmt::format(" of {}", progress["total"].get<std::int64_t>());
  for (const char* figure : {"loss", "accuracy", "save_s", "load_s"})
    if (progress.contains(figure))
      text += fmt::format(", {} {:g}", figure, progress[figure].get<double>());
  return text;
}

ReportedCurve curve_of(const json& job) {
  std::vector<ReportedCurve::Point> points;
  const auto maybe = [](const json& v) {
    return v.is_null() ? std::optional<double>() : v.get<double>();
  };
  for (const json& p : job.value("curve", json::array()))
    points.push_back({p.at("step"), {}, maybe(p.at("loss")), maybe(p.at("accuracy"))});
  return {std::move(points), 1};
}

/// What a fit knows as the part of the first loss that is gone, as a loss.
double as_loss(double gone, double first) {
  return first * (1 - gone);
}

std::optional<double> first_loss(const ReportedCurve& curve) {
  for (const ReportedCurve::Point& point : curve.points())
    if (point.loss) return point.loss;
  return {};
}

/// A job that tells no accuracy is fitted by its loss.
bool tells_accuracy(const ReportedCurve& curve) {
  return std::ranges::any_of(curve.points(),
                             [](const auto& point) { return point.accuracy.has_value(); });
}

std::string learning_of(const json& fit, const ReportedCurve& curve) {
  if (const auto first = first_loss(curve); first && !tells_accuracy(curve))
    return fmt::format("loss {:.3g}; its curve tends to {:.3g}",
                       as_loss(fit.at("accuracy"), *first), as_loss(fit.at("limit"), *first));
  std::string text = fmt::format("accuracy {:.3g}", fit.at("accuracy").get<double>());
  if (!fit.at("reached").is_null())
    text += fmt::format(", {:.0f}% of the {:.3g} that its curve tends to",
                        100 * fit.at("reached").get<double>(), fit.at("limit").get<double>());
  return text;
}

/// What the job told, and the curve that fits it; nothing where there is no curve yet.
std::string drawn_curve(const json& job) {
  constexpr std::size_t kColumns = 64, kRows = 12;
  const json fit = job.value("curve_fit", json());
  if (!fit.is_object()) return {};
  const Hyperbola curve{fit.at("limit"), fit.at("slope"), fit.at("offset")};
  const ReportedCurve reported = curve_of(job);
  const auto first_of_all = first_loss(reported);
  const bool is_loss = first_of_all && !tells_accuracy(reported);
  const auto drawn = [&](double y) { return is_loss ? as_loss(y, *first_of_all) : y; };
  PlotSeries told{.mark = 'o'}, fitted{.mark = '.'};
  for (const LearningPoint& point : learning_points(reported))
    told.points.push_back({point.step, drawn(point.accuracy)});
  if (told.points.empty()) return {};
  const double first = told.points.front().x, last = told.points.back().x;
  for (std::size_t i = 0; i < kColumns; ++i) {
    const double step = first + (last - first) * static_cast<double>(i) / (kColumns - 1);
    fitted.points.push_back({step, drawn(curve.at(step))});
  }
  return fmt::format("\n{} by step: o as it was told, . the curve that fits it\n{}",
                     is_loss ? "loss" : "accuracy",
                     plot(std::vector{fitted, told}, kColumns, kRows));
}

std::string counted(int number, const char* what) {
  return fmt::format("{} {}{}", number, what, number == 1 ? "" : "s");
}

std::string needs(const json& job) {
  const json& each = job.at("per_worker");
  std::string text = fmt::format("{}{} of {}", counted(job.at("workers").get<int>(), "worker"),
                                 size_range(job), counted(each.at("gpus").get<int>(), "GPU"));
  if (const std::string kind = job.value("gpu_kind", "any"); kind != "any")
    text += fmt::format(" of kind {}", kind);
  if (each.at("cpus") > 0) text += fmt::format(", {:g} CPUs", each.at("cpus").get<double>());
  if (each.at("memory_mib") > 0)
    text += fmt::format(", {} MiB", each.at("memory_mib").get<std::int64_t>());
  return text;
}

std::string state_of(const json& job) {
  const std::string state = job.at("state");
  std::string text = coloured_state(state_in_queue(job));
  if (job.value("loading", false)) text += ", loading";
  if (job.value("stopping", false) && !is_end_state(state)) text += ", being ended";
  if (const std::string reason = job.value("reason", ""); !reason.empty())
    text += " (" + reason + ")";
  if (const std::string waits = job.at("waits_by"); !waits.empty()) text += " (" + waits + ")";
  return text + ", since " + ago(job.at("since"));
}

/// To the second, or to a tenth of one.
std::string about(const json& seconds) {
  const double s = seconds.get<double>();
  return s < 10 ? fmt::format("{:.1f} s", s) : span(std::round(s));
}

/// What is shown only of one's own jobs, and to operators.
template <class Add>
void add_private(const json& job, const Add& add) {
  if (const std::string kind = job.value("measured_on", ""); !kind.empty())
    add("measured on", kind);
  add("grace", span(job.at("grace_s")));
  add("signal", job.at("signal").get<std::string>());
  if (job.at("pauses") > 0)
    add("paused",
        counted(job.at("pauses").get<int>(), "time") +
            (job.at("last_pause").is_object() ? ", last " + pause_text(job["last_pause"])
                                              : ", the last took " + span(job.at("pause_took_s"))));
  if (job.at("pause_cost_s").is_number())
    add("a pause costs", fmt::format("about {} (of which {} to load)", about(job["pause_cost_s"]),
                                     about(job.at("load_s"))));
  else if (job.at("load_s").is_number())
    add("a start takes", fmt::format("about {} to load", about(job["load_s"])));
  if (job.at("lost_s") > 0)
    add("lost", span(job["lost_s"]) +
                    " on GPUs without lasting progress: loading, saving, and "
                    "work that was not kept");
  if (!job.at("after").empty())
    add("after",
        fmt::format("{}", fmt::join(job.at("after").get<std::vector<std::int64_t>>(), ", ")));
  if (job.contains("command"))
    add(job.contains("script") ? "arguments" : "command",
        fmt::format("{}", fmt::join(job["command"].get<std::vector<std::string>>(), " ")));
  add("directory", job.value("directory", ""));
  add("output", job.value("output", ""));
  add("error", job.value("error", ""));
}

/// In the queue, up to now. A job that is held for another is not in the queue yet, a task that is
/// held for its array is.
std::string waited(const json& job) {
  const std::string state = job.at("state");
  const bool waits = state == "queued" || state == "reserved";
  const bool is_tasks =
      state == "held" && !job.at("array").is_null() && job.value("after", json::array()).empty();
  return span(job.at("waited_s").get<double>() + (waits || is_tasks ? age(job) : 0));
}

std::string describe(const json& job) {
  std::vector<std::vector<std::string>> rows;
  const auto add = [&](const char* what, const std::string& value) {
    if (!value.empty() && value != "-") rows.push_back({what, value});
  };
  std::string id = job.at("id");
  if (!job.at("array").is_null())
    id += fmt::format(", job {} of array {}", job.at("job").get<std::int64_t>(),
                      job.at("array").get<std::int64_t>());
  add("job", fmt::format("{} ({})", id, job.at("name").get<std::string>()));
  add("user", job.at("user"));
  rows.push_back({"state", state_of(job)});
  add("class", job.at("class"));
  add("needs", needs(job));
  if (job.at("state") != "reserved") add("runs on", places(job));
  if (job.contains("flow_class") && job["flow_class"].is_number())
    add("flow class", fmt::format("{}{}", job["flow_class"].get<int>(),
                                  job["flow_class"] == 0 ? ", its bytes go first" : ""));
  if (job.contains("progress") && job["progress"].is_object())
    add("progress", progress_of(job["progress"]));
  if (job.contains("curve_fit") && job["curve_fit"].is_object())
    add("learning", learning_of(job["curve_fit"], curve_of(job)));
  add("submitted", ago(job.at("submitted")));
  add("starts", expected(job.value("expected_start", json())));
  add("started", ago(job.at("started")));
  add("ended", ago(job.at("ended")));
  add("waited", waited(job));
  if (job.at("time_s") > 0) add("time limit", span(job.at("time_s")));
  if (job.contains("grace_s")) add_private(job, add);
  return table(rows);
}

Expected<void> show(const ShowOptions& options) {
  auto client = Client::open(options.client);
  if (!client) return tl::make_unexpected(client.error());
  const auto job = client->get(job_path(options.job));
  if (!job) return tl::make_unexpected(job.error());
  if (options.json()) return print_json(*job);
  if (auto ok = print(describe(*job) + drawn_curve(*job)); !ok) return ok;
  const std::string state = job->at("state");
  const bool waits = state == "queued" || state == "held";
  hint(options, fmt::format("trainyard {} {}",
                            waits                 ? "why"
                            : is_end_state(state) ? "logs"
                                                  : "logs -f",
                            options.job));
  return {};
}

}  // namespace

void add_show_command(Command& program) {
  const auto options = std::make_shared<ShowOptions>();
  Command& command = add_daemon_command(program, "show", "Shows all that is known of a job.",
                                        "trainyard show 7\ntrainyard show 7 --json", *options);
  add_job_argument(command, options->job);
  command.action = [options] { return show(*options); };
}

}  // namespace trainyard::cli
