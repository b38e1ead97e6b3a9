#include "first_open.h"

#include <fmt/format.h>

#include "disk.h"
#include "live/journal/journal.h"
#include "live/system/testing.h"

namespace trainyard {
namespace {

constexpr std::uint64_t kLots = 16;  // what a power failure takes, for each death

JournalChange something(JobRecord& job) {
  job.number = 1;
  job.spec.command = {"train"};
  JournalChange change;
  change.submitted = {&job};
  change.events = {{1, Time{1}, "submitted", 1, "ada", "{}"}};
  return change;
}

struct OneThread : HandSystem {
  [[nodiscard]] bool has_threads() const override { return false; }
};

class FirstOpen {
 public:
  explicit FirstOpen(std::uint64_t seed) : disk_(seed), files_(disk_, seed, [](int) {}) {}

  /// By a signal, or because the power fails. Returns true if it was over before that.
  bool die_at(std::uint64_t act, bool loses_power) {
    disk_.set_watch([&, left = act]() mutable {
      if (files_.is_dead()) return false;
      if (left-- > 0) return true;
      files_.kill(loses_power);
      return false;
    });
    open();
    const bool is_over = !files_.is_dead();
    journal_.reset();
    disk_.set_watch({});
    files_.bury();
    if (loses_power) disk_.lose_power();
    return is_over;
  }

  std::string commit_and_lose_power() {
    if (!open()) return "it cannot be opened";
    JobRecord job;
    if (!journal_->commit(something(job))) return "nothing can be committed";
    files_.kill(true);
    journal_.reset();
    files_.bury();
    disk_.lose_power();
    if (!open()) return "it cannot be opened after the power failure";
    const auto found = journal_->find(1);
    return found && *found ? "" : "what was committed is gone";
  }

 private:
  bool open() {
    auto opened = Journal::open(system_, directory_.path() + "/journal.db");
    if (opened) journal_ = std::move(*opened);
    return opened.has_value();
  }

  TemporaryDirectory directory_;
  OneThread system_;
  SimulatedDisk disk_;
  SimulatedFiles files_;
  std::unique_ptr<Journal> journal_;
};

}  // namespace

std::string die_while_making_the_journal(std::uint64_t& acts) {
  for (acts = 0;; ++acts)
    for (std::uint64_t lots = 0; lots < 2 * kLots; ++lots) {
      FirstOpen journal(lots);
      const bool loses_power = lots % 2 == 1;
      if (journal.die_at(acts, loses_power)) return {};
      if (const std::string wrong = journal.commit_and_lose_power(); !wrong.empty())
        return fmt::format("{} at act {} of making the journal, lots {}: {}",
                           loses_power ? "without power" : "killed", acts, lots, wrong);
    }
}

}  // namespace trainyard
