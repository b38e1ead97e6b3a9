#include "live/book/job_record.h"

#include <algorithm>
#include <bit>
#include <nlohmann/json.hpp>

namespace trainyard {
namespace {

using nlohmann::json;

json state_to_json(const JobState& state) {
  json j{{"phase", name(state.phase)},
         {"since", state.since.us},
         {"first_start", state.first_start.us},
         {"pauses", state.pauses},
         {"done", state.done.us},
         {"waited", state.waited.us},
         {"lost", state.lost.us},
         {"slowed", state.slowed.us}};
  if (state.lost_by_pause) j["lost_by_pause"] = true;
  return j;
}

JobState state_from_json(const json& j) {
  JobState state;
  const std::string phase = j.at("phase");
  for (int p = 0; p <= static_cast<int>(Phase::cancelled); ++p)
    if (name(static_cast<Phase>(p)) == phase) state.phase = static_cast<Phase>(p);
  state.since = Time{j.at("since")};
  state.first_start = Time{j.at("first_start")};
  state.pauses = j.at("pauses");
  state.done = Duration{j.at("done")};
  state.waited = Duration{j.at("waited")};
  state.lost = Duration{j.at("lost")};
  state.slowed = Duration{j.at("slowed")};
  state.lost_by_pause = j.value("lost_by_pause", false);
  return state;
}

json room_to_json(const KeptRoom& room) {
  json shares = json::array();
  for (std::size_t i = 0; i < room.placement.size(); ++i) {
    json share{{"machine", index(room.placement[i].machine)},
               {"workers", room.placement[i].workers},
               {"gpus", room.gpus[i]}};
    if (!room.missing.empty())
      share["missing"] = {room.missing[i].gpus, room.missing[i].milli_cpus,
                          room.missing[i].memory_mib};
    if (!room.each.empty())
      share["each"] = {room.each[i].gpus, room.each[i].milli_cpus, room.each[i].memory_mib};
    shares.push_back(std::move(share));
  }
  return shares;
}

void put_flow(json& j, const char* key, const KeptRoom& room) {
  if (room.flow != kFirstFlow) j[key] = static_cast<int>(room.flow);
}

KeptRoom room_from_json(const json& shares) {
  KeptRoom room;
  for (const json& share : shares) {
    room.placement.push_back({MachineId{share.at("machine").get<std::uint32_t>()},
                              share.at("workers").get<std::int32_t>()});
    room.gpus.push_back(share.at("gpus").get<std::vector<std::string>>());
    if (const auto missing = share.find("missing"); missing != share.end())
      room.missing.push_back({missing->at(0), missing->at(1), missing->at(2)});
    if (const auto each = share.find("each"); each != share.end())
      room.each.push_back({each->at(0), each->at(1), each->at(2)});
  }
  return room;
}

json progress_to_json(const JobProgress& progress) {
  json j{{"step", progress.step}, {"total", progress.total}};
  const auto put = [&](const char* key, const std::optional<double>& value) {
    if (value) j[key] = *value;
  };
  put("loss", progress.loss), put("accuracy", progress.accuracy);
  put("save_s", progress.save_s), put("load_s", progress.load_s);
  return j;
}

/// [step, work in microseconds, loss, accuracy], null where it was not told.
json curve_to_json(const ReportedCurve& curve) {
  json points = json::array();
  const auto or_null = [](const std::optional<double>& v) { return v ? json(*v) : json(); };
  for (const ReportedCurve::Point& p : curve.points())
    points.push_back({p.step, p.work.us, or_null(p.loss), or_null(p.accuracy)});
  return {{"stride", curve.stride()}, {"points", std::move(points)}};
}

ReportedCurve curve_from_json(const json& j) {
  std::vector<ReportedCurve::Point> points;
  const auto maybe = [](const json& v) {
    return v.is_null() ? std::optional<double>() : v.get<double>();
  };
  for (const json& p : j.at("points"))
    points.push_back({p.at(0), Duration{p.at(1)}, maybe(p.at(2)), maybe(p.at(3))});
  return {std::move(points), j.at("stride").get<std::uint32_t>()};
}

json load_to_json(const JobLoad& load) {
  json j{{"presumed", load.presumed.us}, {"has_progressed", load.has_progressed}};
  if (load.began != Time::never()) j["began"] = load.began.us;
  if (load.took) j["took"] = load.took->us;
  if (load.unseen > 0) j["unseen"] = load.unseen, j["unseen_work"] = load.unseen_work.us;
  return j;
}

JobLoad load_from_json(const json& j) {
  JobLoad load;
  load.presumed = Duration{j.at("presumed")}, load.has_progressed = j.at("has_progressed");
  if (j.contains("began")) load.began = Time{j.at("began")};
  if (j.contains("took")) load.took = Duration{j.at("took")};
  load.unseen = j.value("unseen", 0U);
  load.unseen_work = Duration{j.value("unseen_work", std::int64_t{0})};
  return load;
}

json last_pause_to_json(const LastPause& pause) {
  json j{{"at", pause.at.us}, {"run", pause.run}};
  if (pause.made_room_for != 0) j["for"] = pause.made_room_for;
  if (pause.was_killed) j["lost"] = pause.lost.us;
  return j;
}

LastPause last_pause_from_json(const json& j) {
  LastPause pause{.at = Time{j.at("at")}, .run = j.at("run")};
  pause.made_room_for = j.value("for", JobNumber{0});
  pause.was_killed = j.contains("lost");
  if (pause.was_killed) pause.lost = Duration{j.at("lost")};
  return pause;
}

json promise_to_json(const StartPromise& promise) {
  json times = json::array();
  times.push_back(promise.made.us);
  for (const TimeBand* band : {&promise.drawn, &promise.told})
    for (const Time time : {band->p10, band->p50, band->p90}) times.push_back(time.us);
  return times;
}

StartPromise promise_from_json(const json& times) {
  const auto at = [&](std::size_t i) { return Time{times.at(i).get<std::int64_t>()}; };
  return {at(0), {at(1), at(2), at(3)}, {at(4), at(5), at(6)}};
}

/// Up to format 2 of the journal it was three truth values.
Ending ending_from_json(const json& j) {
  if (j.contains("ending")) return parse_ending(j.at("ending").get<std::string>()).value();
  if (!j.value("stopping", false)) return Ending::none;
  if (j.value("out_of_time", false)) return Ending::by_time_limit;
  return j.value("forced", false) ? Ending::by_operator : Ending::by_owner;
}

/// Up to format 2 of the journal it was two truth values.
OldRun old_run_from_json(const json& j) {
  if (j.contains("old_run")) return parse_old_run(j.at("old_run").get<std::string>()).value();
  if (!j.value("left_behind", false)) return OldRun::none;
  return j.value("was_leaving", false) ? OldRun::leaving : OldRun::running;
}

json run_to_json(const JobLife& life) {
  const RunProgress& p = life.progress;
  return {{"at", p.at.us},
          {"saved", p.saved.us},
          {"writing", p.writing.us},
          {"time_per_work", p.rate.time_per_work()},
          {"brought", life.brought.us}};
}

/// Records that were written before rates could change have only the work that was not saved.
void read_run(const json& j, JobLife& life) {
  const JobState& state = life.state;
  life.progress = begin_progress(state.since, state.done, {});
  life.progress.saved -= Duration{j.value("unsaved", std::int64_t{0})};
  life.brought = state.done;
  if (const auto run = j.find("run"); run != j.end()) {
    const json& pace = run->at("time_per_work");  // null: infinite, which JSON cannot say
    life.progress = {Time{run->at("at")}, state.done, Duration{run->at("saved")},
                     Duration{run->at("writing")},
                     pace.is_null() ? Rate::stopped() : Rate::taking(pace)};
    life.brought = Duration{run->at("brought")};
  }
  if (const auto believed = j.find("estimate"); believed != j.end())
    life.estimate = {Duration{believed->at(0)}, Duration{believed->at(1)},
                     Duration{believed->at(2)}};
}

void read_life(const json& j, JobRecord& job) {
  if (j.contains("task")) job.task = array_task_from_json(j.at("task"));
  job.life.state = state_from_json(j.at("state"));
  job.life.room = room_from_json(j.at("place"));
  job.life.room_for = j.value("room_for", JobNumber{0});
  if (j.contains("next")) job.life.next = room_from_json(j.at("next"));
  job.life.room.flow = FlowClass{j.value("flow", std::uint8_t{0})};
  job.life.next.flow = FlowClass{j.value("next_flow", std::uint8_t{0})};
  // Where it is not said, as it was not once, the job's room is made for it alone.
  const bool waits_for_room = job.life.state.phase == Phase::reserved;
  job.life.lead = j.value("lead", waits_for_room ? job.number : JobNumber{0});
  read_run(j, job.life);
  job.life.yielded_to = j.at("yielded_to").get<std::vector<JobNumber>>();
  job.eligible = Time{j.at("eligible")};
  job.runs = j.at("runs"), job.restarts = j.at("restarts");
  job.done_when_returned = Duration{j.value("done_when_returned", std::int64_t{0})};
  job.has_started = j.at("has_started");
  job.is_broken = j.value("broken", false);
  job.failed_starts = j.value("failed_starts", 0U);
  if (const auto granted = j.find("granted"); granted != j.end())
    job.granted = {granted->at(0), granted->at(1), granted->at(2)};
  if (const auto limit = j.find("output_limit"); limit != j.end())
    job.output_limit = limit->get<std::int64_t>();
  job.born_as = j.value("born_as", "");
  job.runs_outside = j.value("runs_outside", false);
  job.ending = ending_from_json(j), job.old_run = old_run_from_json(j);
  job.quick_returns = j.at("quick_returns");
  job.reason = j.at("reason");
  if (j.contains("exit_status")) job.exit_status = j.at("exit_status").get<int>();
  if (j.contains("curve")) job.curve = curve_from_json(j.at("curve"));
  if (j.contains("pause_took")) job.pause_took = Duration{j.at("pause_took")};
  if (j.contains("load")) job.load = load_from_json(j.at("load"));
  if (j.contains("last_pause")) job.last_pause = last_pause_from_json(j.at("last_pause"));
  if (j.contains("promise")) job.promise = promise_from_json(j.at("promise"));
  if (j.contains("progress"))
    if (auto progress = parse_progress(j.at("progress").dump())) job.progress = *progress;
}

}  // namespace

JobRecord public_part(const JobRecord& job) {
  JobRecord part;
  part.in_part = true;
  part.number = job.number;
  part.task = job.task;
  part.owner.user = job.owner.user;
  part.owner.uid = job.owner.uid;
  part.spec.name = job.spec.name;
  part.spec.job_class = job.spec.job_class;
  part.spec.workers = job.spec.workers;
  part.spec.max_workers = job.spec.max_workers;
  part.spec.per_worker = job.spec.per_worker;
  part.spec.time = job.spec.time;
  part.submitted = job.submitted;
  part.eligible = job.eligible;
  part.life.state = job.life.state;
  part.load.began = job.load.began;
  if (job.is_paused()) part.runs = part.last_pause.run = job.runs;
  part.life.room.placement = job.life.room.placement;
  part.life.room.gpus = job.life.room.gpus;
  part.waits_by = job.waits_by;
  part.expected_start = job.expected_start;
  return part;
}

namespace {

constexpr std::size_t kShortCommand = 256;  // bytes of a command that stay in the record

std::size_t bytes_of(const std::vector<std::string>& words) {
  std::size_t bytes = 0;
  for (const std::string& word : words) bytes += word.size() + 1;
  return bytes;
}

/// The words that fit, and what fits of the next one.
std::vector<std::string> beginning_of(const std::vector<std::string>& words) {
  std::vector<std::string> kept;
  std::size_t left = kShortCommand;
  for (const std::string& word : words) {
    if (word.size() >= left) {
      std::size_t end = left;
      while (end > 0 && (static_cast<unsigned char>(word[end]) & 0xc0) == 0x80) --end;
      kept.push_back(word.substr(0, end) + "...");
      break;
    }
    kept.push_back(word);
    left -= word.size() + 1;
  }
  return kept;
}

}  // namespace

JobPayload take_payload(JobSpec& spec) {
  JobPayload payload{std::exchange(spec.script, {}), std::exchange(spec.environment, {}), {}, {}};
  if (!payload.script.empty()) spec.script = "#!";
  if (bytes_of(spec.command) > kShortCommand) {
    payload.command = std::move(spec.command);
    spec.command = beginning_of(payload.command);
  }
  return payload;
}

std::size_t memory_of(const JobSpec& spec) {
  // Measured: 1.9 kB of each of 100,000 small jobs that wait.
  constexpr std::size_t kJob = 2048, kWord = sizeof(std::string) + 16;
  std::size_t texts = 0;
  for (const std::string* text : {&spec.name, &spec.directory, &spec.output, &spec.error,
                                  &spec.gpu_kind, &spec.constraint, &spec.model, &spec.measured_on})
    texts += text->size();
  const std::size_t command = std::min(bytes_of(spec.command), kShortCommand);
  return kJob + texts + command + std::min(spec.command.size(), kShortCommand) * kWord +
         spec.after.size() * 4 * sizeof(JobNumber);
}

void put_payload(JobSpec& spec, JobPayload payload) {
  spec.script = std::move(payload.script);
  spec.environment = std::move(payload.environment);
  if (!payload.command.empty()) spec.command = std::move(payload.command);
}

std::string to_json(const JobPayload& payload) {
  json parts{{"script", payload.script}, {"environment", payload.environment}};
  if (!payload.command.empty()) parts["command"] = payload.command;
  return parts.dump();
}

std::optional<Duration> JobRecord::pause_cost() const {
  if (!load.took) return {};
  std::optional<Duration> leave = pause_took;
  if (!leave && progress && progress->save_s)
    if (const auto save = duration_from_seconds(*progress->save_s)) leave = *save;
  if (!leave) return {};
  return *leave + *load.took;
}

std::string name_of(const JobRecord& job) {
  if (job.task.array == 0) return std::to_string(job.number);
  return fmt::format("{}_{}", job.task.array, job.task.task);
}

namespace {

std::vector<std::size_t> gpu_numbers(const json& j) {
  if (j.is_array()) return j;
  std::vector<std::size_t> numbers;
  for (std::uint64_t left = j; left != 0; left &= left - 1)
    numbers.push_back(static_cast<std::size_t>(std::countr_zero(left)));
  return numbers;
}

}  // namespace

std::string with_gpu_names(std::string life, const std::vector<std::string>& names) try {
  json j = json::parse(life);
  for (const char* room : {"place", "next"}) {
    if (!j.contains(room)) continue;
    for (json& share : j[room]) {
      json gpus = json::array();
      for (const std::size_t gpu : gpu_numbers(share.at("gpus")))
        gpus.push_back(gpu < names.size() ? names[gpu] : std::to_string(gpu));
      share["gpus"] = std::move(gpus);
    }
  }
  return j.dump(-1, ' ', false, json::error_handler_t::replace);
} catch (const json::exception&) {
  return life;
}

std::string life_to_json(const JobRecord& job) {
  json j{{"state", state_to_json(job.life.state)},
         {"place", room_to_json(job.life.room)},
         {"eligible", job.eligible.us},
         {"runs", job.runs},
         {"restarts", job.restarts},
         {"has_started", job.has_started},
         {"quick_returns", job.quick_returns},
         {"reason", job.reason},
         {"yielded_to", job.life.yielded_to}};
  if (job.ending != Ending::none) j["ending"] = name(job.ending);
  if (job.old_run != OldRun::none) j["old_run"] = name(job.old_run);
  if (job.life.room_for != 0) j["room_for"] = job.life.room_for;
  if (!job.life.next.placement.empty()) j["next"] = room_to_json(job.life.next);
  put_flow(j, "flow", job.life.room);
  put_flow(j, "next_flow", job.life.next);
  if (job.life.lead != 0) j["lead"] = job.life.lead;
  if (!job.life.room.placement.empty()) j["run"] = run_to_json(job.life);
  if (const Estimate& e = job.life.estimate; e != Estimate{})
    j["estimate"] = {e.work.us, e.pause.us, e.load.us};
  if (job.task.array != 0) j["task"] = to_json(job.task);
  if (job.is_broken) j["broken"] = true;
  if (job.failed_starts > 0) j["failed_starts"] = job.failed_starts;
  if (const Resources& each = job.granted; each != Resources{})
    j["granted"] = {each.gpus, each.milli_cpus, each.memory_mib};
  if (job.output_limit) j["output_limit"] = *job.output_limit;
  if (!job.born_as.empty()) j["born_as"] = job.born_as;
  if (job.runs_outside) j["runs_outside"] = true;
  if (job.done_when_returned.us != 0) j["done_when_returned"] = job.done_when_returned.us;
  if (job.exit_status) j["exit_status"] = *job.exit_status;
  if (!job.curve.points().empty()) j["curve"] = curve_to_json(job.curve);
  if (job.pause_took) j["pause_took"] = job.pause_took->us;
  if (job.load != JobLoad{}) j["load"] = load_to_json(job.load);
  if (job.last_pause.run != 0) j["last_pause"] = last_pause_to_json(job.last_pause);
  if (job.promise.made != Time::never()) j["promise"] = promise_to_json(job.promise);
  if (job.progress) j["progress"] = progress_to_json(*job.progress);
  return j.dump(-1, ' ', false, json::error_handler_t::replace);
}

Expected<void> life_from_json(std::string_view text, JobRecord& job) {
  try {
    read_life(json::parse(text), job);
  } catch (const std::exception& error) {  // of the format, or of a word that is not known
    return fail("job {}: its life cannot be read: {}", job.number, error.what());
  }
  return {};
}

}  // namespace trainyard
