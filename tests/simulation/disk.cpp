#include "disk.h"

#include <algorithm>
#include <array>
#include <utility>

namespace trainyard {
namespace {

constexpr std::size_t kSector = 512;

/// The first end of a sector after this byte.
std::size_t sector_end(std::size_t at) {
  return (at / kSector + 1) * kSector;
}

void put(std::string& into, std::size_t at, std::string_view bytes) {
  if (into.size() < at + bytes.size()) into.resize(at + bytes.size());
  into.replace(at, bytes.size(), bytes);
}

void put(const SimulatedDisk::File::Change& change, std::string& to) {
  if (change.is_size) {
    to.resize(change.at);
  } else {
    put(to, change.at, change.bytes);
  }
}

}  // namespace

SimulatedDisk::FilePtr SimulatedDisk::find(const std::string& name) const {
  const auto found = files_.find(name);
  return found == files_.end() ? nullptr : found->second;
}

SimulatedDisk::FilePtr SimulatedDisk::make(const std::string& name) {
  auto file = std::make_shared<File>();
  file->name = name;
  files_[name] = file;
  return file;
}

std::uint64_t SimulatedDisk::used() const {
  std::uint64_t sum = others_ ? others_() : 0;
  for (const auto& [name, file] : files_) sum += file->now.size();
  return sum;
}

bool SimulatedDisk::goes_on(char what, const File& file, std::size_t at, std::size_t size) {
  ++acts_;
  const auto mix = [&](std::uint64_t value) { digest_ = (digest_ ^ value) * 1099511628211ULL; };
  mix(static_cast<std::uint64_t>(what)), mix(file.name.size()), mix(at), mix(size);
  return !watch_ || watch_();
}

void SimulatedDisk::remove(const std::string& name) {
  const FilePtr file = find(name);
  if (!file || !goes_on('r', *file, 0, 0)) return;
  if (file->is_made) removed_[name] = file;
  files_.erase(name);
}

void SimulatedDisk::install(const std::string& name, const std::string& bytes) {
  const FilePtr file = make(name);
  file->now = file->synced = bytes;
  file->is_made = true;
  removed_.erase(name);
}

SimulatedDisk::Outcome SimulatedDisk::write(File& file, std::size_t at, std::string_view bytes) {
  const bool dies = !goes_on('w', file, at, bytes.size());
  std::size_t size = bytes.size();
  if (dies) size = std::min(size, sector_end(at) - at + lots_.below(size + 1) / kSector * kSector);
  const std::uint64_t others = used() - file.now.size();
  const std::uint64_t room = capacity_ > others ? capacity_ - others : 0;
  const bool is_full = at + size > std::max<std::uint64_t>(room, file.now.size());
  if (is_full) {
    const std::uint64_t end = std::max<std::uint64_t>(room, file.now.size()) / kSector * kSector;
    size = end > at ? end - at : 0;
  }
  if (size > 0) {
    put(file.now, at, bytes.substr(0, size));
    file.pending.push_back({at, std::string(bytes.substr(0, size)), false});
  }
  if (dies) return Outcome::failed;
  return is_full ? Outcome::full : Outcome::ok;
}

SimulatedDisk::Outcome SimulatedDisk::resize(File& file, std::size_t size) {
  const bool dies = !goes_on('t', file, size, 0);
  if (dies && lots_.below(2) == 0) return Outcome::failed;
  file.now.resize(size);
  file.pending.push_back({size, "", true});
  return dies ? Outcome::failed : Outcome::ok;
}

SimulatedDisk::Outcome SimulatedDisk::sync(File& file) {
  if (!goes_on('s', file, 0, 0)) {
    apply_some(file);
    return Outcome::failed;
  }
  if (std::exchange(fails_sync_, false)) return Outcome::failed;
  for (const File::Change& change : file.pending) put(change, file.synced);
  file.pending.clear();
  if (file.is_made) return Outcome::ok;
  // Who syncs a new file syncs its directory too: all names are on disk.
  removed_.clear();
  for (const auto& [name, other] : files_) other->is_made = true;
  return Outcome::ok;
}

/// A sync that was not finished.
void SimulatedDisk::apply_some(File& file) {
  const auto done = static_cast<std::ptrdiff_t>(lots_.below(file.pending.size() + 1));
  for (std::ptrdiff_t i = 0; i < done; ++i)
    put(file.pending[static_cast<std::size_t>(i)], file.synced);
  file.pending.erase(file.pending.begin(), file.pending.begin() + done);
}

void SimulatedDisk::lose_power() {
  const double kept = std::array{0.0, 0.1, 0.5, 0.9, 1.0}[lots_.below(5)];
  const auto stays = [&] { return lots_.uniform() < kept; };
  for (auto& [name, file] : removed_)
    if (!files_.contains(name) && !stays()) files_[name] = file;
  removed_.clear();
  for (auto at = files_.begin(); at != files_.end();) {
    File& file = *at->second;
    for (const File::Change& change : file.pending) {
      if (change.is_size) {
        if (stays()) file.synced.resize(change.at);
        continue;
      }
      for (std::size_t from = 0; from < change.bytes.size();) {
        const std::size_t end =
            std::min(change.bytes.size(), sector_end(change.at + from) - change.at);
        if (stays())
          put(file.synced, change.at + from,
              std::string_view(change.bytes).substr(from, end - from));
        from = end;
      }
    }
    file.pending.clear();
    file.now = file.synced;
    file.shared = nullptr;
    const bool is_gone = !file.is_made && !stays();
    file.is_made = true;
    at = is_gone ? files_.erase(at) : std::next(at);
  }
}

}  // namespace trainyard
