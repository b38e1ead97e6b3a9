// trainyard demo: real jobs on the running daemon. Batch jobs fill the machine; trial jobs come,
// the batch jobs save, leave, and go on where they were.
#include <algorithm>
#include <chrono>
#include <map>
#include <nlohmann/json.hpp>
#include <thread>

#include "cli/answer_text.h"
#include "cli/client.h"

namespace trainyard::cli {
namespace {

using nlohmann::json;

/// Counts, half a second a step. Asked to leave, it saves where it is.
constexpr std::string_view kBatch = R"(saved="$TRAINYARD_CHECKPOINT_DIR/step"
step=$(cat "$saved" 2>/dev/null || echo 0)
[ "$step" = 0 ] || echo "goes on after step $step"
leave() { echo "$step" > "$saved"; echo "saved after step $step"; exit 143; }
trap leave TERM
while [ "$step" -lt 50 ]; do
  sleep 0.5
  step=$((step + 1))
  echo "{\"step\": $step, \"total\": 50}" > "$TRAINYARD_REPORT.new" && mv "$TRAINYARD_REPORT.new" "$TRAINYARD_REPORT"
done
echo "all 50 steps are done")";
constexpr std::string_view kTrial = "sleep 2; echo 'tried'";

constexpr std::int64_t kMostBatchJobs = 4;
constexpr int kTrialJobs = 3;
constexpr std::chrono::seconds kLeftAlone{10};  // serve's yard.min_run

struct Watched {
  std::string what;  // "batch job 3"
  double submitted_s = 0;
};

class Demo {
 public:
  /// One to ask with while the other listens.
  Demo(Client client, Client listener)
      : client_(std::move(client)), listener_(std::move(listener)) {}

  Expected<void> run(std::int64_t gpus) {
    begin_ = std::chrono::steady_clock::now();
    gpus_ = gpus;
    return listener_.stream("/v1/events", [&](std::string_view part) { return take(part); })
        .and_then([&] { return problem_.message.empty() ? Expected<void>() : failed(); });
  }

 private:
  Expected<void> failed() const { return fail("{}", problem_.message); }

  [[nodiscard]] double elapsed() const {
    return std::chrono::duration<double>(std::chrono::steady_clock::now() - begin_).count();
  }

  void say(const std::string& text) {
    (void)print(fmt::format("{:6.1f} s  {}\n", elapsed(), text));
  }

  Expected<void> submit(const std::string& job_class, std::int64_t gpus, std::string_view script) {
    const json spec{{"name", "demo-" + job_class},
                    {"class", job_class},
                    {"gpus", gpus},
                    {"time", job_class == "trial" ? "1m" : "1h"},
                    {"command", {"/bin/sh", "-c", script}},
                    {"environment", {{"PATH", "/usr/local/bin:/usr/bin:/bin"}}},
                    {"directory", "/"},
                    {"grace", "10s"}};
    const auto done = client_.post("/v1/jobs", spec);
    if (!done) return tl::make_unexpected(done.error());
    const auto number = done->at("job").get<std::int64_t>();
    open_[number] = {fmt::format("{} job {}", job_class, number), elapsed()};
    say(fmt::format("{} is submitted: {} GPU{}", open_[number].what, gpus, gpus == 1 ? "" : "s"));
    if (job_class == "batch") batch_.push_back(number);
    return {};
  }

  /// Events come as text in parts. False ends the stream.
  bool take(std::string_view part) {
    if (batch_.empty()) submit_batch();  // now that nothing of it can be missed
    for (const json& event : reader_.take(part))
      if (event.contains("job")) hear(event);
    if (!trials_came_ && ready_for_trials()) submit_trials();
    return problem_.message.empty() && !open_.empty();
  }

  void submit_batch() {
    const std::int64_t jobs = std::min(kMostBatchJobs, gpus_);
    for (std::int64_t i = 0; i < jobs && problem_.message.empty(); ++i)
      if (auto ok = submit("batch", gpus_ / jobs + (i < gpus_ % jobs ? 1 : 0), kBatch); !ok)
        problem_ = ok.error();
  }

  [[nodiscard]] bool ready_for_trials() const {
    return !batch_.empty() && running_batch_ == static_cast<std::int64_t>(batch_.size());
  }

  void submit_trials() {
    trials_came_ = true;
    say("the machine is full; jobs that have just started are left alone for a while");
    std::this_thread::sleep_for(kLeftAlone);
    say("three people come with something to try");
    for (int i = 0; i < kTrialJobs; ++i)
      if (auto ok = submit("trial", 1, kTrial); !ok) problem_ = ok.error();
  }

  void hear(const json& event) {
    const auto found = open_.find(event.at("job").get<std::int64_t>());
    if (found == open_.end()) return;
    const std::string kind = event.at("kind");
    const Watched& job = found->second;
    const bool is_batch = job.what.starts_with("batch");
    const json& details = event.at("details");
    if (kind == "running") {
      if (is_batch) ++running_batch_;
      const bool again = details.value("run", 1) > 1;
      say(fmt::format("{} {}", job.what,
                      again      ? "is back"
                      : is_batch ? "runs"
                                 : fmt::format("runs, {:.1f} s after it was submitted",
                                               elapsed() - job.submitted_s)));
    } else if (kind == "pausing") {
      say(job.what + " is asked to save and leave");
    } else if (kind == "paused") {
      --running_batch_;
      say(job.what + " has left");
    } else if (kind == "done" || kind == "failed" || kind == "cancelled") {
      say(fmt::format("{} {}", job.what, in_words(kind)));
      open_.erase(found);
    }
  }

  Client client_, listener_;
  std::chrono::steady_clock::time_point begin_;
  std::map<std::int64_t, Watched> open_;
  std::vector<std::int64_t> batch_;
  std::int64_t gpus_ = 0, running_batch_ = 0;
  bool trials_came_ = false;
  EventReader reader_;
  Error problem_;
};

Expected<void> demo(const AskOptions& options) {
  auto client = Client::open(options.client);
  if (!client) return tl::make_unexpected(client.error());
  const auto cluster = client->get("/v1/cluster");
  if (!cluster) return tl::make_unexpected(cluster.error());
  const json& machine = cluster->at("machines").at(0);
  if (cluster->at("running").get<std::size_t>() > 0)
    return fail("jobs are running; the demo wants the machine to itself (see {} queue)",
                program_to_type());
  if (auto ok = print(
          fmt::format("This takes about half a minute, with real processes; {} watch shows the "
                      "same in another terminal.\n\n",
                      program_to_type()));
      !ok)
    return ok;
  auto listener = Client::open(client->found());
  if (!listener) return tl::make_unexpected(listener.error());
  const std::int64_t gpus = machine.at("capacity").at("gpus");
  if (auto ok = Demo(std::move(*client), std::move(*listener)).run(gpus); !ok) return ok;
  hint(options, "trainyard queue --all");
  return {};
}

}  // namespace

void add_demo_command(Command& program) {
  const auto options = std::make_shared<AskOptions>();
  Command& command = add_daemon_command(
      program, "demo", "Shows trial jobs overtake batch jobs, which save, leave and come back.",
      "trainyard serve &\ntrainyard demo", *options);
  command.action = [options] { return demo(*options); };
}

}  // namespace trainyard::cli
