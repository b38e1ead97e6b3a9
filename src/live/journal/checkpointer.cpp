#include "live/journal/checkpointer.h"

#include <SQLiteCpp/SQLiteCpp.h>

#include <chrono>
#include <condition_variable>
#include <mutex>

namespace trainyard {

Checkpointer::Checkpointer(const System& system, std::string path) : path_(std::move(path)) {
  if (system.has_threads())
    thread_ = std::jthread([this](const std::stop_token& stop) { run(stop); });
}

Checkpointer::~Checkpointer() = default;

void Checkpointer::checkpoint() try {
  if (!db_) db_ = std::make_unique<SQLite::Database>(path_, SQLite::OPEN_READWRITE);
  db_->exec("PRAGMA wal_checkpoint(PASSIVE)");
} catch (const std::exception&) {
  db_.reset();  // a commit meets the same trouble, and tells of it
}

void Checkpointer::run(const std::stop_token& stop) {
  constexpr auto kBetween = std::chrono::seconds(1);
  std::mutex mutex;
  std::condition_variable_any stopped;
  std::unique_lock lock(mutex);
  while (!stopped.wait_for(lock, stop, kBetween, [] { return false; }) && !stop.stop_requested())
    checkpoint();
}

}  // namespace trainyard
