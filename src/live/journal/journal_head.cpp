#include "live/journal/journal_head.h"

#include <fmt/format.h>

#include <algorithm>
#include <sstream>

namespace trainyard {

void JournalHead::add(std::string_view content, JobNumber highest) {
  ++commits;
  chain ^= 14'695'981'039'346'656'037U;  // FNV-1a
  for (const char c : content) chain = (chain ^ static_cast<unsigned char>(c)) * 1'099'511'628'211U;
  last_number = std::max(last_number, highest);
}

std::string format(const JournalHead& head) {
  return fmt::format("{} {} {}", head.commits, head.chain, head.last_number);
}

std::optional<JournalHead> parse_journal_head(std::string_view text) {
  std::istringstream in{std::string(text)};
  JournalHead head;
  if (!(in >> head.commits >> head.chain >> head.last_number)) return {};
  return head;
}

std::string describe_loss(const JournalHead& own, const JournalHead& head) {
  if (own.commits < head.commits)
    return fmt::format("{} of {} commits are missing", head.commits - own.commits, head.commits);
  if (own.commits == head.commits && own.chain != head.chain)
    return "it has other commits than it had";
  return "";
}

}  // namespace trainyard
