#include "live/server/metrics_text.h"

#include <fmt/format.h>

namespace trainyard {
namespace {

class Text {
 public:
  void family(std::string_view name, std::string_view type, std::string_view help) {
    name_ = name;
    text_ += fmt::format("# HELP trainyard_{0} {1}\n# TYPE trainyard_{0} {2}\n", name, help, type);
  }
  void value(double number, std::string_view labels = "") {
    text_ += fmt::format("trainyard_{}{} {}\n", name_, labels, number);
  }
  void single(std::string_view name, std::string_view type, std::string_view help, double number) {
    family(name, type, help);
    value(number);
  }
  [[nodiscard]] std::string take() { return std::move(text_); }

 private:
  std::string name_, text_;
};

void add_jobs(const Counters& counters, const ClusterView& cluster, Text& text) {
  text.family("jobs_total", "counter", "What has happened to jobs since the daemon began.");
  const auto number = [](std::uint64_t n) { return static_cast<double>(n); };
  text.value(number(counters.submitted), R"({what="submitted"})");
  text.value(number(counters.started), R"({what="started"})");
  text.value(number(counters.paused), R"({what="paused"})");
  text.value(number(counters.done), R"({what="done"})");
  text.value(number(counters.failed), R"({what="failed"})");
  text.value(number(counters.cancelled), R"({what="cancelled"})");
  text.family("jobs", "gauge", "Jobs that have not ended.");
  text.value(number(cluster.queued), R"({state="queued"})");
  text.value(number(cluster.running), R"({state="running"})");
  text.single("jobs_in_memory", "gauge",
              "Jobs that the scheduler remembers, those that ended lately among them.",
              number(counters.in_memory));
}

void add_machines(const ClusterView& cluster, Text& text) {
  std::int64_t gpus = 0, free = 0, up = 0;
  for (const MachineView& machine : cluster.machines) {
    gpus += machine.capacity.gpus;
    free += machine.free.gpus;
    up += machine.state == "up" ? 1 : 0;
  }
  text.single("gpus", "gauge", "GPUs of all machines.", static_cast<double>(gpus));
  text.single("gpus_free", "gauge", "GPUs that nobody holds.", static_cast<double>(free));
  text.single("machines_up", "gauge", "Machines that take jobs.", static_cast<double>(up));
}

}  // namespace

std::string metrics_text(const Counters& counters, const ClusterView& cluster,
                         const ServerStatus& server) {
  Text text;
  add_jobs(counters, cluster, text);
  add_machines(cluster, text);
  const auto counter = [&](std::string_view name, std::string_view help, std::uint64_t value) {
    text.single(name, "counter", help, static_cast<double>(value));
  };
  counter("decisions_total", "Times the policy was asked for a plan.", counters.decisions);
  text.single("decision_seconds_total", "counter", "Time that the policy took.",
              counters.decision_seconds);
  counter("refused_plans_total", "Actions of a plan that the yard refused.",
          counters.refused_plans);
  counter("journal_commits_total", "Writes of the journal.", counters.journal_commits);
  counter("journal_failures_total", "Writes of the journal that failed.",
          counters.journal_failures);
  text.single("journal_seconds_total", "counter", "Time that the journal's writes took.",
              counters.commit_seconds);
  text.single("accepting", "gauge", "1 while jobs are accepted, 0 while nothing can be recorded.",
              counters.accepting && !counters.disk_full ? 1 : 0);
  text.single("erasing_suspended", "gauge",
              "1 while nothing is erased until an operator says `trainyard retention resume`.",
              counters.erasing_suspended ? 1 : 0);
  text.single("http_connections", "gauge", "Open connections.",
              static_cast<double>(server.connections()));
  text.family("http_answers_total", "counter", "Answers by the hundreds of their status.");
  const auto answers = server.answers();
  for (std::size_t hundreds = 2; hundreds < answers.size(); ++hundreds)
    text.value(static_cast<double>(answers[hundreds]),
               fmt::format(R"({{status="{}xx"}})", hundreds));
  return text.take();
}

}  // namespace trainyard
