// What the daemon tells its operators: one line for each thing that happens, with a level. It goes
// to standard error, from where systemd's journal takes it with its level, or to a file.
#pragma once

#include <chrono>
#include <cstdint>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>

#include "base/error.h"

namespace trainyard {

enum class LogLevel : std::uint8_t {
  debug,    // each step in a job's life
  info,     // what was done: starts, ends, changes of the policy
  warning,  // what somebody should look at: a job that failed, a caller that was refused
  error,    // what the daemon could not do: start a job, write its journal
};

/// "debug", "info", "warning" or "error".
Expected<LogLevel> parse_log_level(std::string_view name);

/// Takes lines from any thread.
class Log {
 public:
  virtual ~Log() = default;
  /// Whether lines of this level are kept.
  [[nodiscard]] virtual bool takes(LogLevel level) const = 0;
  /// What users have a say in may stand in `line`: it is still one line, and nothing that a
  /// terminal would act on.
  virtual void write(LogLevel level, std::string_view line) = 0;
};

/// Keeps nothing.
Log& silent_log();

/// For what others can make happen thousands of times a second: at most one line a second, which
/// says how many were left out since the one before.
class SeldomLog {
 public:
  explicit SeldomLog(Log& log) : log_(log) {}
  void write(LogLevel level, std::string_view line);

 private:
  Log& log_;
  std::mutex mutex_;
  std::chrono::steady_clock::time_point next_;
  std::uint64_t left_out_ = 0;
};

struct LogOptions {
  std::string file;  // empty: standard error
  LogLevel least = LogLevel::info;
};

/// A file is opened for its owner and group only, and begins anew at 16 MiB: for trainyard.log,
/// trainyard.1.log to trainyard.3.log have what was before.
Expected<std::unique_ptr<Log>> open_log(const LogOptions& options);

}  // namespace trainyard
