// A backup of a state directory in one file, and the way back.
//
// The file is a SQLite database: the journal as it was at one moment, with one more table,
// `backup`, in which a row has a name and a content: when and where it was made (`made`, `state`),
// and the small files beside the journal (`tokens.json`, `journal.db.head`). Checkpoints, output
// and run directories are not in it.
//
//  1. It is consistent, also while a daemon writes: one read transaction on a connection of its
//  own.
//     The daemon does not wait for it; its write-ahead log grows by what it writes meanwhile.
//  2. Under the final name there is a whole, synced file (mode 0600) or none: it is made under the
//     name FILE.part, checked, and renamed. A file that exists is never replaced.
//  3. A restore keeps all that was there, in a folder of its own, and takes from the backup what
//  the
//     directory does not have: a newer head tells the next daemon what is missing and which numbers
//     were given, and newer tokens do not let in those that were removed.
//  4. While a restore is under way STATE/journal.db.restoring exists, and no daemon starts.
#pragma once

#include <string>
#include <vector>

#include "base/error.h"
#include "live/journal/verify.h"

namespace trainyard {

/// A row of table `backup`.
struct BackupItem {
  std::string name, content;
};

/// Copies the journal of a daemon, with these rows in table `backup`, into a new file and syncs it.
Expected<void> copy_journal(const std::string& journal, const std::string& to,
                            const std::vector<BackupItem>& items);

/// Copies the journal of a backup, without table `backup`, into a new file and syncs it.
Expected<void> extract_journal(const std::string& backup, const std::string& to);

/// Makes a backup of a state directory, and returns what it found in the copy. Damaged rows are
/// copied as they are; a journal that SQLite finds damaged is not.
Expected<Verification> back_up(const std::string& state, const std::string& file);

struct Restored {
  Verification found;
  std::string made;   // when the backup was
  std::string aside;  // the folder with what was there before; empty: there was nothing
};
/// Refuses while a daemon has the state directory, a file that another user may have written, and
/// one with triggers or views that are not a journal's.
Expected<Restored> restore_backup(const std::string& file, const std::string& state);

/// An error if a restore of this journal was begun and not finished.
Expected<void> check_not_restoring(const std::string& journal);

}  // namespace trainyard
