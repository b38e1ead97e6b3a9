// The answers that come in parts: a job's output while it runs, the events, and the history.
#include <limits>
#include <nlohmann/json.hpp>
#include <stdexcept>
#include <thread>
#include <utility>

#include "live/server/answers.h"
#include "live/server/json.h"
#include "live/server/query.h"

namespace trainyard {
namespace {

constexpr Duration kHeartbeat = seconds(15);
constexpr std::chrono::milliseconds kFlowPause{100};
constexpr std::chrono::seconds kVouchedEvery{10};
constexpr std::chrono::milliseconds kLogPause{200};  // between two looks at a log that grows

struct LogRequest {
  JobNumber job = 0;
  std::int32_t worker = 0;
  std::uint32_t run = 0;
  std::uint64_t offset = 0;
  bool follow = false;
};

/// All but the job, which may not exist.
Expected<LogRequest> log_request(const Call& call) {
  constexpr std::int64_t kMost = std::numeric_limits<std::int64_t>::max();
  const auto worker = whole_parameter(call.query, "worker", 0, 1 << 20, 0);
  const auto run =
      whole_parameter(call.query, "run", 0, std::numeric_limits<std::uint32_t>::max(), 0);
  const auto offset = whole_parameter(call.query, "offset", 0, kMost, 0);
  for (const auto* number : {&worker, &run, &offset})
    if (!*number) return tl::make_unexpected(number->error());
  const auto follow = switch_parameter(call.query, "follow");
  if (!follow) return tl::make_unexpected(follow.error());
  return LogRequest{{},
                    static_cast<std::int32_t>(*worker),
                    static_cast<std::uint32_t>(*run),
                    static_cast<std::uint64_t>(*offset),
                    *follow};
}

/// Page after page; when it has caught up it ends, or looks again as long as the run lasts.
class LogStream {
 public:
  LogStream(const Call& call, LogRequest request, Service::LogPage first)
      : service_(call.service), who_(call.who), request_(request), page_(std::move(first)) {}

  bool operator()(std::string& part) {
    const bool caught_up = page_.output.text.empty();
    if (caught_up && (page_.at_end || !request_.follow)) return false;
    if (caught_up) std::this_thread::sleep_for(kLogPause);
    part += page_.output.text;
    request_.run = page_.run;  // 0 until the first begins; then this one to its end
    request_.offset = page_.output.offset + page_.output.text.size();
    auto next = service_.logs(who_, request_.job, request_.worker, request_.run, request_.offset);
    if (!next) return false;
    page_ = *std::move(next);
    return true;
  }

 private:
  Service& service_;
  Identity who_;
  LogRequest request_;
  Service::LogPage page_;
};

class EventStream {
 public:
  EventStream(const Call& call, std::int64_t after)
      : service_(call.service), who_(call.who), after_(after) {}

  bool operator()(std::string& part) {
    if (!began_) {
      began_ = true;
      part = ": events follow\n\n";  // so that the client knows at once that it is connected
      return true;
    }
    const auto page = service_.events(who_, after_, seconds(1));
    after_ = page.reached;
    for (const LiveEvent& event : page.events)
      part += fmt::format("id: {}\nevent: {}\ndata: {}\n\n", event.sequence, event.kind,
                          dump(to_json(event)));
    const auto now = std::chrono::steady_clock::now();
    if (!page.events.empty()) {
      last_ = now;
    } else if (now - last_ >= std::chrono::microseconds(kHeartbeat.us)) {
      part = ": still here\n\n";
      last_ = now;
    }
    return true;
  }

 private:
  Service& service_;
  Identity who_;
  std::int64_t after_;
  bool began_ = false;
  std::chrono::steady_clock::time_point last_ = std::chrono::steady_clock::now();
};

/// The whole state, a line each time: at once when it changes, and every few seconds.
class FlowStream {
 public:
  FlowStream(const Call& call, std::string machine)
      : service_(call.service), who_(call.who), machine_(std::move(machine)) {}

  /// Lines that are sent because time has passed are as of now: the scheduler has been asked. While
  /// it cannot vouch for anything nothing is sent, and the agent goes by nothing after a while.
  bool operator()(std::string& part) {
    using Clock = std::chrono::steady_clock;
    const bool is_due = !vouched_ || Clock::now() - *vouched_ >= kVouchedEvery;
    if (!is_due) std::this_thread::sleep_for(kFlowPause);
    auto flows = service_.flows(who_, machine_, is_due);
    if (!flows && flows.error().kind != Refusal::Kind::unavailable) return false;
    if (!flows) return std::this_thread::sleep_for(kFlowPause), true;
    if (is_due) vouched_ = Clock::now();
    if (!is_due && flows->jobs == last_.jobs && flows->terms == last_.terms) return true;
    last_ = *flows;  // the scheduler has vouched for it now, or has made a change just now
    part = dump(to_json(*flows)) + "\n";
    return true;
  }

 private:
  Service& service_;
  Identity who_;
  std::string machine_;
  MachineFlows last_;
  std::optional<std::chrono::steady_clock::time_point> vouched_;
};

class HistoryStream {
 public:
  HistoryStream(const Call& call, Service::HistoryPart first)
      : service_(call.service), who_(call.who), part_(std::move(first)) {}

  /// Throws where it cannot be read any more: nobody shall take a part of it for all.
  bool operator()(std::string& part) {
    part = std::exchange(part_.csv, {});
    if (part_.is_last) return false;
    auto next = service_.history(who_, part_);
    if (!next) throw std::runtime_error(next.error().message);
    part_ = *std::move(next);
    return true;
  }

 private:
  Service& service_;
  Identity who_;
  Service::HistoryPart part_;
};

}  // namespace

Reply answer_logs(const Call& call) {
  auto request = log_request(call);
  if (!request) return error_reply(400, "invalid", request.error().message);
  const auto job = job_of(call);
  if (!job) return refusal_reply(job.error());
  request->job = *job;
  auto first =
      call.service.logs(call.who, request->job, request->worker, request->run, request->offset);
  if (!first) return refusal_reply(first.error());
  Reply reply;
  // Where the text really begins: what is no longer kept is skipped.
  reply.headers = {{"Trainyard-Run", std::to_string(first->run)},
                   {"Trainyard-Offset", std::to_string(first->output.offset)}};
  reply.next_part = LogStream(call, *request, *std::move(first));
  return reply;
}

Reply answer_flows(const Call& call) {
  const auto machine = call.query.find("machine");
  if (machine == call.query.end())
    return error_reply(400, "invalid", "machine: say which, as in /v1/flows?machine=gpu1");
  const auto follow = switch_parameter(call.query, "follow");
  if (!follow) return error_reply(400, "invalid", follow.error().message);
  const auto flows = call.service.flows(call.who, machine->second, *follow);
  if (!flows) return refusal_reply(flows.error());
  Reply reply;
  reply.headers = {{"Cache-Control", "no-store"}};
  if (*follow)
    reply.next_part = FlowStream(call, machine->second);
  else
    reply.body = dump(to_json(*flows)) + "\n";
  return reply;
}

Reply answer_history(const Call& call) {
  auto first = call.service.history(call.who, {});
  if (!first) return refusal_reply(first.error());
  Reply reply;
  reply.next_part = HistoryStream(call, *std::move(first));
  return reply;
}

Reply answer_events(const Call& call) {
  std::int64_t after = call.service.last_event();
  if (!call.last_event_id.empty()) {
    const auto id = parse_digits(call.last_event_id, 0, std::numeric_limits<std::int64_t>::max());
    if (!id) return error_reply(400, "invalid", "Last-Event-ID: " + id.error().message);
    after = *id;
  }
  Reply reply;
  reply.headers = {{"Cache-Control", "no-store"}};
  reply.next_part = EventStream(call, after);
  return reply;
}

}  // namespace trainyard
