// Those who ask the daemon for something: users, an operator, and some who lie or leave before they
// are answered. They speak HTTP over connections in memory (wire.h). What they were promised is
// kept here, for the audit.
#pragma once

#include <map>
#include <set>
#include <string>
#include <vector>

#include "live/server/reply.h"
#include "machine.h"
#include "wire.h"

namespace trainyard {

/// What somebody submitted, and what they know of it.
struct Submission {
  enum class Fate : std::uint8_t { unknown, accepted, refused };
  Identity who;
  std::string tag;  // the job's name, which no other has
  std::size_t tasks = 1;
  Fate fate = Fate::unknown;
  JobNumber number = 0;  // the job's or the array's, once accepted
  bool is_array = false;
};

class Clients {
 public:
  /// `policy` is in force.
  Clients(SimulatedMachine& machine, std::uint64_t seed, const SchedulingOptions& options);

  /// One of them asks for something.
  void ask_something();
  /// An operator accepts the clock as it is, and waits for the answer.
  void resume_as_operator();
  /// A line of the trace about what was asked and answered last.
  [[nodiscard]] const std::string& last() const { return last_; }

  // --- What they were promised -------------------------------------------------------------------
  [[nodiscard]] const std::map<std::string, Submission>& submissions() const {
    return submissions_;
  }
  /// Jobs and arrays that were accepted.
  [[nodiscard]] const std::vector<JobNumber>& numbers() const { return numbers_; }
  /// Jobs whose cancellation was accepted, with how many runs they had by then at most.
  [[nodiscard]] const std::map<JobNumber, std::uint32_t>& cancelled() const { return cancelled_; }
  /// The policies that may be in force: the last that was accepted, and those asked for since
  /// without an answer.
  [[nodiscard]] const std::map<std::uint64_t, std::string>& policies() const { return policies_; }

  /// All of them, at a moment.
  struct Promises {
    std::map<std::string, Submission> submissions;
    std::vector<JobNumber> numbers;
    std::map<std::uint64_t, std::string> policies;
  };
  [[nodiscard]] Promises promises() const { return {submissions_, numbers_, policies_}; }
  /// The journal is what it was at that moment: later submissions may be gone.
  void recall(const Promises& then);
  /// The setting is damaged: the configured policy may be in force.
  void lose_policy() { policies_.emplace(0, configured_policy_); }
  /// How far the clock was off where operators may have accepted it last (written.h).
  [[nodiscard]] const std::vector<Duration>& accepted_clocks() const { return accepted_clocks_; }
  /// Before the first job: nothing that could be erased is older than this clock.
  void begin_at_this_clock() { accepted_clocks_ = {machine_.set_by()}; }

  /// What they were refused though it must work; empty: nothing.
  [[nodiscard]] const std::string& complaint() const {
    return complaint_.empty() ? wire_.complaint() : complaint_;
  }
  /// Where the daemon's audit is.
  [[nodiscard]] std::string folder() const { return wire_.folder(); }

 private:
  struct Asked {
    Reply reply;
    bool is_answered = false;  // else the daemon died, or the client did not wait
    bool is_whole = true;      // else the request was cut off or had no valid token
  };
  Asked ask(const Identity& who, const std::string& method, const std::string& path,
            std::string body = {}, std::multimap<std::string, std::string> query = {});
  void submit();
  void take_number(JobNumber number);
  void check_refusal(const Identity& who, const Reply& reply);
  void cancel();
  void ask_as_agent();
  void set_policy();
  void use_machine();
  void resume_erasing();
  void look();
  void lie();
  [[nodiscard]] JobSpec some_job(const Identity& who);
  [[nodiscard]] const Identity& somebody();
  [[nodiscard]] JobNumber some_number();

  SimulatedMachine& machine_;
  Random lots_;
  std::int64_t disk_;  // what one user may take of it
  bool is_eve_greedy_;
  std::vector<Identity> users_;
  Wire wire_;
  std::map<std::string, Submission> submissions_;
  std::vector<JobNumber> numbers_;  // that were given
  std::map<JobNumber, std::uint32_t> cancelled_;
  std::map<std::uint64_t, std::string> policies_;  // in the order in which they were asked for
  std::uint64_t policies_asked_ = 0;
  std::string configured_policy_;
  std::set<JobNumber> given_;  // numbers, ever
  std::vector<Duration> accepted_clocks_{Duration{}};
  std::string last_, complaint_;
  int depth_ = 0;
};

}  // namespace trainyard
