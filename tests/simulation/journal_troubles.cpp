#include "journal_troubles.h"

#include <array>

#include "live/journal/backup.h"

namespace trainyard {
namespace {

/// Of a row that SQLite stands on: its columns that may be damaged. Keys of rows are SQLite's
/// business, and what a checksum is worth is shown by the others.
std::vector<int> columns_of(const SQLite::Statement& row) {
  std::vector<int> found;
  for (int i = 2; i < row.getColumnCount(); ++i)
    if (!row.getColumn(i).isNull()) found.push_back(i);
  return found;
}

std::string flipped(std::string text, std::uint64_t lot) {
  const std::size_t bit = lot % (8 * text.size());
  text[bit / 8] = static_cast<char>(static_cast<unsigned char>(text[bit / 8]) ^ (1U << bit % 8));
  return text;
}

}  // namespace

std::optional<Damage> JournalTroubles::flip_a_bit(bool daemon_is_down) {
  Damage damage;
  damage.table =
      std::array{"job", "job", "spec", "payload", "event", "setting", "born"}[lots_.below(7)];
  damage.daemon_is_down = daemon_is_down;
  SQLite::Database db(machine_.path(), SQLite::OPEN_READWRITE);
  SQLite::Statement rows(db, fmt::format("SELECT rowid, * FROM {} ORDER BY rowid", damage.table));
  std::vector<std::int64_t> ids;
  while (rows.executeStep()) ids.push_back(rows.getColumn(0).getInt64());
  rows.reset();
  if (ids.empty()) return {};
  const std::int64_t id = ids[lots_.below(ids.size())];
  SQLite::Statement row(db, fmt::format("SELECT rowid, * FROM {} WHERE rowid = ?", damage.table));
  row.bind(1, id);
  if (!row.executeStep()) return {};
  const std::vector<int> columns = columns_of(row);
  const SQLite::Column value = row.getColumn(columns[lots_.below(columns.size())]);
  damage.column = value.getName();
  if (!value.isInteger() && value.getString().empty()) return {};
  damage.row = row.getColumn(1).getString();
  if (damage.table == "event") damage.job = row.getColumn("job").getInt64();
  if (damage.table == "born") damage.job = row.getColumn("number").getInt64();
  if (damage.table == "job") damage.is_unfinished = row.getColumn("ended").isNull();
  if (damage.job == 0 && damage.table != "setting" && damage.table != "event") damage.job = id;
  SQLite::Statement tasks(db, "SELECT number FROM job WHERE array = ?");
  tasks.bind(1, damage.table == "spec" || damage.table == "payload" ? id : 0);
  while (tasks.executeStep()) damage.tasks.push_back(tasks.getColumn(0).getInt64());
  SQLite::Statement write(
      db, fmt::format("UPDATE {} SET {} = ? WHERE rowid = ?", damage.table, damage.column));
  if (value.isInteger()) {
    write.bind(1, value.getInt64() ^ (std::int64_t{1} << lots_.below(62)));
  } else {
    write.bind(1, flipped(value.getString(), lots_.bits()));
  }
  write.bind(2, id);
  row.reset();
  write.exec();
  return damage;
}

std::string JournalTroubles::damage() {
  const bool goes_down = lots_.below(2) == 0;
  if (goes_down) machine_.end();
  machine_.end_meddling();
  if (!machine_.is_dead()) machine_.spare();  // else it might be written, and not be expected
  std::optional<Damage> damage;
  machine_.as_foreign([&] { damage = flip_a_bit(goes_down); });
  if (!damage) return "no bit flips";
  audit_.expect(*damage);
  if (damage->table == "setting" && damage->row == "policy") clients_.lose_policy();
  return fmt::format("a bit flips in table {}, row {}, column {}", damage->table, damage->row,
                     damage->column);
}

std::string JournalTroubles::back_up() {
  const std::string part = machine_.path() + ".backup";
  machine_.as_foreign([&] {
    machine_.files().remove(part);
    machine_.files().remove(part + "-journal");
  });
  if (machine_.is_up() && lots_.below(2) == 0)
    machine_.die_at(1 + lots_.below(80), lots_.below(2) == 0 ? SimulatedMachine::Death::kill
                                                             : SimulatedMachine::Death::power);
  Expected<void> made;
  machine_.as_foreign([&] { made = copy_journal(machine_.path(), part, {{"made", "now"}}); });
  if (!machine_.is_dead()) machine_.spare();
  if (!made) return "a backup fails: " + made.error().message;
  const SimulatedDisk::FilePtr file = machine_.files().find(part);
  if (!file || !file->pending.empty() || !file->is_made) {
    wrong_ = "a backup was made, and is not synced";
    return wrong_;
  }
  Expected<Verification> found = fail("it cannot be read");
  if (!machine_.is_dead()) machine_.as_foreign([&] { found = verify_journal(part); });
  if (!found) return "a backup is made, and not looked at: " + found.error().message;
  if (auto problem = audit_.look_at_verification(*found); !problem.empty()) {
    wrong_ = "of a backup: " + problem;
    return wrong_;
  }
  backup_ = file->now;
  promised_ = clients_.promises();
  damaged_ = audit_.damaged();
  return fmt::format("a backup with {} jobs is made", found->jobs);
}

std::string JournalTroubles::restore() {
  if (backup_.empty()) return "there is no backup";
  machine_.end();
  machine_.end_meddling();
  SimulatedDisk& disk = machine_.files();
  const std::string from = machine_.path() + ".backup", part = machine_.path() + ".restoring";
  Expected<void> done;
  machine_.as_foreign([&] {
    for (const std::string& name : {from, from + "-journal", part, part + "-journal"})
      disk.remove(name);
    disk.install(from, backup_);
    done = extract_journal(from, part);
  });
  if (!done) {
    for (const std::string& name : {part, part + "-journal"}) disk.remove(name);
    return "a restore fails: " + done.error().message;
  }
  disk.remove(machine_.path() + "-wal");
  disk.install(machine_.path(), disk.find(part)->now);
  disk.remove(part);
  clients_.recall(promised_);
  audit_.restored(damaged_);
  return "the last backup is restored";
}

}  // namespace trainyard
