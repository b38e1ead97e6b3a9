#include "live/book/job_words.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <vector>

namespace trainyard {
namespace {

constexpr std::array<std::string_view, kHappenings> kHappeningNames{"submitted",
                                                                    "queued",
                                                                    "starting",
                                                                    "running",
                                                                    "loaded",
                                                                    "pausing",
                                                                    "paused",
                                                                    "returned",
                                                                    "lost",
                                                                    "broken",
                                                                    "cancelling",
                                                                    "stopping",
                                                                    "noted",
                                                                    "done",
                                                                    "failed",
                                                                    "cancelled",
                                                                    "machine closed",
                                                                    "machine opened",
                                                                    "machine down",
                                                                    "machine up",
                                                                    "cluster changed",
                                                                    "policy changed",
                                                                    "erasing suspended",
                                                                    "erasing resumed"};
constexpr std::array<std::string_view, 5> kWaitNames{"", "dependency", "held", "resources",
                                                     "priority"};
constexpr std::array<std::string_view, 4> kEndingNames{"none", "owner", "operator", "time limit"};
constexpr std::array<std::string_view, 3> kOldRunNames{"none", "running", "leaving"};

/// The value of an enumeration whose names these are, in its order.
template <class Enum, std::size_t n>
std::optional<Enum> parse(const std::array<std::string_view, n>& names, std::string_view text) {
  const auto* found = std::ranges::find(names, text);
  if (found == names.end()) return {};
  return static_cast<Enum>(found - names.begin());
}

std::string joined(std::string_view between, bool with_ends) {
  std::vector<std::string_view> words;
  for (const Phase state : kJobStates)
    if (with_ends || !has_ended(state)) words.push_back(state_name(state));
  return fmt::format("{}", fmt::join(words, between));
}

}  // namespace

std::string_view state_name(Phase state) {
  return state == Phase::absent ? "held" : name(state);
}

std::optional<Phase> parse_state(std::string_view name) {
  for (const Phase state : kJobStates)
    if (state_name(state) == name) return state;
  return {};
}

std::string state_names(std::string_view between) {
  return joined(between, true);
}

std::string unfinished_state_names(std::string_view between) {
  return joined(between, false);
}

std::string_view name(Happening happening) {
  return kHappeningNames[static_cast<std::size_t>(happening)];
}

std::optional<Happening> parse_happening(std::string_view name) {
  return parse<Happening>(kHappeningNames, name);
}

std::string_view name(WaitsBy waits_by) {
  return kWaitNames[static_cast<std::size_t>(waits_by)];
}

std::string_view name(Ending ending) {
  return kEndingNames[static_cast<std::size_t>(ending)];
}

std::optional<Ending> parse_ending(std::string_view name) {
  return parse<Ending>(kEndingNames, name);
}

std::string_view name(OldRun old_run) {
  return kOldRunNames[static_cast<std::size_t>(old_run)];
}

std::optional<OldRun> parse_old_run(std::string_view name) {
  return parse<OldRun>(kOldRunNames, name);
}

}  // namespace trainyard
