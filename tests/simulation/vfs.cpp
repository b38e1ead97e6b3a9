// SQLite's files on the simulated disk: what it calls a VFS, with the locks and the shared memory
// that a write-ahead log needs.
#include <sqlite3.h>

#include <array>
#include <cstring>
#include <set>

#include "disk.h"

namespace trainyard {
namespace {

constexpr int kLocks = SQLITE_SHM_NLOCK;

struct Handle;

/// Of one file, by all who have it open.
struct Shared {
  std::vector<std::unique_ptr<std::string>> memory;
  std::array<int, kLocks> shared{};
  std::array<const Handle*, kLocks> exclusive{};
  std::set<const Handle*> mapped;
  std::map<const Handle*, int> main;  // locks of the database file itself: SQLITE_LOCK_...
};

struct Handle {
  sqlite3_file base;  // first: SQLite sees only this
  SimulatedFiles::State* state;
  SimulatedDisk::FilePtr* file;
  std::uint64_t process;
  unsigned shared_locks, exclusive_locks;
  bool is_temporary;
};

}  // namespace

struct SimulatedFiles::State {
  SimulatedDisk& disk;
  Random random;
  std::function<void(int)> sleep;
  sqlite3_vfs vfs{};
  sqlite3_vfs* before = nullptr;
  std::uint64_t process = 1;  // ours; foreign ones are 0
  bool is_foreign = false;
  bool is_dead = false, are_all_dead = false;
  std::map<Shared*, std::vector<std::string>> memory_at_death;

  State(SimulatedDisk& given_disk, std::uint64_t seed, std::function<void(int)> given_sleep)
      : disk(given_disk), random(seed, 12), sleep(std::move(given_sleep)) {}
};

namespace {

SimulatedFiles::State& state_of(sqlite3_vfs* vfs) {
  return *static_cast<SimulatedFiles::State*>(vfs->pAppData);
}
Handle& handle(sqlite3_file* file) {
  return *reinterpret_cast<Handle*>(file);
}
SimulatedDisk::File& file_of(const Handle& of) {
  return **of.file;
}
Shared& shared_of(const Handle& of) {
  auto& shared = file_of(of).shared;
  if (!shared) shared = std::make_shared<Shared>();
  return *static_cast<Shared*>(shared.get());
}
/// Its process was killed.
bool is_dead(const Handle& of) {
  if (of.process == 0) return of.state->are_all_dead;
  return of.state->is_dead || of.process != of.state->process;
}
/// Who acts now was.
bool is_dead(const SimulatedFiles::State& state) {
  return state.is_foreign ? state.are_all_dead : state.is_dead;
}

int result(SimulatedDisk::Outcome outcome, int failed) {
  switch (outcome) {
    case SimulatedDisk::Outcome::ok:
      return SQLITE_OK;
    case SimulatedDisk::Outcome::full:
      return SQLITE_FULL;
    case SimulatedDisk::Outcome::failed:
      return failed;
  }
  return failed;
}

// --- Files ---------------------------------------------------------------------------------------

int close_file(sqlite3_file* file) {
  Handle& of = handle(file);
  if (file_of(of).shared) {
    Shared& shared = shared_of(of);
    for (int i = 0; i < kLocks; ++i) {
      const unsigned bit = 1U << static_cast<unsigned>(i);
      if ((of.shared_locks & bit) != 0) --shared.shared[static_cast<std::size_t>(i)];
      if ((of.exclusive_locks & bit) != 0) shared.exclusive[static_cast<std::size_t>(i)] = nullptr;
    }
    shared.main.erase(&of);
    shared.mapped.erase(&of);
    if (shared.mapped.empty()) shared.memory.clear();
  }
  delete of.file;
  return SQLITE_OK;
}

int read(sqlite3_file* file, void* to, int size, sqlite3_int64 at) {
  const Handle& of = handle(file);
  if (is_dead(of)) return SQLITE_IOERR_READ;
  const std::string& text = file_of(of).now;
  const auto from = std::min(static_cast<std::size_t>(at), text.size());
  const auto wanted = static_cast<std::size_t>(size);
  const std::size_t got = std::min(wanted, text.size() - from);
  std::memcpy(to, text.data() + from, got);
  std::memset(static_cast<char*>(to) + got, 0, wanted - got);
  return got == wanted ? SQLITE_OK : SQLITE_IOERR_SHORT_READ;
}

int write(sqlite3_file* file, const void* from, int size, sqlite3_int64 at) {
  const Handle& of = handle(file);
  if (is_dead(of)) return SQLITE_IOERR_WRITE;
  const std::string_view bytes(static_cast<const char*>(from), static_cast<std::size_t>(size));
  return result(of.state->disk.write(file_of(of), static_cast<std::size_t>(at), bytes),
                SQLITE_IOERR_WRITE);
}

int truncate_file(sqlite3_file* file, sqlite3_int64 size) {
  const Handle& of = handle(file);
  if (is_dead(of)) return SQLITE_IOERR_TRUNCATE;
  return result(of.state->disk.resize(file_of(of), static_cast<std::size_t>(size)),
                SQLITE_IOERR_TRUNCATE);
}

int sync_file(sqlite3_file* file, int /*flags*/) {
  const Handle& of = handle(file);
  if (is_dead(of)) return SQLITE_IOERR_FSYNC;
  return result(of.state->disk.sync(file_of(of)), SQLITE_IOERR_FSYNC);
}

int size_of(sqlite3_file* file, sqlite3_int64* size) {
  *size = static_cast<sqlite3_int64>(file_of(handle(file)).now.size());
  return SQLITE_OK;
}

// --- Locks of the database file itself -----------------------------------------------------------

int lock(sqlite3_file* file, int level) {
  const Handle& of = handle(file);
  if (is_dead(of)) return SQLITE_IOERR_LOCK;
  Shared& shared = shared_of(of);
  for (const auto& [other, held] : shared.main) {
    if (other == &of) continue;
    const bool clashes = held >= SQLITE_LOCK_PENDING ||
                         (level >= SQLITE_LOCK_RESERVED && held >= SQLITE_LOCK_RESERVED) ||
                         (level == SQLITE_LOCK_EXCLUSIVE && held >= SQLITE_LOCK_SHARED);
    if (clashes) return SQLITE_BUSY;
  }
  shared.main[&of] = std::max(shared.main[&of], level);
  return SQLITE_OK;
}

int unlock(sqlite3_file* file, int level) {
  const Handle& of = handle(file);
  shared_of(of).main[&of] = level;
  return SQLITE_OK;
}

int check_reserved(sqlite3_file* file, int* is_reserved) {
  *is_reserved = 0;
  for (const auto& [other, held] : shared_of(handle(file)).main)
    if (held >= SQLITE_LOCK_RESERVED) *is_reserved = 1;
  return SQLITE_OK;
}

int control(sqlite3_file* /*file*/, int /*what*/, void* /*about*/) {
  return SQLITE_NOTFOUND;
}
int sector_size(sqlite3_file* /*file*/) {
  return 4096;
}
int characteristics(sqlite3_file* /*file*/) {
  return SQLITE_IOCAP_POWERSAFE_OVERWRITE;
}

// --- Shared memory -------------------------------------------------------------------------------

int map_memory(sqlite3_file* file, int region, int size, int extend, void volatile** at) {
  const Handle& of = handle(file);
  *at = nullptr;
  if (is_dead(of)) return SQLITE_IOERR_SHMMAP;
  Shared& shared = shared_of(of);
  shared.mapped.insert(&of);
  const auto wanted = static_cast<std::size_t>(region);
  if (wanted >= shared.memory.size() && extend == 0) return SQLITE_OK;
  while (wanted >= shared.memory.size())
    shared.memory.push_back(std::make_unique<std::string>(static_cast<std::size_t>(size), '\0'));
  *at = shared.memory[wanted]->data();
  return SQLITE_OK;
}

int lock_memory(sqlite3_file* file, int offset, int count, int flags) {
  Handle& of = handle(file);
  Shared& shared = shared_of(of);
  const bool is_shared = (flags & SQLITE_SHM_SHARED) != 0;
  const auto first = static_cast<std::size_t>(offset),
             end = first + static_cast<std::size_t>(count);
  if ((flags & SQLITE_SHM_UNLOCK) != 0) {
    for (std::size_t i = first; i < end; ++i) {
      if (is_shared && (of.shared_locks & (1U << i)) != 0) --shared.shared[i];
      if (!is_shared && shared.exclusive[i] == &of) shared.exclusive[i] = nullptr;
      (is_shared ? of.shared_locks : of.exclusive_locks) &= ~(1U << i);
    }
    return SQLITE_OK;
  }
  if (is_dead(of)) return SQLITE_IOERR_SHMLOCK;
  for (std::size_t i = first; i < end; ++i) {
    const bool is_taken = shared.exclusive[i] != nullptr && shared.exclusive[i] != &of;
    const int own = (of.shared_locks & (1U << i)) != 0 ? 1 : 0;
    if (is_taken || (!is_shared && shared.shared[i] > own)) return SQLITE_BUSY;
  }
  for (std::size_t i = first; i < end; ++i) {
    if (is_shared && (of.shared_locks & (1U << i)) == 0) ++shared.shared[i];
    if (!is_shared) shared.exclusive[i] = &of;
    (is_shared ? of.shared_locks : of.exclusive_locks) |= 1U << i;
  }
  return SQLITE_OK;
}

void barrier(sqlite3_file* /*file*/) {}

int unmap_memory(sqlite3_file* file, int /*remove*/) {
  const Handle& of = handle(file);
  Shared& shared = shared_of(of);
  shared.mapped.erase(&of);
  if (shared.mapped.empty()) shared.memory.clear();
  return SQLITE_OK;
}

const sqlite3_io_methods kMethods{
    2,           close_file, read,           write,   truncate_file, sync_file,       size_of,
    lock,        unlock,     check_reserved, control, sector_size,   characteristics, map_memory,
    lock_memory, barrier,    unmap_memory,   nullptr, nullptr};

// --- The file system -----------------------------------------------------------------------------

int open_file(sqlite3_vfs* vfs, const char* name, sqlite3_file* file, int flags, int* out_flags) {
  SimulatedFiles::State& state = state_of(vfs);
  Handle& made = handle(file);
  made.base.pMethods = nullptr;
  if (is_dead(state)) return SQLITE_CANTOPEN;
  SimulatedDisk::FilePtr found = name == nullptr ? nullptr : state.disk.find(name);
  if (!found && name != nullptr && (flags & SQLITE_OPEN_CREATE) == 0) return SQLITE_CANTOPEN;
  if (!found && name != nullptr) found = state.disk.make(name);
  if (!found) found = std::make_shared<SimulatedDisk::File>();  // a temporary one
  made.state = &state;
  made.file = new SimulatedDisk::FilePtr(std::move(found));
  made.process = state.is_foreign ? 0 : state.process;
  made.shared_locks = made.exclusive_locks = 0;
  made.base.pMethods = &kMethods;
  if (out_flags != nullptr) *out_flags = flags;
  return SQLITE_OK;
}

int remove_file(sqlite3_vfs* vfs, const char* name, int /*sync_directory*/) {
  SimulatedFiles::State& state = state_of(vfs);
  if (is_dead(state)) return SQLITE_IOERR_DELETE;
  if (!state.disk.find(name)) return SQLITE_IOERR_DELETE_NOENT;
  state.disk.remove(name);
  return SQLITE_OK;
}

int has_access(sqlite3_vfs* vfs, const char* name, int /*flags*/, int* found) {
  const SimulatedDisk::FilePtr file = state_of(vfs).disk.find(name);
  *found = file ? 1 : 0;
  return SQLITE_OK;
}

int full_path(sqlite3_vfs* /*vfs*/, const char* name, int size, char* to) {
  sqlite3_snprintf(size, to, "%s", name);
  return SQLITE_OK;
}

int random_bytes(sqlite3_vfs* vfs, int size, char* to) {
  for (int i = 0; i < size; ++i) to[i] = static_cast<char>(state_of(vfs).random.below(256));
  return size;
}

int sleep_for(sqlite3_vfs* vfs, int microseconds) {
  state_of(vfs).sleep(microseconds);
  return microseconds;
}

int time_now(sqlite3_vfs* /*vfs*/, double* days) {
  *days = 2460000;
  return SQLITE_OK;
}

int last_error(sqlite3_vfs* /*vfs*/, int /*size*/, char* /*to*/) {
  return 0;
}

}  // namespace

SimulatedFiles::SimulatedFiles(SimulatedDisk& disk, std::uint64_t seed,
                               std::function<void(int)> sleep)
    : state_(std::make_unique<State>(disk, seed, std::move(sleep))) {
  sqlite3_vfs& vfs = state_->vfs;
  vfs.iVersion = 1;
  vfs.szOsFile = sizeof(Handle);
  vfs.mxPathname = 512;
  vfs.zName = "simulated";
  vfs.pAppData = state_.get();
  vfs.xOpen = open_file, vfs.xDelete = remove_file, vfs.xAccess = has_access;
  vfs.xFullPathname = full_path, vfs.xRandomness = random_bytes, vfs.xSleep = sleep_for;
  vfs.xCurrentTime = time_now, vfs.xGetLastError = last_error;
  state_->before = sqlite3_vfs_find(nullptr);
  sqlite3_vfs_register(&vfs, 1);
  sqlite3_randomness(0, nullptr);  // begins anew, with our bytes
}

SimulatedFiles::~SimulatedFiles() {
  sqlite3_vfs_unregister(&state_->vfs);
  sqlite3_vfs_register(state_->before, 1);
  sqlite3_randomness(0, nullptr);
}

/// Memory that processes share is as it was when one was killed, whatever its objects do to it
/// while they are put away.
void SimulatedFiles::kill(bool foreign_too) {
  state_->is_dead = true;
  state_->are_all_dead = foreign_too;
  state_->memory_at_death.clear();
  for (const auto& [name, file] : state_->disk.files()) {
    if (!file->shared) continue;
    auto* shared = static_cast<Shared*>(file->shared.get());
    for (const auto& region : shared->memory) state_->memory_at_death[shared].push_back(*region);
  }
}

void SimulatedFiles::bury() {
  for (auto& [shared, memory] : state_->memory_at_death)
    for (std::size_t i = 0; i < std::min(memory.size(), shared->memory.size()); ++i)
      memory[i].copy(shared->memory[i]->data(), memory[i].size());
  state_->memory_at_death.clear();
  state_->is_dead = state_->are_all_dead = false;
  ++state_->process;
}

bool SimulatedFiles::is_dead() const {
  return state_->is_dead;
}

void SimulatedFiles::set_foreign(bool foreign) {
  state_->is_foreign = foreign;
}

}  // namespace trainyard
