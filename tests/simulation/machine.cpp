#include "machine.h"

#include <poll.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <stdexcept>

#include "live/engine/local/local_engine.h"

namespace trainyard {
namespace {

// 2026-01-01, about.
constexpr Time kBeginning{1'767'225'600'000'000};
constexpr std::uint64_t kDiskSize = 16 << 20;
constexpr Duration kTick = {1000};  // the daemon does not wait for less
constexpr int kMostTurns = 400;     // in one stretch of time

}  // namespace

ScratchDirectory::ScratchDirectory() {
  const bool has_memory = ::access("/dev/shm", W_OK) == 0;
  std::string pattern = has_memory ? "/dev/shm/trainyard-sim-XXXXXX" : "/tmp/trainyard-sim-XXXXXX";
  if (::mkdtemp(pattern.data()) == nullptr) throw std::runtime_error("no directory can be made");
  path_ = pattern;
}

std::uint64_t ScratchDirectory::used() const {
  std::uint64_t sum = 0;
  struct stat facts {};
  if (::stat((path_ + "/reserve").c_str(), &facts) == 0)
    sum += static_cast<std::uint64_t>(facts.st_size);
  return sum;
}

ScratchDirectory::~ScratchDirectory() {
  std::error_code ignored;
  std::filesystem::remove_all(path_, ignored);
}

SimulatedMachine::SimulatedMachine(std::uint64_t seed, Jobs jobs, const Cluster& cluster,
                                   SchedulingOptions options)
    : now_(kBeginning),
      disk_(seed),
      files_(disk_, seed, [this](int microseconds) { sleep(microseconds); }),
      true_time_(*this),
      jobs_(jobs),
      world_(true_time_, cluster),
      processes_(*this),
      machine_(cluster),
      lots_(seed, 12),
      options_(std::move(options)) {
  options_.reserve = scratch_.path();
  disk_.set_watch([this] { return reach_point(); });
  disk_.set_capacity(kDiskSize);
  disk_.set_others([this] { return others_ + scratch_.used(); });
}

SimulatedMachine::~SimulatedMachine() {
  put_away();
  end_meddling();
}

// --- As the daemon sees it -----------------------------------------------------------------------

/// False: the daemon dies here.
bool SimulatedMachine::reach_point() {
  if (is_dead_ || die_in_ == 0 || --die_in_ > 0) return !is_dead_;
  is_dead_ = true;
  end_life();
  ++deaths_;
  files_.kill(death_ == Death::power);
  return false;
}

Expected<void> SimulatedMachine::before(std::string_view act) {
  if (!reach_point()) return fail("{}: the daemon is dead", act);
  return {};
}

void SimulatedMachine::after(std::string_view /*act*/) {
  (void)reach_point();
}

void SimulatedMachine::await_turn() {
  if (!is_dead_ && meanwhile && meanwhile()) return;
  master_->take_turn();
}

System::Disk SimulatedMachine::disk(const std::string& /*path*/) const {
  const std::uint64_t used = disk_.used();
  return {kDiskSize, used < kDiskSize ? kDiskSize - used : 0};
}

void SimulatedMachine::fill_disk(std::uint64_t free) {
  if (scratch_.used() == 0) return;  // nothing has been kept aside yet
  was_ever_full_ = true;
  const std::uint64_t there = disk("").free;
  if (there > free) others_ += there - free;
}

bool SimulatedMachine::has_reserve() const {
  return scratch_.used() > kDiskSize / 8 / 4;
}

void SimulatedMachine::fail_sync() {
  disk_.fail_sync();
  fails_sync_ = true;
}

// --- Time ----------------------------------------------------------------------------------------

/// Somebody waits for a lock.
void SimulatedMachine::sleep(int microseconds) {
  now_ = now_ + Duration{microseconds};
  if (foreign_ && now_ >= foreign_ends_) end_meddling();
}

void SimulatedMachine::set_clock_by(Duration shift) {
  now_ = now_ + kTick;  // what was done before has a time of its own
  set_by_ += shift;
  settings_.emplace_back(now_, set_by_);
}

Duration SimulatedMachine::set_by(Time at) const {
  Duration found;
  for (const auto& [since, set_by] : settings_)
    if (since <= at) found = set_by;
  return found;
}

void SimulatedMachine::reboot() {
  ++boots_;
  steady_by_ = Time{} - now_;
}

Duration SimulatedMachine::up_until(Time at) const {
  Duration sum;
  for (const Life& life : lives_) sum += std::max(std::min(life.end, at) - life.begin, Duration{});
  return sum;
}

void SimulatedMachine::end_life() {
  if (!lives_.empty()) lives_.back().end = std::min(lives_.back().end, now_);
}

void SimulatedMachine::pass(Duration time) {
  const Time until = now_ + time;
  Time last_checkpoint = now_;
  bool has_looked_ahead = false;  // a forecast takes as long as hundreds of turns
  for (int turns = 0; now_ < until && is_up() && turns < kMostTurns; ++turns) {
    pollfd engine{engine_->descriptor(), POLLIN, 0};
    const bool has_reports = ::poll(&engine, 1, 0) > 0;
    const Duration next = has_reports ? kTick : std::max(kTick, master_->next_turn());
    now_ = std::min({until, now_ + next, std::max(next_of_jobs(), now_ + kTick)});
    if (foreign_ && now_ >= foreign_ends_) end_meddling();
    master_->take_turn();
    if (is_up() && now_ - last_checkpoint >= seconds(20)) {
      journal_->checkpoint();
      if (is_up() && !std::exchange(has_looked_ahead, true)) master_->make_forecast();
      last_checkpoint = now_;
    }
  }
  now_ = std::max(now_, until);
  if (foreign_ && now_ >= foreign_ends_) end_meddling();
}

// --- The daemon ----------------------------------------------------------------------------------

std::string SimulatedMachine::state() const {
  return fmt::format("{}/state{}", scratch_.path(), copies_);
}

Expected<std::unique_ptr<Engine>> SimulatedMachine::make_engine() {
  if (!is_local()) return std::make_unique<MemoryEngine>(*this, world_);
  auto host = std::make_unique<SimulatedHost>(*this, processes_);
  host_ = host.get();
  LocalEngineOptions options{.state = state(), .use_cgroups = false};
  options.host = std::move(host);
  return LocalEngine::open(*this, std::move(options), machine_);
}

Time SimulatedMachine::next_of_jobs() {
  return is_local() ? host_->next() : world_.next();
}

std::vector<MemoryWorld::Seen> SimulatedMachine::runs() {
  return is_local() ? processes_.runs() : world_.runs();
}

std::vector<std::string> SimulatedMachine::faults() const {
  return is_local() ? processes_.faults() : world_.faults();
}

void SimulatedMachine::copy_state() {
  namespace fs = std::filesystem;
  constexpr std::uintmax_t kMostBytes = 1 << 20;  // a trap may be a terabyte
  const fs::path from = state();
  ++copies_;
  fs::create_directory(state());
  for (const auto& entry : fs::recursive_directory_iterator(from)) {
    const fs::path to = state() / entry.path().lexically_relative(from);
    if (entry.is_directory() && !entry.is_symlink()) fs::create_directory(to);
    if (entry.is_regular_file() && !entry.is_symlink() && entry.file_size() < kMostBytes)
      fs::copy_file(entry.path(), to);
  }
  processes_.leave_behind();
}

std::string SimulatedMachine::begin() try {
  lives_.push_back({now_});
  DiskReserve(*this, options_.reserve).give_for_start();
  auto engine = make_engine();
  if (!engine) return engine.error().message;
  engine_ = std::move(*engine);
  auto journal = Journal::open(*this, path());
  if (!journal) return journal.error().message;
  journal_ = std::move(*journal);
  auto master = Yardmaster::start(*this, *journal_, *engine_, options_);
  if (!master) return master.error().message;
  master_ = std::move(*master);
  ++daemons_;
  fails_sync_ = disk_.fails_sync();
  return is_dead_ ? "it died" : "";
} catch (const std::exception& problem) {
  return std::string("it threw: ") + problem.what();
}

void SimulatedMachine::end() {
  end_life();
  master_.reset();
  journal_.reset();
  engine_.reset();
}

void SimulatedMachine::put_away() {
  const bool was_dead = is_dead_;
  end();
  if (!was_dead) return;
  if (death_ == Death::power) end_meddling();
  files_.bury();
  if (death_ == Death::power) disk_.lose_power(), processes_.lose_power(lots_), reboot();
  is_dead_ = false;
  die_in_ = 0;
}

// --- Others --------------------------------------------------------------------------------------

void SimulatedMachine::meddle(const std::string& sql, Duration stays) {
  end_meddling();
  files_.set_foreign(true);
  try {
    foreign_ = std::make_unique<SQLite::Database>(path(), SQLite::OPEN_READWRITE);
    foreign_->exec(sql);
  } catch (const std::exception&) {
  }  // it could not be done now
  files_.set_foreign(false);
  foreign_ends_ = now_ + stays;
}

std::unique_ptr<SQLite::Database> SimulatedMachine::look_into_journal() {
  if (is_meddled_with()) return nullptr;
  return std::make_unique<SQLite::Database>(path(), SQLite::OPEN_READONLY);
}

void SimulatedMachine::as_foreign(const std::function<void()>& act) {
  files_.set_foreign(true);
  try {
    act();
  } catch (const std::exception&) {
  }  // it could not be done now
  files_.set_foreign(false);
}

void SimulatedMachine::end_meddling() {
  if (!foreign_) return;
  files_.set_foreign(true);
  foreign_.reset();
  files_.set_foreign(false);
}

}  // namespace trainyard
