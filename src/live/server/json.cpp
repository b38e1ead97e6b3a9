#include "live/server/json.h"

#include <algorithm>
#include <array>
#include <nlohmann/json.hpp>

#include "live/job/bounded_json.h"
#include "perf/curve_fit.h"

namespace trainyard {
namespace {

using nlohmann::json;

json when(Time time) {
  if (time == Time::never()) return nullptr;
  return time.seconds();
}

template <class T>
json or_null(const std::optional<T>& value) {
  return value ? json(*value) : json(nullptr);
}

json to_json(const JobProgress& progress) {
  json value{{"step", progress.step}};
  if (progress.total > 0) value["total"] = progress.total;
  if (progress.loss) value["loss"] = *progress.loss;
  if (progress.accuracy) value["accuracy"] = *progress.accuracy;
  if (progress.save_s) value["save_s"] = *progress.save_s;
  if (progress.load_s) value["load_s"] = *progress.load_s;
  return value;
}

json to_json(const Resources& resources) {
  return {{"gpus", resources.gpus},
          {"cpus", resources.milli_cpus / 1000.0},
          {"memory_mib", resources.memory_mib}};
}

/// As the machine numbers them now.
std::vector<std::int32_t> numbers_of(const std::vector<std::string>& gpus,
                                     const MachineView& machine) {
  std::vector<std::int32_t> numbers;
  for (const std::string& gpu : gpus)
    if (const auto found = find_gpu(machine.gpu_names, machine.capacity.gpus, gpu))
      numbers.push_back(*found);
  std::ranges::sort(numbers);
  return numbers;
}

json placement_of(const JobLife& life, const std::vector<MachineView>& machines) {
  json shares = json::array();
  for (std::size_t i = 0; i < life.room.placement.size(); ++i) {
    const Share& share = life.room.placement[i];
    const std::size_t machine = index(share.machine);
    const bool is_known = machine < machines.size();
    json gpus = json::array();
    if (is_known && i < life.room.gpus.size())
      gpus = numbers_of(life.room.gpus[i], machines[machine]);
    shares.push_back({{"machine", is_known ? machines[machine].name : std::to_string(machine)},
                      {"workers", share.workers},
                      {"gpus", std::move(gpus)}});
  }
  return shares;
}

/// The class of its bytes; null where they are not ordered.
json flow_class_of(const JobRecord& job, const std::vector<MachineView>& machines) {
  for (const Share& share : job.life.room.placement) {
    if (index(share.machine) >= machines.size()) continue;
    for (const JobFlow& flow : machines[index(share.machine)].flows)
      if (flow.run == job.run()) return static_cast<int>(flow.flow);
  }
  return nullptr;
}

/// How loss and accuracy went, by step and by work done.
json curve_of(const ReportedCurve& curve) {
  json points = json::array();
  for (const ReportedCurve::Point& point : curve.points())
    points.push_back({{"step", point.step},
                      {"work_s", point.work.seconds()},
                      {"loss", or_null(point.loss)},
                      {"accuracy", or_null(point.accuracy)}});
  return points;
}

/// Of a job that has a place, those that it has there; else those that it would start with.
std::int32_t workers_now(const JobRecord& job) {
  return job.life.room.placement.empty() ? job.spec.workers : workers(job.life.room.placement);
}

/// In the queue, and of a task also until its array let it in.
Duration waited(const JobRecord& job) {
  const bool came_later = job.task.array != 0 && job.spec.after.empty();
  const bool is_known = came_later && job.eligible != Time::never();
  return job.life.state.waited +
         (is_known ? std::max(job.eligible - job.submitted, Duration{}) : Duration{});
}

json seconds_or_null(std::optional<Duration> duration) {
  return duration ? json(duration->seconds()) : json(nullptr);
}

/// The last one, if there was any.
json pause_of(const LastPause& pause, std::optional<Duration> took) {
  if (pause.run == 0) return nullptr;
  json value{{"at", when(pause.at)},
             {"for", pause.made_room_for == 0 ? json(nullptr) : json(pause.made_room_for)},
             {"took_s", seconds_or_null(took)}};
  if (pause.was_killed) value["lost_s"] = pause.lost.seconds();
  return value;
}

/// What everybody may see: the same fields as public_part() leaves.
json in_queue(const JobRecord& job, const std::vector<MachineView>& machines) {
  const JobSpec& spec = job.spec;
  const JobState& state = job.life.state;
  return {{"job", job.number},
          {"id", name_of(job)},
          {"array", job.task.array == 0 ? json(nullptr) : json(job.task.array)},
          {"task", job.task.array == 0 ? json(nullptr) : json(job.task.task)},
          {"name", spec.name},
          {"user", job.owner.user},
          {"state", state_name(job.shown_phase())},
          {"paused", job.is_paused()},
          {"waits_by", name(job.waits_by)},
          {"class", name(spec.job_class)},
          {"workers", workers_now(job)},
          {"min_workers", spec.sizes().min},
          {"max_workers", spec.sizes().max},
          {"per_worker", to_json(spec.per_worker)},
          {"time_s", spec.time.seconds()},
          {"submitted", when(job.submitted)},
          {"started", when(state.first_start)},
          {"since", when(job.is_held()      ? job.submitted
                         : job.is_loading() ? job.run_began()
                                            : state.since)},
          {"ended", when(state.end())},
          {"expected_start", to_json(job.expected_start)},
          {"waited_s", waited(job).seconds()},
          {"done_s", state.done.seconds()},
          {"placement", placement_of(job.life, machines)},
          {"flow_class", flow_class_of(job, machines)}};
}

/// What it was promised when it came.
json promise_of(const StartPromise& promise) {
  if (promise.made == Time::never()) return nullptr;
  return {{"at", when(promise.made)}, {"start", to_json(promise.told)}};
}

/// What its owner and operators see besides.
void add_private(const JobRecord& job, json& value) {
  const JobSpec& spec = job.spec;
  value.update({{"grace_s", spec.grace.seconds()},
                {"signal", format(spec.signal)},
                {"model", spec.model},
                {"gpu_kind", spec.gpu_kind.empty() ? "any" : spec.gpu_kind},
                {"measured_on", spec.measured_on},
                {"after", spec.after},
                {"stopping", job.ending != Ending::none},
                {"exit_status", or_null(job.exit_status)},
                {"reason", job.reason},
                {"progress", job.progress ? to_json(*job.progress) : json(nullptr)},
                {"curve", curve_of(job.curve)},
                {"loading", job.is_loading()},
                {"load_s", seconds_or_null(job.load.took)},
                {"last_pause", pause_of(job.last_pause, job.last_pause_took())},
                {"pause_cost_s", seconds_or_null(job.pause_cost())},
                {"pause_took_s", seconds_or_null(job.pause_took)},
                {"runs", job.runs},
                {"restarts", job.restarts},
                {"pauses", job.life.state.pauses},
                {"lost_s", job.life.state.lost.seconds()},
                {"promised", promise_of(job.promise)}});
  if (!job.born_as.empty()) value["born_as"] = job.born_as;
  if (!spec.command.empty()) value["command"] = spec.command;
  if (!spec.directory.empty()) value["directory"] = spec.directory;
  if (!spec.output.empty()) value["output"] = spec.output;
  if (!spec.error.empty()) value["error"] = spec.error;
  if (!spec.script.empty()) value["script"] = spec.script;
}

}  // namespace

json to_json(const JobRecord& job, const std::vector<MachineView>& machines) {
  json value = in_queue(job, machines);
  if (!job.in_part) add_private(job, value);
  return value;
}

json curve_fit_to_json(const ReportedCurve& curve) {
  CurvePoints told;
  for (const LearningPoint& point : learning_points(curve)) told.add(point);
  const auto fit = fit_curve(told);
  if (!fit) return nullptr;
  const double accuracy = fit->at(told.last_step());
  return {{"limit", fit->limit},
          {"slope", fit->slope},
          {"offset", fit->offset},
          {"accuracy", accuracy},
          {"reached", fit->limit > 0 ? json(accuracy / fit->limit) : json(nullptr)}};
}

void add_folded(const ArrayTask& task, const std::vector<std::int32_t>& tasks, json& value) {
  value["tasks"] = tasks.size();
  if (tasks.size() == 1) return;
  const std::string bound = task.at_once == 0 ? "" : fmt::format("%{}", task.at_once);
  value["id"] = fmt::format("{}_[{}{}]", task.array, format_tasks(tasks), bound);
}

json to_json(const Submitted& submitted) {
  json value{{"job", submitted.number}, {"warnings", submitted.warnings}};
  if (submitted.tasks > 0) value["tasks"] = submitted.tasks;
  return value;
}

json to_json(const WhyAnswer& why) {
  return {{"state", why.state},
          {"category", name(why.category)},
          {"token", why.reason.token},
          {"sentence", why.reason.sentence},
          {"place", why.reason.place},
          {"expected_start",
           why.reason.expected_start ? when(*why.reason.expected_start) : json(nullptr)},
          {"expected_if", why.reason.expected_start ? why.expected_if() : ""},
          {"forecast", to_json(why.expected)},
          {"last_pause", pause_of(why.pause, why.pause_took)},
          {"pause_cost_s", seconds_or_null(why.pause_cost)},
          {"advice", why.advice},
          {"flow", why.flow}};
}

namespace {

/// Its jobs that send over the network, by their number.
json flow_classes_of(const MachineView& machine) {
  json classes = json::object();
  for (const JobFlow& flow : machine.flows)
    classes[std::to_string(flow.run.job)] = static_cast<int>(flow.flow);
  return classes;
}

}  // namespace

json to_json(const MachineFlows& flows) {
  json jobs = json::array();
  for (const MachineFlows::Job& job : flows.jobs) {
    jobs.push_back({{"job", job.flow.run.job},
                    {"run", job.flow.run.run},
                    {"class", static_cast<int>(job.flow.flow)},
                    {"cgroups", job.cgroups}});
    if (job.flow.sole_user) jobs.back()["uid"] = *job.flow.sole_user;
  }
  return {{"machine", flows.machine},
          {"age_s", flows.age.seconds()},
          {"valid_for_s", flows.valid_for.seconds()},
          {"by", flows.terms.by},
          {"classes", flows.terms.classes},
          {"floor", flows.terms.floor},
          {"jobs", std::move(jobs)}};
}

json to_json(const TimeBand& band) {
  if (band.p50 == Time::never()) return nullptr;
  return {{"p10", when(band.p10)}, {"p50", when(band.p50)}, {"p90", when(band.p90)}};
}

namespace {

json record_of(const PromiseTallies& tallies) {
  json rows = json::array();
  for (std::size_t i = 0; i < tallies.size(); ++i)
    rows.push_back({{"within_s", kPromiseLimits[i].wait.seconds()},
                    {"promises", tallies[i].promises()},
                    {"held", tallies[i].held()},
                    {"median_error_s", tallies[i].median_error_s()}});
  return rows;
}

}  // namespace

json to_json(const LiveOutlook& outlook) {
  json jobs = json::array(), segments = json::array();
  for (const JobOutlook& job : outlook.jobs)
    jobs.push_back({{"job", job.job},
                    {"waits", job.waits},
                    {"start", to_json(job.start)},
                    {"end", to_json(job.end)}});
  const auto& machines = outlook.cluster->machines;
  for (const OutlookSegment& segment : outlook.segments) {
    const std::size_t machine = index(segment.machine);
    segments.push_back({{"job", segment.job},
                        {"machine", machine < machines.size() ? machines[machine].name : ""},
                        {"from", when(segment.from)},
                        {"to", when(segment.to)}});
  }
  return {{"made_at", when(outlook.made_at)}, {"horizon_s", outlook.horizon.seconds()},
          {"took_s", outlook.took.seconds()}, {"draws", outlook.draws},
          {"policy", outlook.policy},         {"record", record_of(outlook.record)},
          {"jobs", std::move(jobs)},          {"segments", std::move(segments)}};
}

json to_json(const ClusterView& cluster) {
  json machines = json::array();
  for (const MachineView& machine : cluster.machines) {
    json by_gpu = json::array();
    for (const JobNumber job : machine.by_gpu)
      by_gpu.push_back(job == kHidden ? json(nullptr) : json(job));
    machines.push_back({{"name", machine.name},
                        {"kind", machine.kind},
                        {"state", machine.state},
                        {"reason", machine.reason},
                        {"capacity", to_json(machine.capacity)},
                        {"free", to_json(machine.free)},
                        {"by_gpu", std::move(by_gpu)},
                        {"flow_agent", machine.has_flow_agent},
                        {"flow_classes", flow_classes_of(machine)}});
  }
  return {{"machines", std::move(machines)},
          {"queued", cluster.queued},
          {"running", cluster.running},
          {"notices", cluster.notices}};
}

json to_json(const RetentionView& retention) {
  const auto part = [](const RetentionView::Part& of) {
    return json{{"keep_s", of.keep ? json(of.keep->seconds()) : json(nullptr)},
                {"kept", of.kept},
                {"due", of.due},
                {"erased_today", of.erased_today},
                {"most_a_day", of.most_a_day}};
  };
  const bool is_suspended = !retention.suspended.empty();
  return {{"output", part(retention.output)},
          {"checkpoints", part(retention.checkpoints)},
          {"lived_s", retention.lived.seconds()},
          {"suspended", is_suspended ? json(retention.suspended) : json(nullptr)},
          {"suspended_since", is_suspended ? when(retention.since) : json(nullptr)}};
}

json to_json(const PolicyView& policy) {
  return {{"policy", policy.policy}, {"settings", policy.settings}};
}

json to_json(const LiveEvent& event) {
  json details = json::parse(event.details, nullptr, false);
  if (!details.is_object()) details = json::object();
  json value{{"sequence", event.sequence},
             {"at", when(event.at)},
             {"kind", event.kind},
             {"details", std::move(details)}};
  if (event.job != 0) value["job"] = event.job, value["user"] = event.user;
  return value;
}

namespace {

Expected<std::vector<std::string>> texts_from_json(const std::string& field, const json& value) {
  const bool are_texts =
      value.is_array() && std::ranges::all_of(value, [](const json& v) { return v.is_string(); });
  if (!are_texts) return fail("{}: is not a list of texts", field);
  return value.get<std::vector<std::string>>();
}

Expected<void> read_question(const std::string& field, const json& value,
                             OutlookQuestion& question) {
  if (field == "job") {
    auto spec = parse_submission(value.dump(-1, ' ', false, json::error_handler_t::replace));
    if (!spec) return fail_at("job", spec.error());
    if (!spec->array.empty()) return fail("job: array: one job can be supposed, not an array");
    question.job = *std::move(spec);
  } else if (field == "policy") {
    if (!value.is_string()) return fail("policy: is not a text");
    question.policy = value.get<std::string>();
  } else {
    auto texts = texts_from_json(field, value);
    if (!texts) return tl::make_unexpected(texts.error());
    (field == "without" ? question.without : question.settings) = *std::move(texts);
  }
  return {};
}

}  // namespace

Expected<OutlookQuestion> question_from_json(std::string_view text) {
  constexpr std::array<std::string_view, 4> kKnown{"job", "policy", "settings", "without"};
  constexpr std::size_t kLongestGuessed = 64;
  const auto parsed = parse_bounded_json(text);
  if (!parsed) return tl::make_unexpected(parsed.error());
  if (!parsed->is_object()) return fail("a question is a JSON object");
  OutlookQuestion question;
  for (const auto& [field, value] : parsed->items()) {
    if (std::ranges::find(kKnown, field) == kKnown.end())
      return fail("unknown field {}{}", trainyard::quoted(field),
                  field.size() > kLongestGuessed ? "" : did_you_mean(field, kKnown));
    if (auto ok = read_question(field, value, question); !ok)
      return tl::make_unexpected(ok.error());
  }
  return question;
}

Expected<PolicyView> policy_from_json(std::string_view text) {
  constexpr std::array<std::string_view, 2> kKnown{"policy", "settings"};
  constexpr std::size_t kLongestGuessed = 64;
  const auto parsed = parse_bounded_json(text);
  if (!parsed) return tl::make_unexpected(parsed.error());
  if (!parsed->is_object()) return fail("a policy is a JSON object");
  PolicyView view;
  for (const auto& [field, content] : parsed->items()) {
    if (field == "policy" && content.is_string()) {
      view.policy = content.get<std::string>();
    } else if (field == "settings" && content.is_array()) {
      for (const json& setting : content) {
        if (!setting.is_string()) return fail("settings: each is a text like \"order.x=1\"");
        view.settings.push_back(setting.get<std::string>());
      }
    } else if (std::ranges::find(kKnown, field) != kKnown.end()) {
      return fail("{}: is not a {}", field, field == "policy" ? "text" : "list of texts");
    } else {
      return fail("unknown field {}{}", trainyard::quoted(field),
                  field.size() > kLongestGuessed ? "" : did_you_mean(field, kKnown));
    }
  }
  if (view.policy.empty()) return fail("policy: is missing; a preset's name or a line of stages");
  return view;
}

std::string dump(const json& value) {
  return value.dump(-1, ' ', false, json::error_handler_t::replace);
}

}  // namespace trainyard
