// The API as it is meant to be used.
#include "live/server/http_server.h"

#include <gmock/gmock.h>

#include "live/server/openapi.h"
#include "live/server/routes.h"
#include "live/server/testing.h"
#include "live/server/tokens.h"

namespace trainyard {
namespace {

using nlohmann::json;
using testing::HasSubstr;

TEST_F(ServerTest, ASubmittedJobIsFoundShownAndCancelled) {
  start();
  const RawAnswer submitted =
      ask("POST", "/v1/jobs", R"({"command": ["true"], "signal": "USR1@90"})");
  ASSERT_EQ(submitted.status, 201) << submitted.body;
  EXPECT_EQ(submitted.json()["job"], 1);
  EXPECT_EQ(submitted.json()["warnings"].size(), 1);
  const json job = ask("GET", "/v1/jobs/1").json();
  EXPECT_EQ(job["name"], "true");
  EXPECT_EQ(job["state"], "queued");
  EXPECT_EQ(job["signal"], "USR1@90");
  EXPECT_EQ(ask("DELETE", "/v1/jobs/1").status, 200);
  EXPECT_EQ(ask("GET", "/v1/jobs/1").json()["state"], "cancelled");
  EXPECT_EQ(ask("GET", "/v1/jobs/2").status, 404);
}

TEST_F(ServerTest, JobsComeInPages) {
  start();
  RawClient client = connect();
  for (int i = 0; i < 5; ++i) ASSERT_EQ(client.ask("POST", "/v1/jobs", kJob).status, 201);
  const json first = client.ask("GET", "/v1/jobs?limit=3").json();
  ASSERT_EQ(first["jobs"].size(), 3);
  EXPECT_EQ(first["jobs"][0]["job"], 5);
  EXPECT_TRUE(first["more"].get<bool>());
  const json rest = client.ask("GET", "/v1/jobs?limit=3&before=3").json();
  EXPECT_EQ(rest["jobs"].size(), 2);
  EXPECT_FALSE(rest["more"].get<bool>());
  EXPECT_EQ(client.ask("GET", "/v1/jobs?user=nobody-here").json()["jobs"].size(), 0);
}

TEST_F(ServerTest, TheEnvironmentIsNeverShown) {
  start();
  ask("POST", "/v1/jobs", R"({"command": ["true"], "environment": {"KEY": "hunter2"}})");
  ASSERT_EQ(service.at(1).spec.environment.at("KEY"), "hunter2");
  for (const char* path : {"/v1/jobs/1", "/v1/jobs", "/v1/history", "/v1/cluster"})
    EXPECT_THAT(ask("GET", path).body, testing::Not(HasSubstr("hunter2"))) << path;
}

TEST_F(ServerTest, AMachineThatIsNotUpHasAReason) {
  start();
  const auto machine = ask("GET", "/v1/cluster").json()["machines"][0];
  EXPECT_EQ(machine["state"], "down");
  EXPECT_EQ(machine["reason"], "no answer");
}

TEST_F(ServerTest, LogsAreReadToTheirEnd) {
  start();
  ask("POST", "/v1/jobs", kJob);
  RawClient client = connect();
  const RawAnswer answer =
      client.ask("GET", "/v1/jobs/1/logs?offset=7", "", "Connection: close\r\n");
  EXPECT_EQ(answer.status, 200);
  EXPECT_THAT(answer.head, HasSubstr("Trainyard-Run: 1"));
  EXPECT_THAT(answer.head, HasSubstr("Content-Type: text/plain"));
  EXPECT_TRUE(client.read_to_end());
  EXPECT_THAT(client.received, HasSubstr("worl"));
  EXPECT_THAT(client.received, testing::EndsWith("0\r\n\r\n"));
}

TEST_F(ServerTest, LogsAreFollowedWhileTheyGrow) {
  start();
  ask("POST", "/v1/jobs", kJob);
  service.set_log("one\n", false);
  RawClient client = connect();
  EXPECT_EQ(client.ask("GET", "/v1/jobs/1/logs?follow").status, 200);
  EXPECT_TRUE(client.read_until("one\n"));
  service.set_log("one\ntwo\n", false);
  EXPECT_TRUE(client.read_until("two\n"));
  service.set_log("one\ntwo\nend\n", true);
  EXPECT_TRUE(client.read_until("end\n"));
  EXPECT_TRUE(client.read_until("0\r\n\r\n"));
}

TEST_F(ServerTest, HistoryComesInPartsAndNoPartIsTakenForAll) {
  start();
  RawClient client = connect();
  EXPECT_EQ(client.ask("GET", "/v1/history").status, 200);
  ASSERT_TRUE(client.read_until("0\r\n\r\n"));
  EXPECT_LT(client.received.find("id,submit"), client.received.find("4,0,1\n"));
  service.breaks_history = true;
  RawClient unlucky = connect();
  EXPECT_EQ(unlucky.ask("GET", "/v1/history").status, 200);
  EXPECT_TRUE(unlucky.read_to_end());
  EXPECT_NE(unlucky.received.find("2,0,1\n"), std::string::npos);
  EXPECT_EQ(unlucky.received.find("0\r\n\r\n"), std::string::npos) << "it is cut off";
}

TEST_F(ServerTest, EventsStreamAndGoOnWhereTheClientWas) {
  start();
  ask("POST", "/v1/jobs", kJob);
  RawClient fresh = connect(), late = connect();
  EXPECT_EQ(fresh.ask("GET", "/v1/events").status, 200);
  ASSERT_TRUE(fresh.read_until(": events follow"));
  EXPECT_EQ(late.ask("GET", "/v1/events", "", "Last-Event-ID: 0\r\n").status, 200);
  ask("DELETE", "/v1/jobs/1");
  ASSERT_TRUE(fresh.read_until("id: 2\nevent: cancelled\ndata: {"));
  EXPECT_EQ(fresh.received.find("id: 1\n"), std::string::npos);
  ASSERT_TRUE(late.read_until("id: 2\n"));
  EXPECT_LT(late.received.find("id: 1\nevent: submitted"), late.received.find("id: 2\n"));
}

TEST_F(ServerTest, MetricsAreInTheFormatOfPrometheus) {
  start();
  ask("POST", "/v1/jobs", kJob);
  const RawAnswer answer = ask("GET", "/metrics");
  EXPECT_THAT(answer.head, HasSubstr("text/plain; version=0.0.4"));
  EXPECT_THAT(answer.body, HasSubstr("# TYPE trainyard_jobs_total counter\n"));
  EXPECT_THAT(answer.body, HasSubstr("trainyard_jobs_total{what=\"submitted\"} 1\n"));
  EXPECT_THAT(answer.body, HasSubstr("trainyard_gpus_free 2\n"));
  EXPECT_THAT(answer.body, HasSubstr("trainyard_http_answers_total{status=\"2xx\"} 1\n"));
  std::istringstream lines(answer.body);
  for (std::string line; std::getline(lines, line);)
    EXPECT_THAT(line, testing::MatchesRegex("# (HELP|TYPE) trainyard_[a-z_]+ .*|"
                                            "trainyard_[a-z_]+(\\{[a-z]+=\"[a-z0-9]+\"\\})? "
                                            "[-+.e0-9]+"));
}

TEST_F(ServerTest, ThePolicyIsReadAndSet) {
  start();
  EXPECT_EQ(ask("GET", "/v1/policy").json()["policy"], "fifo");
  EXPECT_EQ(ask("PUT", "/v1/policy", R"({"policy": "las", "settings": ["order.x=1"]})").status,
            200);
  EXPECT_EQ(ask("GET", "/v1/policy").json()["settings"][0], "order.x=1");
  EXPECT_THAT(ask("PUT", "/v1/policy", R"({"polcy": "las"})").error(),
              HasSubstr("did you mean 'policy'?"));
  EXPECT_EQ(ask("PUT", "/v1/policy", "{}").status, 400);
}

TEST_F(ServerTest, SeveralRequestsShareAConnectionAlsoWhenSentAtOnce) {
  start();
  RawClient client = connect();
  client.send(
      "GET /healthz HTTP/1.1\r\nHost: x\r\n\r\nGET /v1/cluster HTTP/1.1\r\nHost: x\r\n\r\n");
  EXPECT_EQ(client.answer().json()["accepting"], true);
  EXPECT_EQ(client.answer().json()["machines"][0]["name"], "m0");
  EXPECT_EQ(client.ask("HEAD", "/healthz").status, 200);
}

/// A target for the route, with something for each word and the body it needs.
std::pair<std::string, std::string> example_of(const Route& route) {
  std::string target(route.path);
  for (const auto& [word, value] : {std::pair{"{job}", "1"}, std::pair{"{machine}", "m0"}})
    if (const auto at = target.find(word); at != std::string::npos)
      target.replace(at, std::string_view(word).size(), value);
  if (route.path == "/v1/flows") target += "?machine=m0";
  const std::string body = route.body_schema == "JobSpec"       ? kJob
                           : route.body_schema == "Policy"      ? R"({"policy": "fifo"})"
                           : route.body_schema == "Supposition" ? R"({"without": ["m0"]})"
                                                                : "";
  return {target, body};
}

TEST_F(ServerTest, EveryRouteOfTheTableAnswers) {
  start();
  ASSERT_GE(routes().size(), 16U);
  ask("POST", "/v1/jobs", kJob);
  for (const Route& route : routes()) {
    const auto [target, body] = example_of(route);
    const RawAnswer answer = ask(std::string(route.method), target, body);
    EXPECT_EQ(answer.status / 100, 2) << route.method << " " << target << ": " << answer.body;
    EXPECT_THAT(answer.head, HasSubstr("Content-Type: " + std::string(route.answer_type)));
  }
}

TEST_F(ServerTest, TellsWhenJobsStartAndWhatWouldBeSooner) {
  start();
  ask("POST", "/v1/jobs", kJob);
  const json all = ask("GET", "/v1/forecast?job=1").json();
  EXPECT_EQ(all["draws"], 32);
  EXPECT_EQ(all["jobs"][0]["start"]["p50"].get<double>() - all["made_at"].get<double>(), 7200);
  EXPECT_EQ(all["record"][0]["within_s"], 600);
  EXPECT_EQ(ask("GET", "/v1/forecast?job=9").status, 404);
  const RawAnswer dry = ask("POST", "/v1/jobs?dry_run", kJob);
  EXPECT_EQ(dry.status, 200);
  EXPECT_TRUE(dry.json()["expected_start"].is_object());
  EXPECT_EQ(dry.json()["sooner"][0]["change"], "class trial");
  EXPECT_EQ(ask("GET", "/v1/jobs").json()["jobs"].size(), 1U) << "nothing was submitted";
  EXPECT_EQ(ask("POST", "/v1/forecast", R"({"without": ["m9"]})").status, 404);
  EXPECT_EQ(ask("POST", "/v1/forecast", R"({"with": []})").status, 400);
}

TEST_F(ServerTest, EveryRouteIsDescribedAndNoOther) {
  start();
  const json document = ask("GET", "/v1/openapi.json").json();
  EXPECT_EQ(document, openapi_document());
  std::size_t operations = 0;
  for (const auto& [path, methods] : document["paths"].items()) operations += methods.size();
  EXPECT_EQ(operations, routes().size());
  for (const Route& route : routes()) {
    std::string method(route.method);
    for (char& c : method) c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
    const json& operation = document["paths"][std::string(route.path)][method];
    ASSERT_TRUE(operation.is_object()) << route.path;
    EXPECT_EQ(operation.value("parameters", json::array()).size(), route.parameters.size());
    std::size_t braces = 0;
    for (const RouteParameter& parameter : route.parameters)
      braces += parameter.in == RouteParameter::In::path ? 1 : 0;
    EXPECT_EQ(static_cast<std::size_t>(std::ranges::count(route.path, '{')), braces) << route.path;
    if (route.body_schema.empty()) continue;
    EXPECT_TRUE(document["components"]["schemas"].contains(std::string(route.body_schema)));
  }
}

TEST(OpenApi, DescribesTheFieldsOfAJobAndNoOther) {
  const json properties = openapi_document()["components"]["schemas"]["JobSpec"]["properties"];
  JobSpec spec;
  spec.command = {"true"};
  spec.script = "#!/bin/sh";
  spec.signal = *parse_stop_signal("USR1");
  spec.exclusive = spec.node.whole = true;
  spec.constraint = "a100", spec.gpu_kind = "V100";
  spec.array = "0-9";
  spec.measured_on = "V100";
  spec.output = spec.error = "%j";
  spec.append = spec.runs_once = spec.gpus_per_task = true;
  const json written = to_json(spec);
  EXPECT_EQ(written.size(), properties.size());
  for (const auto& [field, value] : written.items())
    EXPECT_TRUE(properties.contains(field)) << field;
}

TEST_F(ServerTest, AStateFolderWithALongNameWorks) {
  const std::string deep = folder.path + "/" + std::string(120, 'x') + "/" + std::string(120, 'y');
  std::filesystem::create_directories(deep);
  ServerOptions options;
  options.state_directory = deep;
  auto started = HttpServer::start(service, options);
  ASSERT_TRUE(started) << started.error().message;
  EXPECT_EQ(RawClient(deep).ask("GET", "/healthz").status, 200);
}

TEST_F(ServerTest, ASecondServerIsRefusedAndASocketLeftBehindIsReplaced) {
  start();
  ServerOptions options;
  options.state_directory = folder.path;
  const auto second = HttpServer::start(service, options);
  ASSERT_FALSE(second);
  EXPECT_THAT(second.error().message, HasSubstr("another daemon answers"));
  server.reset();
  EXPECT_TRUE(std::filesystem::exists(folder.path + "/socket"));
  start();
  EXPECT_EQ(ask("GET", "/healthz").status, 200);
}

TEST_F(ServerTest, StoppingEndsStreams) {
  start();
  RawClient client = connect();
  EXPECT_EQ(client.ask("GET", "/v1/events").status, 200);
  server.reset();
  EXPECT_TRUE(client.read_to_end());
}

}  // namespace
}  // namespace trainyard
