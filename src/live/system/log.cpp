#include "live/system/log.h"

#include <fmt/format.h>
#include <spdlog/logger.h>
#include <spdlog/sinks/rotating_file_sink.h>
#include <spdlog/sinks/stdout_sinks.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <utility>

#include "base/visible_text.h"
#include "live/system/systemd.h"

namespace trainyard {
namespace {

constexpr std::size_t kFileBytes = std::size_t{16} << 20;
constexpr std::size_t kOlderFiles = 3;
constexpr std::array<std::string_view, 4> kNames{"debug", "info", "warning", "error"};
constexpr std::array kTheirs{spdlog::level::debug, spdlog::level::info, spdlog::level::warn,
                             spdlog::level::err};
constexpr std::array<std::string_view, 4> kSyslogPrefixes{"<7>", "<6>", "<4>", "<3>"};

std::size_t index(LogLevel level) {
  return static_cast<std::size_t>(level);
}

class SpdLog final : public Log {
 public:
  SpdLog(spdlog::sink_ptr sink, LogLevel least, bool to_journal)
      : logger_("trainyard", std::move(sink)), to_journal_(to_journal) {
    logger_.set_level(kTheirs.at(index(least)));
    logger_.flush_on(spdlog::level::trace);  // who reads it after a crash wants the last line
    logger_.set_pattern(to_journal ? "%v" : "%Y-%m-%dT%H:%M:%S.%e%z %-7l %v");
  }

  [[nodiscard]] bool takes(LogLevel level) const override {
    return logger_.should_log(kTheirs.at(index(level)));
  }

  void write(LogLevel level, std::string_view line) override {
    const std::string_view prefix = to_journal_ ? kSyslogPrefixes.at(index(level)) : "";
    logger_.log(kTheirs.at(index(level)), "{}{}", prefix, visible(line));
  }

 private:
  spdlog::logger logger_;
  bool to_journal_;
};

class SilentLog final : public Log {
 public:
  [[nodiscard]] bool takes(LogLevel /*level*/) const override { return false; }
  void write(LogLevel /*level*/, std::string_view /*line*/) override {}
};

}  // namespace

Expected<LogLevel> parse_log_level(std::string_view name) {
  for (std::size_t i = 0; i < kNames.size(); ++i)
    if (kNames.at(i) == name) return static_cast<LogLevel>(i);
  return fail("{} is no level of the log; there are debug, info, warning and error", quoted(name));
}

Log& silent_log() {
  static SilentLog log;
  return log;
}

void SeldomLog::write(LogLevel level, std::string_view line) {
  const std::lock_guard lock(mutex_);
  const auto now = std::chrono::steady_clock::now();
  if (now < next_) {
    ++left_out_;
    return;
  }
  next_ = now + std::chrono::seconds(1);
  if (left_out_ == 0) return log_.write(level, line);
  log_.write(level, fmt::format("{} ({} such lines before it are left out)", line,
                                std::exchange(left_out_, 0)));
}

Expected<std::unique_ptr<Log>> open_log(const LogOptions& options) {
  if (options.file.empty())
    return std::make_unique<SpdLog>(std::make_shared<spdlog::sinks::stderr_sink_mt>(),
                                    options.least, is_journal(STDERR_FILENO));
  spdlog::file_event_handlers handlers;
  handlers.after_open = [](const spdlog::filename_t&, std::FILE* file) {
    (void)::fchmod(::fileno(file), 0640);
  };
  try {
    auto sink = std::make_shared<spdlog::sinks::rotating_file_sink_mt>(
        options.file, kFileBytes, kOlderFiles, false, handlers);
    return std::make_unique<SpdLog>(std::move(sink), options.least, false);
  } catch (const spdlog::spdlog_ex& problem) {
    return fail("{}: the log cannot be opened: {}", options.file, problem.what());
  }
}

}  // namespace trainyard
