#include "live/sbatch/batch_script.h"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "live/sbatch/job_options.h"

namespace trainyard {
namespace {

constexpr std::size_t kLongestGuessed = 64;  // words beyond resemble none, and cost time

/// The words of a line: spaces part them unless quoted, and # begins a comment.
Expected<std::vector<std::string>> words_of(std::string_view line) {
  std::vector<std::string> words;
  std::string word;
  bool in_word = false;
  char quote = 0;
  for (const char c : line) {
    if (quote != 0 ? c == quote : c == '"' || c == '\'') {
      quote = quote != 0 ? '\0' : c;
      in_word = true;
    } else if (quote == 0 && (c == ' ' || c == '\t')) {
      if (in_word) words.push_back(std::exchange(word, {}));
      in_word = false;
    } else if (quote == 0 && c == '#' && !in_word) {
      break;
    } else {
      word += c;
      in_word = true;
    }
  }
  if (quote != 0) return fail("a quotation mark is not closed");
  if (in_word) words.push_back(word);
  return words;
}

/// The options of one line, one after the other, each with its value.
class OptionLine {
 public:
  explicit OptionLine(std::vector<std::string> words) : words_(std::move(words)) {}

  [[nodiscard]] bool done() const { return at_ == words_.size(); }
  /// Takes the next option off the line: "--x", "--x=1", "-x" or "-x1".
  void next() {
    word_ = words_[at_++];
    value_.reset();
    const std::size_t sign = word_.find('=');
    const bool is_letter = word_.size() > 2 && word_[0] == '-' && word_[1] != '-';
    if (word_.starts_with("--") && sign != std::string::npos) {
      value_ = word_.substr(sign + 1);
      word_.resize(sign);
    } else if (is_letter) {
      value_ = word_.substr(2);
      word_.resize(2);
    }
  }
  [[nodiscard]] const std::string& name() const { return word_; }

  /// Its value, which may be the next word of the line.
  Expected<std::string> value() {
    if (!value_ && !done() && !words_[at_].starts_with('-')) value_ = words_[at_++];
    if (!value_ || value_->empty()) return fail("{}: its value is missing", word_);
    return *value_;
  }
  /// Only what follows "=".
  [[nodiscard]] std::string value_if_any() const { return value_.value_or(""); }
  [[nodiscard]] Expected<void> no_value() const {
    if (value_)
      return fail("{}: takes no value, and {} is given", word_, trainyard::quoted(*value_));
    return {};
  }

 private:
  std::vector<std::string> words_;
  std::size_t at_ = 0;
  std::string word_;
  std::optional<std::string> value_;
};

/// All lines at the top of a script.
struct Head {
  SbatchWishes wishes;
  struct OwnOption {
    const JobOption* option;
    std::string value, where;
  };
  std::vector<OwnOption> own;
  std::vector<std::string> warnings;
};

Expected<std::string> value_of(OptionLine& line, SbatchOption::Value kind) {
  if (kind == SbatchOption::Value::required) return line.value();
  if (kind == SbatchOption::Value::optional) return line.value_if_any();
  if (auto ok = line.no_value(); !ok) return tl::make_unexpected(ok.error());
  return "";
}

Expected<void> read_sbatch(OptionLine line, std::string_view where, Head& head) {
  using Fate = SbatchOption::Fate;
  while (!line.done()) {
    line.next();
    const SbatchOption* option = find_sbatch_option(line.name());
    if (!line.name().starts_with('-'))
      return fail("{} is neither an option nor the value of one", trainyard::quoted(line.name()));
    if (option == nullptr) {
      std::vector<std::string_view> known;
      for (const SbatchOption& each : sbatch_options()) known.push_back(each.name);
      return fail("sbatch has no option {}{}", trainyard::quoted(line.name()),
                  did_you_mean(line.name().substr(0, kLongestGuessed), known));
    }
    if (option->fate == Fate::refused)
      return fail("{} is not supported: {}", option->name, option->text);
    const auto value = value_of(line, option->value);
    if (!value) return tl::make_unexpected(value.error());
    if (option->fate == Fate::ignored) {
      head.warnings.push_back(
          fmt::format("{}: {} is ignored: {}", where, option->name, option->text));
    } else if (auto ok = take(*option, *value, head.wishes); !ok) {
      return fail("{}: {}", option->name, ok.error().message);
    }
  }
  return {};
}

Expected<void> read_own(OptionLine line, std::string_view where, Head& head) {
  std::vector<std::string_view> known;
  for (const JobOption& option : job_options()) known.push_back(option.name);
  while (!line.done()) {
    line.next();
    const auto at = std::ranges::find(known, line.name());
    if (at == known.end())
      return fail("unknown option {}{}", trainyard::quoted(line.name()),
                  did_you_mean(line.name().substr(0, kLongestGuessed), known));
    const JobOption& option = job_options()[static_cast<std::size_t>(at - known.begin())];
    auto value = value_of(
        line, option.is_switch() ? SbatchOption::Value::none : SbatchOption::Value::required);
    if (!value) return tl::make_unexpected(value.error());
    head.own.push_back({&option, *std::move(value), std::string(where)});
  }
  return {};
}

/// What follows the prefix and a space; nothing in other lines.
std::optional<std::string_view> options_in(std::string_view line, std::string_view prefix) {
  if (!line.starts_with(prefix) || line.size() == prefix.size()) return {};
  if (line[prefix.size()] != ' ' && line[prefix.size()] != '\t') return {};
  return line.substr(prefix.size());
}

/// The first of those that come too late to count is told of.
Expected<Head> read_head(std::string_view text, std::string_view where) {
  Head head;
  head.wishes.spec.directory.clear();
  bool is_top = true;
  for (std::size_t number = 1; !text.empty(); ++number) {
    const std::string_view line = text.substr(0, text.find('\n'));
    text.remove_prefix(std::min(line.size() + 1, text.size()));
    if (line.find_first_not_of(" \t") == std::string_view::npos) continue;
    is_top = is_top && line.starts_with('#');
    const auto sbatch = options_in(line, "#SBATCH"), own = options_in(line, "#TRAINYARD");
    if (!sbatch && !own) continue;
    const std::string here = fmt::format("{}:{}", where, number);
    if (!is_top) {
      head.warnings.push_back(
          fmt::format("{}: is not read, as a command stands before it; move it to the top", here));
      break;
    }
    if (sbatch) head.wishes.spec.runs_once = true;
    auto words = words_of(sbatch ? *sbatch : *own);
    if (!words) return fail_at(here, words.error());
    OptionLine options(*std::move(words));
    auto ok = sbatch ? read_sbatch(std::move(options), here, head)
                     : read_own(std::move(options), here, head);
    if (!ok) return fail_at(here, ok.error());
  }
  return head;
}

}  // namespace

Expected<BatchScript> parse_batch_script(std::string_view text, std::string_view where) {
  if (text.find("\r\n") != std::string_view::npos)
    return fail(
        "{0}: its lines end as in DOS (\\r\\n), and shells stumble over that; run sed -i "
        "'s/\\r$//' {0}",
        where);
  auto head = read_head(text, where);
  if (!head) return tl::make_unexpected(head.error());
  BatchScript script{{}, head->wishes.exported, std::move(head->warnings)};
  auto spec = add_up(std::move(head->wishes));
  if (!spec) return fail_at(where, spec.error());
  // What is said in our own words goes before what was said for Slurm.
  for (const Head::OwnOption& own : head->own)
    if (auto ok = set_job_option(*spec, *own.option, own.value); !ok)
      return fail_at(own.where, ok.error());
  if (auto ok = set_job_field(*spec, "script", text); !ok)
    return fail("{}: {}", where, ok.error().message);
  if (spec->script.empty()) return fail("{}: is empty", where);
  script.spec = *std::move(spec);
  return script;
}

}  // namespace trainyard
