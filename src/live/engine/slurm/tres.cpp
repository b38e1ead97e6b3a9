#include "live/engine/slurm/tres.h"

#include <algorithm>
#include <charconv>
#include <limits>

#include "model/cluster.h"

namespace trainyard {
namespace {

/// Splits off what stands before the first `at` outside of parentheses.
std::string_view take_part(std::string_view& text, std::string_view at) {
  int depth = 0;
  std::size_t end = 0;
  for (; end < text.size(); ++end) {
    if (text[end] == '(') ++depth;
    if (text[end] == ')') --depth;
    if (depth <= 0 && at.find(text[end]) != std::string_view::npos) break;
  }
  const std::string_view part = text.substr(0, end);
  text.remove_prefix(std::min(end + 1, text.size()));
  return part;
}

bool read_count(std::string_view text, std::int64_t& count) {
  const auto [end, failed] = std::from_chars(text.data(), text.data() + text.size(), count);
  if (failed != std::errc() || count < 0) return false;
  const std::string_view unit(end, static_cast<std::size_t>(text.data() + text.size() - end));
  if (unit == "K") count *= 1024;
  return unit.empty() || unit == "K";
}

/// "gpu", "gpu:4", "gpu:v100:4", each with "gres:" or "gres/" before it or not.
void add_gpus(std::string_view item, SlurmGpus& gpus) {
  item = item.substr(0, item.find('('));
  for (const std::string_view prefix : {"gres:", "gres/"})
    if (item.starts_with(prefix)) item.remove_prefix(prefix.size());
  if (take_part(item, ":=") != "gpu") return;
  std::string_view kind;
  std::int64_t count = 1;
  while (!item.empty()) {
    const std::string_view part = take_part(item, ":=");
    std::int64_t number = 0;
    if (item.empty() && read_count(part, number))
      count = number;
    else if (kind.empty())
      kind = part;
  }
  constexpr std::int64_t kMost = std::numeric_limits<std::int32_t>::max();
  gpus.count =
      static_cast<std::int32_t>(std::min<std::int64_t>(std::min(count, kMost) + gpus.count, kMost));
  if (gpus.kind.empty()) gpus.kind = kind;
}

}  // namespace

SlurmGpus parse_tres_gpus(std::string_view text) {
  SlurmGpus gpus;
  while (!text.empty()) add_gpus(take_part(text, ",;"), gpus);
  return gpus;
}

std::vector<std::int32_t> parse_gpu_numbers(std::string_view text) {
  std::vector<std::int32_t> numbers;
  while (!text.empty()) {
    const std::string_view item = take_part(text, ",;");
    if (!item.starts_with("gpu")) continue;
    const std::size_t begin = item.find("IDX:");
    if (begin == std::string_view::npos) continue;
    std::string_view list = item.substr(begin + 4);
    list = list.substr(0, list.find(')'));
    while (!list.empty()) {
      std::string_view range = take_part(list, ",");
      std::int64_t low = 0, high = 0;
      if (!read_count(take_part(range, "-"), low)) continue;
      if (range.empty() || !read_count(range, high)) high = low;
      for (std::int64_t gpu = low; gpu <= high && gpu < kMaxGpusPerMachine; ++gpu)
        numbers.push_back(static_cast<std::int32_t>(gpu));
    }
  }
  std::ranges::sort(numbers);
  return numbers;
}

}  // namespace trainyard
