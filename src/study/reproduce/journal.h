// The runs of a study that are done, in a file, so that a study that was stopped goes on where it
// was. One line of JSON a run, written when it ends; what was torn when the program died is
// ignored. Each line is marked with the program and everything the run depends on: runs of another
// build, or of a trace that has changed since, are never taken for those asked for.
//
// The file is locked while the journal is open: two invocations of one study do not mix.
#pragma once

#include <map>
#include <memory>
#include <mutex>
#include <string>

#include "base/error.h"
#include "study/reproduce/plan.h"

namespace trainyard {

class RunJournal {
 public:
  /// Reads what is there, or begins a file; makes its folder. `program` stands for the build
  /// (program_fingerprint).
  static Expected<std::unique_ptr<RunJournal>> open(const std::string& path, std::string program);
  ~RunJournal();
  RunJournal(const RunJournal&) = delete;
  RunJournal& operator=(const RunJournal&) = delete;

  /// What an earlier invocation found out about the run; null when it did not get there.
  [[nodiscard]] const Metrics* find(const StudyRun& run) const;

  /// Appends a run; from any thread. When that fails (the disk may be full) the study goes on, and
  /// is not resumable from here.
  void add(const StudyRun& run, const Metrics& metrics);

  /// Takes the file away: the study is complete.
  void remove();

 private:
  RunJournal(std::string path, std::string program, int file);
  Expected<void> read();
  void read_line(std::string_view line);
  [[nodiscard]] std::string mark(const StudyRun& run) const;

  std::string path_, program_;
  int file_;
  std::map<std::string, Metrics, std::less<>> earlier_;  // by mark
  std::mutex writing_;
};

/// Where journals are kept: $XDG_STATE_HOME/trainyard/studies, else below ~/.local/state.
Expected<std::string> journal_folder();

}  // namespace trainyard
