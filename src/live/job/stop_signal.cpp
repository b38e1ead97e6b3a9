// Stop signals as text, declared in job_spec.h.
#include <charconv>
#include <csignal>
#include <cstring>

#include "live/job/job_spec.h"

namespace trainyard {
namespace {

constexpr int kNamed = 31;          // signals with a name of their own
constexpr int kMostAhead = 65'535;  // as sbatch has it

/// All of `text`, digits only.
Expected<int> whole(std::string_view text, int low, int high) {
  int value = 0;
  const auto [end, problem] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (problem != std::errc{} || end != text.data() + text.size() || value < low || value > high)
    return fail("{} is not a whole number from {} to {}", trainyard::quoted(text), low, high);
  return value;
}

Expected<int> signal_number(std::string_view text) {
  if (!text.empty() && text[0] >= '0' && text[0] <= '9') return whole(text, 1, SIGRTMAX);
  const std::string_view word = text.starts_with("SIG") ? text.substr(3) : text;
  std::vector<std::string_view> known;
  for (int number = 1; number <= kNamed; ++number) {
    known.emplace_back(sigabbrev_np(number));
    if (known.back() == word) return number;
  }
  return fail("{} is not a signal{}", trainyard::quoted(text), did_you_mean(word, known));
}

}  // namespace

Expected<StopSignal> parse_stop_signal(std::string_view text) {
  StopSignal signal;
  std::string_view rest = text;
  if (rest.starts_with("B:")) {
    signal.leader_only = true;
    rest.remove_prefix(2);
  }
  if (const auto at = rest.find('@'); at != std::string_view::npos) {
    const auto ahead = whole(rest.substr(at + 1), 0, kMostAhead);
    if (!ahead)
      return fail("{}: after @ stand the seconds, and {}", trainyard::quoted(text),
                  ahead.error().message);
    signal.ahead = seconds(*ahead);
    rest = rest.substr(0, at);
  }
  const auto number = signal_number(rest);
  if (!number)
    return fail("{}: {}; write it as [B:]USR1[@SECONDS]", trainyard::quoted(text),
                number.error().message);
  if (*number == SIGKILL || *number == SIGSTOP)
    return fail("{}: no program can act on this signal; USR1 or TERM would do",
                trainyard::quoted(text));
  signal.number = *number;
  return signal;
}

std::string format(const StopSignal& signal) {
  if (signal.number == 0) return "";
  const char* name = signal.number <= kNamed ? sigabbrev_np(signal.number) : nullptr;
  std::string text = signal.leader_only ? "B:" : "";
  text += name != nullptr ? std::string(name) : std::to_string(signal.number);
  if (signal.ahead.us > 0) text += fmt::format("@{}", signal.ahead / seconds(1));
  return text;
}

}  // namespace trainyard
