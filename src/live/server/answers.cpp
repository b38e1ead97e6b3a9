#include "live/server/answers.h"

#include <limits>
#include <nlohmann/json.hpp>

#include "live/server/json.h"
#include "live/server/metrics_text.h"
#include "live/server/openapi.h"
#include "live/server/query.h"

namespace trainyard {
namespace {

using nlohmann::json;

Reply as_json(const json& value, int status = 200) {
  return {.status = status, .body = dump(value) + "\n"};
}

Reply invalid(const Error& error) {
  return error_reply(400, "invalid", error.message);
}

Reply done_reply(const Answer<void>& done) {
  return done ? as_json({{"done", true}}) : refusal_reply(done.error());
}

template <class T>
Reply json_reply(const Answer<T>& answer, int status = 200) {
  return answer ? as_json(to_json(*answer), status) : refusal_reply(answer.error());
}

Expected<JobNumber> job_of(const Call& call) {
  auto job = parse_digits(call.words.at(0), 1, std::numeric_limits<JobNumber>::max());
  if (!job) return fail_at("job", job.error());
  return job;
}

std::vector<std::string> machine_names(const Call& call) {
  std::vector<std::string> names;
  if (const auto cluster = call.service.cluster(call.who))
    for (const MachineView& machine : cluster->machines) names.push_back(machine.name);
  return names;
}

}  // namespace

Reply error_reply(int status, std::string_view kind, std::string_view message) {
  return as_json({{"error", {{"kind", kind}, {"message", message}}}}, status);
}

Reply refusal_reply(const Refusal& refusal) {
  switch (refusal.kind) {
    case Refusal::Kind::invalid:
      return error_reply(400, "invalid", refusal.message);
    case Refusal::Kind::forbidden:
      return error_reply(403, "forbidden", refusal.message);
    case Refusal::Kind::not_found:
      return error_reply(404, "not_found", refusal.message);
    case Refusal::Kind::conflict:
      return error_reply(409, "conflict", refusal.message);
    case Refusal::Kind::unavailable:
      return error_reply(503, "unavailable", refusal.message);
  }
  return error_reply(500, "internal", "the request could not be handled");
}

Reply answer_submit(const Call& call) {
  auto spec = parse_job_spec(call.body);
  if (!spec) return invalid(spec.error());
  return json_reply(call.service.submit(call.who, *std::move(spec)), 201);
}

Reply answer_jobs(const Call& call) {
  const auto filter = job_filter(call.query);
  if (!filter) return invalid(filter.error());
  const auto page = call.service.jobs(call.who, *filter);
  if (!page) return refusal_reply(page.error());
  const auto names = machine_names(call);
  json jobs = json::array();
  for (const JobRecord& job : page->jobs) {
    jobs.push_back(to_json(job, names));
    for (const char* large : {"script", "curve"}) jobs.back().erase(large);
  }
  return as_json({{"jobs", std::move(jobs)}, {"more", page->more}});
}

Reply answer_job(const Call& call) {
  const auto number = job_of(call);
  if (!number) return invalid(number.error());
  const auto job = call.service.job(call.who, *number);
  return job ? as_json(to_json(*job, machine_names(call))) : refusal_reply(job.error());
}

Reply answer_cancel(const Call& call) {
  const auto number = job_of(call);
  if (!number) return invalid(number.error());
  return done_reply(call.service.cancel(call.who, *number));
}

Reply answer_why(const Call& call) {
  const auto number = job_of(call);
  if (!number) return invalid(number.error());
  return json_reply(call.service.why(call.who, *number));
}

Reply answer_cluster(const Call& call) {
  return json_reply(call.service.cluster(call.who));
}

Reply answer_drain(const Call& call) {
  return done_reply(call.service.drain(call.who, call.words.at(0)));
}

Reply answer_resume(const Call& call) {
  return done_reply(call.service.resume(call.who, call.words.at(0)));
}

Reply answer_policy(const Call& call) {
  return json_reply(call.service.policy(call.who));
}

Reply answer_set_policy(const Call& call) {
  const auto policy = policy_from_json(call.body);
  if (!policy) return invalid(policy.error());
  return done_reply(call.service.set_policy(call.who, *policy));
}

Reply answer_history(const Call& call) {
  auto history = call.service.history(call.who);
  if (!history) return refusal_reply(history.error());
  return {.body = *std::move(history)};
}

Reply answer_metrics(const Call& call) {
  const auto cluster = call.service.cluster(call.who);
  if (!cluster) return refusal_reply(cluster.error());
  return {.body = metrics_text(call.service.counters(), *cluster, call.server)};
}

Reply answer_health(const Call& call) {
  const bool accepting = call.service.counters().accepting;
  return as_json({{"accepting", accepting}}, accepting ? 200 : 503);
}

Reply answer_openapi(const Call& /*call*/) {
  return as_json(openapi_document());
}

}  // namespace trainyard
