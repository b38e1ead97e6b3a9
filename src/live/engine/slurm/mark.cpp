#include "live/engine/slurm/mark.h"

#include <fmt/format.h>

#include <charconv>

#include "live/engine/slurm/comment.h"

namespace trainyard {
namespace {

constexpr std::string_view kMarkBegins = "trainyard: ";
constexpr std::string_view kNotTaken = "trainyard: not taken: ";

template <class Number>
bool read_number(std::string_view text, Number& number) {
  const auto [end, failed] = std::from_chars(text.data(), text.data() + text.size(), number);
  return failed == std::errc() && end == text.data() + text.size();
}

bool read_field(std::string_view word, SlurmMark& mark) {
  const std::size_t equals = word.find('=');
  if (equals == std::string_view::npos) return false;
  const std::string_view key = word.substr(0, equals), value = word.substr(equals + 1);
  if (key == "job") return read_number(value, mark.job) && mark.job > 0;
  if (key == "run") return read_number(value, mark.run);
  if (key == "restarts") return read_number(value, mark.restarts);
  if (key == "birth") return read_number(value, mark.birth) && mark.birth > 0;
  if (key == "since") return read_number(value, mark.since);
  if (key == "of") return mark.daemon = value, !value.empty();
  return false;
}

}  // namespace

std::string format(const SlurmMark& mark) {
  return fmt::format("{}job={} run={} restarts={} birth={} since={} of={}", kMarkBegins, mark.job,
                     mark.run, mark.restarts, mark.birth, mark.since, mark.daemon);
}

std::optional<SlurmMark> parse_mark(std::string_view text) {
  if (!text.starts_with(kMarkBegins)) return {};
  text.remove_prefix(kMarkBegins.size());
  SlurmMark mark;
  while (!text.empty()) {
    const std::size_t space = std::min(text.find(' '), text.size());
    const std::string_view word = text.substr(0, space);
    if (!is_told_word(word) && !read_field(word, mark)) return {};
    text.remove_prefix(std::min(space + 1, text.size()));
  }
  if (mark.job == 0 || mark.daemon.empty()) return {};
  return mark;
}

std::string not_taken(std::string_view why) {
  return fmt::format("{}{}", kNotTaken, why);
}

bool is_ours(std::string_view text) {
  return text.starts_with(kMarkBegins);
}

}  // namespace trainyard
