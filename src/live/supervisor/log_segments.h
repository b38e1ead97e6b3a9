// What a worker writes, in files out.W.OFFSET, a quarter of its limit each; OFFSET is how much it
// had written before. The first segment and the last three are kept, so that a job that prints
// without end leaves at most its limit, 64 MiB if its user has room for that on disk: how it began,
// and how it ends. A disk that is full loses output, never the job: what could not be written is a
// gap between two segments.
#pragma once

#include <cstdint>
#include <deque>
#include <string>
#include <string_view>

#include "base/error.h"
#include "base/time.h"
#include "live/system/files.h"

namespace trainyard {

constexpr std::uint64_t kSegmentBytes = 16U << 20U;
constexpr std::size_t kLastSegments = 3;
constexpr std::int64_t kMostOutput = kSegmentBytes * (1 + kLastSegments);
/// Nothing is kept where the limit is less: a segment would be smaller than is worth a file.
constexpr std::int64_t kLeastOutput = 256 << 10;

/// Used by one supervisor for one worker.
class LogWriter {
 public:
  /// At most `limit` bytes are kept.
  LogWriter(std::string directory, std::int32_t worker, std::int64_t limit = kMostOutput);

  void write(std::string_view text, Time now);
  [[nodiscard]] std::uint64_t written() const { return offset_; }

 private:
  bool open_segment();
  void lose(std::size_t bytes, Time now);
  void drop_old();

  std::string directory_;
  std::int32_t worker_;
  std::uint64_t segment_bytes_;      // 0: nothing is kept
  std::uint64_t offset_ = 0;         // of all that the worker wrote
  std::uint64_t segment_begin_ = 0;  // of the open one
  Descriptor segment_;
  std::deque<std::uint64_t> kept_;  // offsets, without the first segment's
  bool has_first_ = false;
  Time retry_at_;  // after a failure: not tried at every line
};

/// Bytes of disk that a run's directory and the segments of all its workers take.
std::int64_t kept_output(const std::string& directory);

struct LogText {
  std::uint64_t offset = 0;
  std::string text;
};

/// From `offset` on, `limit` at most, without a gap within; begins later where that is not kept.
Expected<LogText> read_log(const std::string& directory, std::int32_t worker, std::uint64_t offset,
                           std::size_t limit);

}  // namespace trainyard
