#include "live/service/event_log.h"

#include <algorithm>
#include <array>
#include <nlohmann/json.hpp>
#include <utility>

namespace trainyard {
namespace {

using nlohmann::json;

/// Fewer events of a kind at once have a line each: operators look for a job by its number.
constexpr std::size_t kMany = 64;

struct Wording {
  std::string_view text;
  LogLevel level;
};

/// By Happening.
constexpr std::array<Wording, kHappenings> kWordings{{
    {"was submitted", LogLevel::debug},
    {"is in the queue", LogLevel::debug},
    {"is starting", LogLevel::info},
    {"is running", LogLevel::debug},
    {"has loaded", LogLevel::debug},
    {"is asked to leave", LogLevel::info},
    {"has left, and is in the queue again", LogLevel::info},
    {"is in the queue again", LogLevel::info},
    {"has lost its run", LogLevel::error},
    {"has lost a part of its run, and is told to leave", LogLevel::error},
    {"is to be cancelled", LogLevel::info},
    {"is to end", LogLevel::info},
    {"has a note from the engine", LogLevel::warning},
    {"is done", LogLevel::info},
    {"has failed", LogLevel::warning},
    {"has been cancelled", LogLevel::info},
    {"machine closed", LogLevel::info},
    {"machine opened", LogLevel::info},
    {"machine down", LogLevel::error},
    {"machine up", LogLevel::info},
    {"cluster changed", LogLevel::info},
    {"policy changed", LogLevel::info},
    {"erasing is suspended", LogLevel::warning},
    {"erasing goes on", LogLevel::info},
}};

/// A kind that is not known is told as it is.
Wording wording_of(const LiveEvent& event) {
  const auto known = parse_happening(event.kind);
  return known ? kWordings[static_cast<std::size_t>(*known)] : Wording{event.kind, LogLevel::info};
}

std::string word(const json& value) {
  if (value.is_string()) return value.get<std::string>();
  if (!value.is_array()) return value.dump(-1, ' ', false, json::error_handler_t::replace);
  std::string list;
  for (const json& part : value) list += (list.empty() ? "" : ",") + word(part);
  return list;
}

/// "gpus 0,1, run 1"; what is empty or said already is left out, and a reason stands alone.
std::string words_of(const std::string& details) {
  std::string text;
  const json fields = json::parse(details, nullptr, false);
  if (!fields.is_object()) return text;
  for (const auto& [key, value] : fields.items()) {
    std::string said = word(value), name = key;
    if (said.empty()) continue;
    std::ranges::replace(name, '_', ' ');
    if (key != "reason" && key != "why") said = name + " " + said;
    if (text.find(said) == std::string::npos) text += (text.empty() ? "" : ", ") + said;
  }
  return text;
}

/// The same for events that differ in their job alone.
std::string key_of(const LiveEvent& event) {
  return fmt::format("{}\n{}\n{}", event.kind, event.user, event.details);
}

}  // namespace

void EventLog::add(std::span<const LiveEvent> events) {
  std::map<std::string, std::size_t> counts;
  const auto is_told = [&](const LiveEvent& event) { return log_.takes(wording_of(event).level); };
  for (const LiveEvent& event : events)
    if (is_told(event) && event.job != 0) ++counts[key_of(event)];
  for (const LiveEvent& event : events) {
    if (!is_told(event)) continue;
    const std::string key = key_of(event);
    const auto known = groups_.find(key);
    if (known == groups_.end() && counts[key] < kMany) {
      write({event, event.job, event.job, 1});
      continue;
    }
    Group& group = known != groups_.end() ? known->second : groups_[key];
    if (group.count++ == 0) group.first = event, group.lowest = group.highest = event.job;
    group.lowest = std::min(group.lowest, event.job);
    group.highest = std::max(group.highest, event.job);
    group.has_grown = true;
  }
}

void EventLog::settle() {
  for (auto entry = groups_.begin(); entry != groups_.end();) {
    const bool has_grown = std::exchange(entry->second.has_grown, false);
    if (!has_grown) write(entry->second);
    entry = has_grown ? std::next(entry) : groups_.erase(entry);
  }
}

void EventLog::flush() {
  for (const auto& [key, group] : std::exchange(groups_, {})) write(group);
}

void EventLog::write(const Group& group) {
  const LiveEvent& event = group.first;
  const Wording wording = wording_of(event);
  std::string line(wording.text);
  if (group.count > 1)
    line = fmt::format("each of {} jobs of {}, {} to {}, {}", group.count, event.user, group.lowest,
                       group.highest, wording.text);
  else if (event.job != 0)
    line = fmt::format("job {} of {} {}", event.job, event.user, wording.text);
  if (const std::string words = words_of(event.details); !words.empty()) line += ": " + words;
  log_.write(wording.level, line);
}

}  // namespace trainyard
