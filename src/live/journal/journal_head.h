// Where the journal stood after its last commit, in a file beside it: how many commits there were,
// a chain of their contents, and the highest number that a job was given. A journal that was lost,
// shortened, or replaced by an older copy has less than its head says, and is known by that.
//
// It is written after each commit and not synced: after a crash of the machine it may be behind the
// journal, which is as good; it is never ahead of it.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "live/job/job_spec.h"

namespace trainyard {

struct JournalHead {
  std::int64_t commits = 0;
  std::uint64_t chain = 0;
  JobNumber last_number = 0;

  bool operator==(const JournalHead&) const = default;
  /// One commit more, of such a content.
  void add(std::string_view content, JobNumber highest);
};

std::string format(const JournalHead& head);
std::optional<JournalHead> parse_journal_head(std::string_view text);

/// What is wrong with a journal that has `own` where its head says `head`; empty: nothing.
std::string describe_loss(const JournalHead& own, const JournalHead& head);

}  // namespace trainyard
