#include "live/server/answers.h"

#include <fmt/ranges.h>

#include <nlohmann/json.hpp>

#include "live/server/dry_run.h"
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

Answer<std::vector<JobNumber>> jobs_of(const Call& call) {
  const auto name = parse_job_name(call.words.at(0));
  if (!name)
    return tl::make_unexpected(Refusal{Refusal::Kind::invalid, "job: " + name.error().message});
  return call.service.find(call.who, *name);
}

std::vector<MachineView> machines_of(const Call& call) {
  auto cluster = call.service.cluster(call.who);
  return cluster ? std::move(cluster->machines) : std::vector<MachineView>();
}

}  // namespace

Answer<JobNumber> job_of(const Call& call) {
  const auto jobs = jobs_of(call);
  if (!jobs) return tl::make_unexpected(jobs.error());
  if (jobs->size() == 1) return jobs->front();
  const std::string& name = call.words.at(0);
  const std::string array = name.substr(0, name.find('_'));
  return tl::make_unexpected(Refusal{
      Refusal::Kind::invalid,
      fmt::format(
          "{} are {} tasks of an array: name one of them, as in {}_3; trainyard queue --all "
          "--array {} lists them",
          name, jobs->size(), array, array)});
}

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

namespace {

/// When the job would start, and how it would be sooner.
Reply answer_dry_run(const Call& call, const JobSpec& spec) {
  const auto answer = dry_run(call.service, call.who, spec);
  return answer ? as_json(*answer) : refusal_reply(answer.error());
}

}  // namespace

Reply answer_submit(const Call& call) {
  auto spec = parse_submission(call.body);
  if (!spec) return invalid(spec.error());
  const auto is_dry = switch_parameter(call.query, "dry_run");
  if (!is_dry) return invalid(is_dry.error());
  if (*is_dry) return answer_dry_run(call, *spec);
  const auto submitted = call.service.submit(call.who, *std::move(spec));
  Reply reply = json_reply(submitted, 201);
  if (!submitted) return reply;
  reply.object = fmt::format("job {}", submitted->number);
  if (submitted->tasks > 0) reply.further_jobs = submitted->tasks - 1;
  return reply;
}

Reply answer_jobs(const Call& call) {
  const auto filter = job_filter(call.query);
  if (!filter) return invalid(filter.error());
  const auto page = call.service.jobs(call.who, *filter);
  if (!page) return refusal_reply(page.error());
  const auto machines = machines_of(call);
  // A job at a time: as JSON in memory the whole page would take several times its text.
  std::string text;
  for (const JobRecord& job : page->jobs) {
    json value = to_json(job, machines);
    for (const char* large : {"script", "curve"}) value.erase(large);
    if (const auto tasks = page->folded.find(job.number); tasks != page->folded.end())
      add_folded(job.task, tasks->second, value);
    text += (text.empty() ? "" : ",") + dump(value);
  }
  return {.body = fmt::format("{{\"jobs\":[{}],\"more\":{}}}\n", text, page->more)};
}

Reply answer_job(const Call& call) {
  const auto number = job_of(call);
  if (!number) return refusal_reply(number.error());
  const auto job = call.service.job(call.who, *number);
  if (!job) return refusal_reply(job.error());
  json value = to_json(*job, machines_of(call));
  if (!job->in_part) value["curve_fit"] = curve_fit_to_json(job->curve);
  return as_json(value);
}

Reply answer_cancel(const Call& call) {
  const auto jobs = jobs_of(call);
  if (!jobs) return refusal_reply(jobs.error());
  Reply reply = done_reply(call.service.cancel(call.who, *jobs));
  if (!jobs->empty()) reply.further_jobs = jobs->size() - 1;
  return reply;
}

Reply answer_why(const Call& call) {
  const auto number = job_of(call);
  if (!number) return refusal_reply(number.error());
  return json_reply(call.service.why(call.who, *number));
}

/// Of one job, which may be a task of an array.
Reply answer_forecast(const Call& call) {
  std::optional<JobNumber> job;
  if (const auto asked = call.query.find("job"); asked != call.query.end()) {
    const auto name = parse_job_name(asked->second);
    if (!name) return invalid(Error{"job: " + name.error().message});
    const auto found = call.service.find(call.who, *name);
    if (!found) return refusal_reply(found.error());
    if (found->size() != 1) return invalid(Error{"job: name one task of the array, as in 12_3"});
    job = found->front();
  }
  return json_reply(call.service.forecast(call.who, job));
}

Reply answer_supposed(const Call& call) {
  auto question = question_from_json(call.body);
  if (!question) return invalid(question.error());
  return json_reply(call.service.what_if(call.who, *std::move(question)));
}

Reply answer_events_of(const Call& call) {
  const auto number = job_of(call);
  if (!number) return refusal_reply(number.error());
  const auto events = call.service.events_of(call.who, *number);
  if (!events) return refusal_reply(events.error());
  json list = json::array();
  for (const LiveEvent& event : *events) list.push_back(to_json(event));
  return as_json({{"events", std::move(list)}});
}

Reply answer_cluster(const Call& call) {
  return json_reply(call.service.cluster(call.who));
}

Reply answer_close(const Call& call) {
  return done_reply(call.service.close_machine(call.who, call.words.at(0)));
}

Reply answer_open(const Call& call) {
  return done_reply(call.service.open_machine(call.who, call.words.at(0)));
}

Reply answer_policy(const Call& call) {
  return json_reply(call.service.policy(call.who));
}

Reply answer_set_policy(const Call& call) {
  const auto policy = policy_from_json(call.body);
  if (!policy) return invalid(policy.error());
  Reply reply = done_reply(call.service.set_policy(call.who, *policy));
  reply.object = fmt::format("policy {} {}", policy->policy, fmt::join(policy->settings, " "));
  return reply;
}

Reply answer_retention(const Call& call) {
  return json_reply(call.service.retention(call.who));
}

Reply answer_resume_erasing(const Call& call) {
  return done_reply(call.service.resume_erasing(call.who));
}

Reply answer_metrics(const Call& call) {
  if (!call.service.may_count(call.who))
    return error_reply(403, "forbidden",
                       "jobs are private here: this is for viewers and operators");
  const auto cluster = call.service.cluster(call.who);
  if (!cluster) return refusal_reply(cluster.error());
  return {.body = metrics_text(call.service.counters(), *cluster, call.server)};
}

Reply answer_health(const Call& call) {
  const Counters counters = call.service.counters();
  const bool accepting = counters.accepting && !counters.disk_full;
  return as_json({{"accepting", accepting}}, accepting ? 200 : 503);
}

Reply answer_openapi(const Call& /*call*/) {
  return as_json(openapi_document());
}

}  // namespace trainyard
