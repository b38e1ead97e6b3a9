#include "live/job/job_word.h"

#include "live/job/utf8.h"

namespace trainyard {

JobWord parse_job_word(std::string_view text) {
  constexpr std::string_view kFailed = "failed";
  constexpr std::size_t kLongestWhy = 500;
  text = text.substr(0, text.find('\n'));
  if (!text.starts_with(kFailed)) return {JobWord::Kind::saved, ""};
  text.remove_prefix(kFailed.size());
  text.remove_prefix(std::min(text.find_first_not_of(": "), text.size()));
  return {JobWord::Kind::failed, as_utf8(std::string(text.substr(0, kLongestWhy)))};
}

}  // namespace trainyard
