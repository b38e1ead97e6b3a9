// What the API answers, as text for people: states, times, places, tables. The texts in it are
// visible already (ClientOptions::is_exact).
#pragma once

#include <cstdint>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>
#include <vector>

namespace trainyard::cli {

/// A state, as it stands behind "job 3": "is running", "has failed", "was cancelled".
std::string in_words(std::string_view state);

/// "2m 10s ago" and the like; "-" for null.
std::string ago(const nlohmann::json& seconds_since_epoch);
/// How long the job has been in its state, in seconds.
double age(const nlohmann::json& job);
/// Seconds as "1h 30m"; "-" for null.
std::string span(const nlohmann::json& seconds);
/// "Tue 17 Nov 14:05", here.
std::string clock(const nlohmann::json& seconds_since_epoch);
/// "in about 2h10m".
std::string from_now(const nlohmann::json& seconds_since_epoch);
/// "in about 2h (40m to 5h)" of a band of times; empty if it is not known.
std::string expected(const nlohmann::json& band);
/// "r0m0:0,1 r0m1:0" or "-".
std::string places(const nlohmann::json& job);
/// " (2..8)" of a job whose size may vary, each number times so many; nothing of any other.
std::string size_range(const nlohmann::json& job, std::int64_t times = 1);
/// Columns as wide as they need be; the first row is the heading.
std::string table(const std::vector<std::vector<std::string>>& rows);
/// A job's state as people call it: one that gave way and waits to go on is paused.
std::string state_in_queue(const nlohmann::json& job);
/// "2m ago, to make room for job 12; it left after 2s" of the last pause of a job.
std::string pause_text(const nlohmann::json& pause);
/// Jobs as `queue` and `watch` list them.
std::string job_table(const nlohmann::json& jobs);
/// Machines as `nodes` and `watch` list them.
std::string machine_table(const nlohmann::json& cluster);

}  // namespace trainyard::cli
