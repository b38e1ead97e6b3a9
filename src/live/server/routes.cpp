#include "live/server/routes.h"

#include <algorithm>

#include "live/book/job_words.h"
#include "live/server/answers.h"

namespace trainyard {
namespace {

using In = RouteParameter::In;

const RouteParameter kJob{"job", In::path, "string",
                          "the job's number, or a task of an array: 12_3"};
const RouteParameter kMachine{"machine", In::path, "string", "the machine's name"};

constexpr std::string_view kJson = "application/json";
constexpr std::size_t kLongList = std::size_t{2} << 20;

std::vector<Route> job_routes() {
  const std::string_view text = "text/plain; charset=utf-8";
  return {
      {"POST",
       "/v1/jobs",
       Role::user,
       "Submits a job",
       {{"dry_run", In::query, "boolean",
         "submits nothing: tells when it would start, and how it would be sooner"}},
       "JobSpec",
       kJson,
       answer_submit},
      {"GET",
       "/v1/jobs",
       Role::viewer,
       "Lists jobs, newest first",
       {{"user", In::query, "string", "only this user's"},
        {"name", In::query, "string", "only of this name"},
        {"state", In::query, "string",
         "only in these states, with commas between: " + state_names(", ")},
        {"class", In::query, "string", "only trial or batch jobs"},
        {"array", In::query, "integer", "only tasks of this array"},
        {"fold", In::query, "boolean", "tasks of an array that wait in the same state as one"},
        {"before", In::query, "integer", "only smaller numbers: for the next page"},
        {"limit", In::query, "integer", "so many at most, 1 to 1000; 100 if not given"}},
       "",
       kJson,
       answer_jobs,
       kLongList},
      {"GET", "/v1/jobs/{job}", Role::viewer, "One job", {kJob}, "", kJson, answer_job},
      {"DELETE",
       "/v1/jobs/{job}",
       Role::user,
       "Cancels a job, an array, or tasks of it",
       {{"job", In::path, "string", "a number, 12_3, or 12_[3-5]; an array's means all of it"}},
       "",
       kJson,
       answer_cancel,
       kSmallAnswer,
       true},
      {"GET",
       "/v1/jobs/{job}/logs",
       Role::user,
       "What a worker of the job wrote",
       {kJob,
        {"worker", In::query, "integer", "by rank; 0 if not given"},
        {"run", In::query, "integer", "1 for the first run; the last if not given"},
        {"offset", In::query, "integer", "from this byte on"},
        {"follow", In::query, "boolean", "go on as long as the run lasts"}},
       "",
       text,
       answer_logs},
      {"GET",
       "/v1/jobs/{job}/why",
       Role::viewer,
       "Why a job waits, what would help, and when it may start where that can be told",
       {kJob},
       "",
       kJson,
       answer_why},
      {"GET",
       "/v1/forecast",
       Role::viewer,
       "When jobs are expected to start and end, and how good such forecasts were",
       {{"job", In::query, "string", "only this job, or task of an array"}},
       "",
       kJson,
       answer_forecast,
       kLongList},
      {"POST",
       "/v1/forecast",
       Role::user,
       "A forecast with a job more, machines less, or another policy",
       {},
       "Supposition",
       kJson,
       answer_supposed,
       kLongList},
      {"GET",
       "/v1/jobs/{job}/events",
       Role::viewer,
       "What happened to the job, the last 1,000 events",
       {kJob},
       "",
       kJson,
       answer_events_of,
       kLongList},
  };
}

std::vector<Route> cluster_routes() {
  return {
      {"GET",
       "/v1/cluster",
       Role::viewer,
       "Machines, and who holds their GPUs",
       {},
       "",
       kJson,
       answer_cluster},
      {"POST",
       "/v1/machines/{machine}/close",
       Role::operator_,
       "Starts nothing new on a machine",
       {kMachine},
       "",
       kJson,
       answer_close},
      {"POST",
       "/v1/machines/{machine}/open",
       Role::operator_,
       "Uses a machine again",
       {kMachine},
       "",
       kJson,
       answer_open},
      {"GET", "/v1/policy", Role::viewer, "The policy that decides", {}, "", kJson, answer_policy},
      {"PUT",
       "/v1/policy",
       Role::operator_,
       "Sets the policy",
       {},
       "Policy",
       kJson,
       answer_set_policy},
      {"GET",
       "/v1/retention",
       Role::operator_,
       "What ended jobs have left behind, how long it is kept, and whether erasing is suspended",
       {},
       "",
       kJson,
       answer_retention},
      {"POST",
       "/v1/retention/resume",
       Role::operator_,
       "Lets erasing go on after the clock has jumped",
       {},
       "",
       kJson,
       answer_resume_erasing},
      {"GET",
       "/v1/history",
       Role::viewer,
       "Ended jobs as a workload, for the simulator",
       {},
       "",
       "text/csv; charset=utf-8",
       answer_history,
       kLongList},
  };
}

/// For those who watch the daemon.
std::vector<Route> watching_routes() {
  return {
      {"GET",
       "/v1/events",
       Role::viewer,
       "What happens, as server-sent events",
       {{"Last-Event-ID", In::header, "integer", "go on after this one; new ones if not given"}},
       "",
       "text/event-stream",
       answer_events},
      {"GET",
       "/v1/flows",
       Role::agent,
       "Which jobs of a machine send in which flow class: for its agent, and operators",
       {{"machine", In::query, "string", "the machine's name"},
        {"follow", In::query, "boolean",
         "go on: the whole state as a line, whenever it changes and every 10 s; an agent is there "
         "as long as it follows"}},
       "",
       "application/x-ndjson",
       answer_flows},
      {"GET",
       "/metrics",
       Role::viewer,
       "Counters for Prometheus",
       {},
       "",
       "text/plain; version=0.0.4",
       answer_metrics},
      {"GET",
       "/healthz",
       std::nullopt,
       "Whether the daemon accepts jobs",
       {},
       "",
       kJson,
       answer_health},
      {"GET", "/v1/openapi.json", std::nullopt, "This description", {}, "", kJson, answer_openapi},
  };
}

std::vector<std::string_view> parts_of(std::string_view path) {
  std::vector<std::string_view> parts;
  while (!path.empty()) {
    path.remove_prefix(1);  // the slash
    const std::size_t end = std::min(path.find('/'), path.size());
    parts.push_back(path.substr(0, end));
    path.remove_prefix(end);
  }
  return parts;
}

/// Whether the path is the route's; then `words` are what stands for its {...}.
bool matches(std::string_view pattern, const std::vector<std::string_view>& parts,
             std::vector<std::string>& words) {
  words.clear();
  const auto wanted = parts_of(pattern);
  if (wanted.size() != parts.size()) return false;
  for (std::size_t i = 0; i < parts.size(); ++i) {
    if (wanted[i].starts_with('{') && !parts[i].empty())
      words.emplace_back(parts[i]);
    else if (wanted[i] != parts[i])
      return false;
  }
  return true;
}

}  // namespace

std::span<const Route> routes() {
  static const std::vector<Route> all = [] {
    std::vector<Route> routes = job_routes();
    for (const auto& more : {cluster_routes(), watching_routes()})
      routes.insert(routes.end(), more.begin(), more.end());
    return routes;
  }();
  return all;
}

RouteMatch match_route(std::string_view method, std::string_view path) {
  RouteMatch found;
  if (!path.starts_with('/')) return found;
  const auto parts = parts_of(path);
  for (const Route& route : routes()) {
    std::vector<std::string> words;
    if (!matches(route.path, parts, words)) continue;
    if (route.method == (method == "HEAD" ? "GET" : method)) return {&route, std::move(words), ""};
    found.allowed += (found.allowed.empty() ? "" : ", ") + std::string(route.method);
  }
  return found;
}

Expected<void> check_query(const Route& route,
                           const std::multimap<std::string, std::string>& query) {
  std::vector<std::string_view> known;
  for (const RouteParameter& parameter : route.parameters)
    if (parameter.in == In::query) known.push_back(parameter.name);
  for (const auto& [name, value] : query) {
    if (std::ranges::find(known, name) == known.end())
      return fail("unknown parameter {}{}", trainyard::quoted(name), did_you_mean(name, known));
    if (query.count(name) > 1) return fail("{}: is given more than once", name);
    if (value.find('\0') != std::string::npos) return fail("{}: has a NUL byte", name);
  }
  return {};
}

}  // namespace trainyard
