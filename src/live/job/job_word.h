// What a job that was asked to leave says before it does, in the file TRAINYARD_SAVED: "saved" when
// all that it needs to go on is on disk, or "failed" and why it is not. Whoever says nothing is
// judged by how it left.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace trainyard {

struct JobWord {
  enum class Kind : std::uint8_t { none, saved, failed };
  Kind kind = Kind::none;
  std::string why;  // of a save that failed

  bool operator==(const JobWord&) const = default;
};

/// Of the file's text. An empty file says "saved": touch is enough.
JobWord parse_job_word(std::string_view text);

}  // namespace trainyard
