#include "live/engine/slurm/comment.h"

#include <algorithm>
#include <array>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "live/job/utf8.h"

namespace trainyard {
namespace {

constexpr std::string_view kCommentBegins = "trainyard:", kTold = "told";
constexpr std::array<std::string_view, 6> kKeys{"class",  "grace", "model",
                                                "signal", "time",  "measured_on"};

/// Plain numbers are seconds wherever a duration is meant.
nlohmann::json as_value(std::string_view key, std::string_view text) {
  const bool is_duration = key == "grace" || key == "time";
  const bool is_number = !text.empty() && text.size() <= 9 &&
                         std::ranges::all_of(text, [](char c) { return c >= '0' && c <= '9'; });
  if (is_duration && is_number) return std::stoll(std::string(text));
  return std::string(text);
}

Expected<void> read_word(std::string_view word, JobSpec& spec) {
  const std::size_t equals = word.find('=');
  if (equals == std::string_view::npos || equals + 1 == word.size())
    return fail("{} is not of the form key=value", quoted(word));
  const std::string_view key = word.substr(0, equals), value = word.substr(equals + 1);
  if (std::ranges::find(kKeys, key) == kKeys.end())
    return fail("unknown key {}{}; known are class, grace, model, signal, time and measured_on",
                quoted(key), key.size() > 32 ? "" : did_you_mean(key, kKeys));
  return set_job_field(spec, key, as_value(key, value));
}

}  // namespace

bool is_told_word(std::string_view word) {
  if (!word.starts_with(kTold)) return false;
  word.remove_prefix(kTold.size());
  const std::size_t digits = std::min(word.find_first_not_of("0123456789"), word.size());
  return digits > 0 && word.substr(digits).starts_with("={");
}

std::optional<JobProgress> told_in_comment(std::string_view comment, std::uint32_t restarts) {
  if (!comment.starts_with(kCommentBegins)) return {};
  const std::string begin = fmt::format(" {}{}=", kTold, restarts);
  const std::size_t found = comment.rfind(begin);
  if (found == std::string_view::npos) return {};
  const std::string_view text = comment.substr(found + begin.size());
  const auto progress = parse_progress(text.substr(0, text.find(' ')));
  return progress ? std::optional(*progress) : std::nullopt;
}

Expected<void> read_slurm_comment(std::string_view comment, JobSpec& spec) {
  if (!comment.starts_with(kCommentBegins)) return {};
  comment.remove_prefix(kCommentBegins.size());
  if (!is_utf8(std::string(comment))) return fail("the comment is not UTF-8");
  std::vector<std::string_view> seen;
  while (!comment.empty()) {
    const std::size_t space = std::min(comment.find_first_of(" \t"), comment.size());
    const std::string_view word = comment.substr(0, space);
    comment.remove_prefix(std::min(space + 1, comment.size()));
    if (word.empty() || is_told_word(word)) continue;
    const std::string_view key = word.substr(0, word.find('='));
    if (std::ranges::find(seen, key) != seen.end())
      return fail("{} stands there twice", quoted(key));
    seen.push_back(key);
    if (auto ok = read_word(word, spec); !ok) return fail_at("comment", ok.error());
  }
  return {};
}

}  // namespace trainyard
