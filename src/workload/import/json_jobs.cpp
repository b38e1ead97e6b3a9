#include "workload/import/json_jobs.h"

#include <algorithm>

namespace trainyard {
namespace {

/// Far more than any job of a trace has; a guard against files that are no traces.
constexpr std::size_t kLargestJob = std::size_t{16} << 20;
constexpr std::size_t kDeepest = 32;

}  // namespace

JsonJobs::JsonJobs(const Source& source) : text_(source.text), fields_(source) {
  if (text_.starts_with("\xef\xbb\xbf")) position_ = 3;
  fields_.at_line(1);
}

bool JsonJobs::next() {
  if (failed() || !open_or_separate()) return false;
  fields_.at_line(line_);
  if (text_[position_] != '{') return refuse("expected a job, as an object in {}");
  const std::size_t size = object_size();
  if (size == 0) return false;
  const std::string_view object = text_.substr(position_, size);
  job_ = nlohmann::json::parse(object.begin(), object.end(), nullptr, false);
  if (job_.is_discarded()) return refuse("the job that begins here is not valid JSON");
  line_ += static_cast<std::size_t>(std::count(object.begin(), object.end(), '\n'));
  position_ += size;
  return true;
}

/// To the next element of the array; false at its end or when something else is there.
bool JsonJobs::open_or_separate() {
  if (!skip_blanks()) return false;
  const char c = text_[position_];
  if (first_ && c != '[') return refuse("expected an array of jobs, which begins with '['");
  if (!first_ && c != ',' && c != ']') return refuse("expected ',' or ']' after a job");
  ++position_;
  if (c == '[' && !skip_blanks()) return false;
  if (c == ']' || (c == '[' && text_[position_] == ']')) {
    if (c == '[') ++position_;
    constexpr std::string_view kBlanks = " \t\r\n";
    if (text_.substr(position_, kLargestJob).find_first_not_of(kBlanks) != std::string_view::npos)
      return refuse("text follows the end of the array");
    position_ = text_.size();
    return false;
  }
  first_ = false;
  return c == '[' || skip_blanks();
}

bool JsonJobs::skip_blanks() {
  const std::size_t stop = std::min(text_.size(), position_ + kLargestJob);
  for (; position_ < stop; ++position_) {
    const char c = text_[position_];
    if (c == '\n') ++line_;
    if (c != ' ' && c != '\t' && c != '\r' && c != '\n') return true;
  }
  fields_.at_line(line_);
  return refuse("the array of jobs is not closed; is the file cut short?");
}

/// The length of the object that begins here, by its brackets alone; 0 and an error when it has no
/// end in reach.
std::size_t JsonJobs::object_size() {
  const std::string_view window = text_.substr(position_, kLargestJob);
  std::size_t depth = 0;
  bool in_string = false;
  for (std::size_t i = 0; i < window.size(); ++i) {
    const char c = window[i];
    if (in_string) {
      if (c == '\\') ++i;
      in_string = c != '"';
    } else if (c == '"') {
      in_string = true;
    } else if (c == '{' || c == '[') {
      if (++depth > kDeepest) {
        refuse(fmt::format("the job is nested more than {} levels deep", kDeepest));
        return 0;
      }
    } else if ((c == '}' || c == ']') && --depth == 0) {
      return i + 1;
    }
  }
  if (window.size() == kLargestJob) {
    refuse(fmt::format("the job that begins here is longer than {} bytes", kLargestJob));
  } else {
    refuse("the job that begins here is not closed; is the file cut short?");
  }
  return 0;
}

bool JsonJobs::refuse(std::string_view what) {
  fields_.complain(what);
  return false;
}

std::string JsonJobs::text(std::string_view field) {
  const auto found = job_.find(field);
  if (found == job_.end()) return {};
  if (auto written = scalar_text(*found)) return *written;
  fields_.complain(field, "is neither a text nor a number");
  return {};
}

std::optional<std::string> scalar_text(const nlohmann::json& value) {
  if (value.is_null()) return "";
  if (const auto* string = value.get_ptr<const std::string*>()) return *string;
  if (value.is_number()) return value.dump();
  return std::nullopt;
}

bool begins_with_field(std::string_view text, std::string_view field) {
  JsonJobs jobs(Source{text, ""});
  return jobs.next() && jobs.job().contains(field);
}

}  // namespace trainyard
