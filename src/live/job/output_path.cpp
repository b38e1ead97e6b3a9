#include "live/job/output_path.h"

#include <algorithm>

namespace trainyard {
namespace {

constexpr std::size_t kMostDigits = 10;
constexpr std::int64_t kNoTask = 4'294'967'294;  // what Slurm writes for %a of a job without array

/// Empty for a letter that stands for nothing.
std::string meaning(char letter, std::size_t digits, const OutputNames& names) {
  const auto number = [&](std::int64_t value) { return fmt::format("{:0{}}", value, digits); };
  const bool is_task = names.task.array != 0;
  const bool is_step = names.step >= 0;
  switch (letter) {
    case 'j':
      return number(names.job);
    case 'J':
      return is_step ? fmt::format("{}.{}", names.job, names.step) : number(names.job);
    case 's':
      return is_step ? number(names.step) : "batch";
    case 'A':
      return number(is_task ? names.task.array : names.job);
    case 'a':
      return number(is_task ? names.task.task : kNoTask);
    case 't':
      return number(names.rank);
    case 'n':
      return number(0);
    case 'x':
      return std::string(names.name);
    case 'u':
      return std::string(names.user);
    case 'N':
      return std::string(names.host);
    case '%':
      return "%";
    default:
      return "";
  }
}

}  // namespace

std::string output_path(std::string_view pattern, const OutputNames& names) {
  std::string path;
  for (std::size_t at = 0; at < pattern.size(); ++at) {
    if (pattern[at] != '%') {
      path += pattern[at];
      continue;
    }
    std::size_t letter = at + 1, digits = 0;
    for (; letter < pattern.size() && pattern[letter] >= '0' && pattern[letter] <= '9'; ++letter)
      digits = std::min(digits * 10 + static_cast<std::size_t>(pattern[letter] - '0'), kMostDigits);
    const std::string text = letter < pattern.size() ? meaning(pattern[letter], digits, names) : "";
    if (text.empty()) {
      path += '%';
    } else {
      path += text;
      at = letter;
    }
  }
  return path;
}

bool has_rank(std::string_view pattern) {
  OutputNames one, other;
  other.rank = 1;
  return output_path(pattern, one) != output_path(pattern, other);
}

}  // namespace trainyard
