// For tests: a log whose lines can be looked at.
#pragma once

#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include "live/system/log.h"

namespace trainyard {

class KeptLog : public Log {
 public:
  using Line = std::pair<LogLevel, std::string>;

  [[nodiscard]] bool takes(LogLevel /*level*/) const override { return true; }
  void write(LogLevel level, std::string_view line) override {
    const std::lock_guard lock(mutex_);
    lines_.emplace_back(level, line);
  }
  [[nodiscard]] std::vector<Line> lines() const {
    const std::lock_guard lock(mutex_);
    return lines_;
  }
  /// Lines of this level with this text in them.
  [[nodiscard]] std::size_t count(LogLevel level, std::string_view text) const {
    std::size_t found = 0;
    for (const auto& [of, line] : lines())
      if (of == level && line.find(text) != std::string::npos) ++found;
    return found;
  }

 private:
  mutable std::mutex mutex_;
  std::vector<Line> lines_;
};

}  // namespace trainyard
