#include "live/server/openapi.h"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "live/server/routes.h"
#include "live/server/tokens.h"

namespace trainyard {
namespace {

using nlohmann::json;

json text_schema(const char* help) {
  return {{"type", "string"}, {"description", help}};
}

json whole_schema(const char* help, int low) {
  return {{"type", "integer"}, {"minimum", low}, {"description", help}};
}

json list_schema(const char* of, const char* help) {
  return {{"type", "array"}, {"items", {{"type", of}}}, {"description", help}};
}

json amount_schema(const char* help) {
  return {{"type", {"string", "number"}}, {"description", help}};
}

/// The fields that job_spec.cpp reads; a test holds the two together.
json job_spec_schema() {
  return {
      {"type", "object"},
      {"additionalProperties", false},
      {"properties",
       {{"name", text_schema("what people see; made of the command if not given")},
        {"command", list_schema("string", "what to run, or the script's arguments")},
        {"script", text_schema("a script's text, #! first; then `command` are its arguments")},
        {"directory", text_schema("where it runs, absolute")},
        {"output", text_schema("a file that it writes to, below `directory`; %j, %A, %a, %x ... as "
                               "in sbatch; kept for `logs` if not given")},
        {"error", text_schema("a file for its standard error; where the output goes if not given")},
        {"open_mode",
         {{"type", "string"},
          {"enum", {"truncate", "append"}},
          {"description",
           "append: to what these files hold; else the first run begins them anew"}}},
        {"environment",
         {{"type", "object"},
          {"additionalProperties", {{"type", "string"}}},
          {"description", "variables of its processes"}}},
        {"class",
         {{"type", "string"},
          {"enum", {"trial", "batch"}},
          {"description", "trial: small, a person waits for it"}}},
        {"runs_once",
         {{"type", "boolean"},
          {"description",
           "the script is run once, as by Slurm, and starts the workers with srun"}}},
        {"gpus_per_task",
         {{"type", "boolean"},
          {"description", "with runs_once: a worker sees its own GPUs, not all of the job's"}}},
        {"workers",
         amount_schema("equal processes that start together: a number, or \"2..8\" for an "
                       "elastic job, which starts with the fewest")},
        {"gpus", whole_schema("for each worker", 1)},
        {"cpus", amount_schema("cores for each worker; 0: the machine's part for its GPUs")},
        {"memory", amount_schema("for each worker, \"64GiB\" or a number of GiB; 0 as for cpus")},
        {"exclusive",
         {{"type", "boolean"}, {"description", "the whole machine, shared evenly by the workers"}}},
        {"node", list_schema("string",
                             "of a worker: whole (all of its machine), alone (no other of "
                             "the job's there), all_memory")},
        {"gpu_kind", text_schema("the only kind of GPU that it takes, as V100; any if not given")},
        {"constraint", text_schema("features of the machine, as a100, a100&80gb, a100|h100")},
        {"time",
         amount_schema("of each run, and expected of all: seconds, or as --time has it, \"2h\", "
                       "\"1:30:00\", \"90\" (minutes); 0: no limit")},
        {"grace", amount_schema("from being asked to save to SIGTERM, \"30s\" or seconds")},
        {"signal", text_schema("asks it to save: [B:]USR1[@SECONDS]")},
        {"model", text_schema("of neural network")},
        {"measured_on", text_schema("the kind of GPU that `time` is said of; any if not given")},
        {"after", list_schema("integer", "numbers of jobs and arrays that must be done before")},
        {"array", text_schema("tasks to make of it: 0-9, 1,3,5-9:2; 0-9%2: two at once")}}}};
}

json components() {
  const json error{
      {"type", "object"},
      {"required", {"error"}},
      {"properties",
       {{"error",
         {{"type", "object"},
          {"required", {"kind", "message"}},
          {"properties",
           {{"kind", text_schema("invalid, forbidden, not_found, conflict, unavailable ...")},
            {"message", text_schema("for a person: what is wrong, and what would be right")}}}}}}}};
  const json policy{{"type", "object"},
                    {"required", {"policy"}},
                    {"additionalProperties", false},
                    {"properties",
                     {{"policy", text_schema("a preset's name, or a line of stages")},
                      {"settings", list_schema("string", "stage.param=value")}}}};
  const json supposition{
      {"type", "object"},
      {"additionalProperties", false},
      {"properties",
       {{"job", {{"$ref", "#/components/schemas/JobSpec"}}},
        {"without", list_schema("string", "machines that take no more jobs")},
        {"policy", text_schema("another than the present one")},
        {"settings", list_schema("string", "of that policy, stage.param=value")}}}};
  return {{"schemas",
           {{"Error", error},
            {"JobSpec", job_spec_schema()},
            {"Policy", policy},
            {"Supposition", supposition}}},
          {"securitySchemes", {{"token", {{"type", "http"}, {"scheme", "bearer"}}}}}};
}

json parameter_of(const RouteParameter& parameter) {
  using In = RouteParameter::In;
  return {{"name", parameter.name},
          {"in", parameter.in == In::path    ? "path"
                 : parameter.in == In::query ? "query"
                                             : "header"},
          {"required", parameter.in == In::path},
          {"description", parameter.help},
          {"schema", {{"type", parameter.type}}}};
}

json operation_of(const Route& route) {
  const std::string type(route.answer_type.substr(0, route.answer_type.find(';')));
  const bool makes = route.method == "POST" && route.body_schema == "JobSpec";
  const char* status = makes ? "201" : "200";
  json operation{
      {"summary", route.summary},
      {"responses",
       {{status, {{"description", "done"}, {"content", {{type, json::object()}}}}},
        {"default",
         {{"description", "not done"},
          {"content",
           {{"application/json", {{"schema", {{"$ref", "#/components/schemas/Error"}}}}}}}}}}}};
  for (const RouteParameter& parameter : route.parameters)
    operation["parameters"].push_back(parameter_of(parameter));
  if (!route.body_schema.empty())
    operation["requestBody"] = {
        {"required", true},
        {"content",
         {{"application/json",
           {{"schema", {{"$ref", "#/components/schemas/" + std::string(route.body_schema)}}}}}}}};
  operation["security"] = json::array();
  if (!route.role) return operation;
  operation["x-role"] = name(*route.role);
  operation["security"].push_back({{"token", json::array()}});
  return operation;
}

}  // namespace

json openapi_document() {
  json paths = json::object();
  for (const Route& route : routes()) {
    std::string method(route.method);
    std::ranges::transform(method, method.begin(), [](char c) {
      return static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
    });
    paths[std::string(route.path)][method] = operation_of(route);
  }
  return {{"openapi", "3.1.0"},
          {"info", {{"title", "Trainyard"}, {"version", "1"}}},
          {"paths", std::move(paths)},
          {"components", components()}};
}

}  // namespace trainyard
