#include "live/engine/local/report_file.h"

namespace trainyard {
namespace {

constexpr off_t kMostBytes = 64 * 1024;

}  // namespace

std::optional<JobProgress> ReportFile::read() {
  const auto file = directory_.open("report.json", owner_, kMostBytes);
  if (!file || file->version() == seen_) return std::nullopt;
  seen_ = file->version();
  const auto text = file->read();
  if (!text) return std::nullopt;
  const auto progress = parse_progress(*text);
  if (!progress || told_ == *progress) return std::nullopt;
  return told_ = *progress;
}

}  // namespace trainyard
