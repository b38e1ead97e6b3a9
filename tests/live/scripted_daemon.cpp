// A real daemon (journal, local engine, supervisors, jobs that are real processes) without network,
// driven by a script, that dies by SIGKILL where it is told to.
//
//   scripted_daemon STATE SUPERVISOR LEDGER submit POINT   runs the script; dies at the POINT-th
//   side of
//                                                          an act of journal or engine (0: never)
//   scripted_daemon STATE SUPERVISOR LEDGER flood SEED     submits jobs until somebody kills it
//   scripted_daemon STATE SUPERVISOR LEDGER finish         takes up what is there, waits until all
//   has ended
//
// Jobs write "start JOB RUN", "end JOB RUN" and, if another run of the same job is alive, "OVERLAP"
// into LEDGER; the script writes "ack JOB" when a submission was acknowledged, "after JOB OTHER",
// and "cancel JOB" before it asks for that. `submit` prints how many points there were, `finish` a
// line "JOB STATE PAUSES REASON" for every job.
#include <fcntl.h>
#include <fmt/format.h>
#include <pwd.h>
#include <signal.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <cstdlib>
#include <iostream>
#include <string>
#include <thread>

#include "base/random.h"
#include "live/daemon/daemon.h"
#include "live/engine/local/on_this_machine.h"

using namespace trainyard;

namespace {

/// Counts both sides of every act, and dies at one of them.
class MortalSystem : public RealSystem {
 public:
  explicit MortalSystem(std::int64_t point) : point_(point) {}
  Expected<void> before(std::string_view) override {
    pass();
    return {};
  }
  void after(std::string_view) override { pass(); }
  [[nodiscard]] std::int64_t passed() const { return passed_; }

 private:
  void pass() {
    if (++passed_ == point_) ::kill(::getpid(), SIGKILL);
  }
  std::int64_t point_;
  std::atomic<std::int64_t> passed_ = 0;
};

Identity ourselves() {
  const passwd* account = ::getpwuid(::getuid());
  return {account != nullptr ? account->pw_name : std::to_string(::getuid()), ::getuid(),
          ::getgid(), Role::operator_};
}

const Identity kMe = ourselves();

void die(const std::string& message) {
  std::cerr << message << std::endl;
  std::_Exit(3);
}

std::string ledger;

void write_line(const std::string& line) {
  const int file = ::open(ledger.c_str(), O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC, 0644);
  const std::string text = line + "\n";
  if (::write(file, text.data(), text.size()) != static_cast<ssize_t>(text.size()))
    die("no ledger");
  ::close(file);
}

/// Holds a lock of its job while it runs, does `work`, and says so. Paused, it leaves at once.
JobSpec job(const std::string& work, std::int32_t gpus, JobClass job_class = JobClass::batch) {
  JobSpec spec;
  spec.command = {"/bin/sh", "-c",
                  fmt::format("exec 9>>{0}.$TRAINYARD_JOB_ID; flock -n 9 || echo OVERLAP >>{0}; "
                              "echo start $TRAINYARD_JOB_ID $TRAINYARD_RUN >>{0}; "
                              "{1}; echo end $TRAINYARD_JOB_ID $TRAINYARD_RUN >>{0}",
                              ledger, work)};
  spec.per_worker = {gpus, 100, 16};
  spec.job_class = job_class;
  spec.grace = seconds(5);
  spec.environment["PATH"] = "/usr/bin:/bin";
  return spec;
}

/// Leaves when it is told to in its first run, and is done at once in a later one.
const std::string kPausable =
    "test -n \"$TRAINYARD_RESTART\" || { trap 'exit 143' TERM; for i in 1 2 3 4 5 6 7 8 9 10 11 12 "
    "13 14 15 16; do "
    "sleep 0.02; done; }";

JobNumber submit(Daemon& daemon, const JobSpec& spec) {
  const auto done = daemon.service().submit(kMe, spec);
  if (!done) die("refused: " + done.error().message);
  write_line(fmt::format("ack {}", done->number));
  return done->number;
}

/// Waits for that one. If that one is cancelled just now, it may be refused.
void submit_after(Daemon& daemon, JobSpec spec, JobNumber other) {
  spec.after = {other};
  const auto done = daemon.service().submit(kMe, spec);
  if (done) write_line(fmt::format("ack {0}\nafter {0} {1}", done->number, other));
}

void cancel(Daemon& daemon, JobNumber number) {
  write_line(fmt::format("cancel {}", number));
  (void)daemon.service().cancel(kMe, {number});
}

std::string state_of(Daemon& daemon, JobNumber number) {
  const auto record = daemon.service().job(kMe, number);
  return record ? std::string(state_name(record->phase())) : "unknown";
}

bool has_ended(const std::string& state) {
  return state == "done" || state == "failed" || state == "cancelled";
}

template <class Holds>
void wait_until(Holds holds) {
  const auto until = std::chrono::steady_clock::now() + std::chrono::minutes(10);
  while (!holds()) {
    if (std::chrono::steady_clock::now() > until) die("waited too long");
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
}

/// Something of everything: gangs, pauses, dependencies, cancellations, a machine that is closed,
/// another policy.
void run_script(Daemon& daemon) {
  Service& service = daemon.service();
  const std::string machine = service.cluster(kMe)->machines.front().name;
  for (int round = 0; round < 3; ++round) {
    const JobNumber batch = submit(daemon, job(kPausable, 2));
    wait_until([&] {  // on a busy machine it may end between two looks
      const std::string state = state_of(daemon, batch);
      return state == "running" || has_ended(state);
    });
    const JobNumber trial = submit(daemon, job("true", 2, JobClass::trial));
    submit_after(daemon, job("true", 1), trial);
    JobSpec pair = job("true", 1);
    pair.workers = 2;
    pair.command[2] = "test $RANK = 1 || { " + pair.command[2] + "; }";
    submit(daemon, pair);
    const JobNumber unwanted = submit(daemon, job("sleep 5", 1));
    submit_after(daemon, job("true", 1), unwanted);
    cancel(daemon, unwanted);
    (void)service.close_machine(kMe, machine);
    const JobNumber patient = submit(daemon, job("true", 1));
    (void)service.open_machine(kMe, machine);
    (void)service.set_policy(kMe, {round == 1 ? "fitgpp" : "srtf", {"yard.min_run=0"}});
    wait_until([&] { return has_ended(state_of(daemon, patient)); });
    wait_until([&] { return has_ended(state_of(daemon, batch)); });
  }
}

/// Many callers at once, until the end of the process.
void flood(Daemon& daemon, std::uint64_t seed) {
  std::vector<std::thread> callers;
  for (std::uint64_t caller = 0; caller < 4; ++caller)
    callers.emplace_back([&daemon, seed, caller] {
      Random random(seed, caller);
      for (int i = 0; i < 3; ++i) {
        const bool trial = random.below(2) == 0;
        const auto gpus = static_cast<std::int32_t>(1 + random.below(2));
        const JobNumber number =
            trial ? submit(daemon, job("true", gpus, JobClass::trial))
                  : submit(daemon, job(random.below(4) > 0 ? "sleep 0.01" : kPausable, gpus));
        if (random.below(4) == 0) submit_after(daemon, job("true", 1), number);
        if (random.below(5) == 0) cancel(daemon, number);
      }
    });
  for (std::thread& caller : callers) caller.join();
  std::this_thread::sleep_for(std::chrono::seconds(60));
}

void finish(Daemon& daemon) {
  const std::string machine = daemon.service().cluster(kMe)->machines.front().name;
  (void)daemon.service().open_machine(kMe, machine);  // it may have been killed while it was closed
  JobFilter open;
  for (const Phase state : kJobStates)
    if (!has_ended(state)) open.states.push_back(state);
  wait_until([&] { return daemon.service().jobs(kMe, open)->jobs.empty(); });
  JobFilter all;
  all.limit = 1'000'000;
  const auto page = daemon.service().jobs(kMe, all);
  for (const JobRecord& record : page->jobs)
    std::cout << record.number << " " << state_name(record.phase()) << " "
              << record.life.state.pauses << " " << record.reason << "\n";
}

}  // namespace

int main(int argc, char** argv) {
  if (argc < 5) die("see the top of this file");
  ledger = argv[3];
  const std::string what = argv[4];
  const std::int64_t number = argc > 5 ? std::atoll(argv[5]) : 0;
  MortalSystem system(what == "submit" ? number : 0);
  DaemonOptions options;
  options.state = argv[1];
  options.scheduling.policy = {"fitgpp", {"yard.min_run=0"}};
  const auto daemon = Daemon::start(system, options, [&](System& on, const StateDirectory& state) {
    return open_engine_on(on, {.state = state.path(), .supervisor = argv[2], .slots = 2});
  });
  if (!daemon) die(daemon.error().message);
  if (what == "submit") {
    run_script(**daemon);
    std::cout << system.passed() << "\n";
  } else if (what == "flood") {
    flood(**daemon, static_cast<std::uint64_t>(number));
  } else {
    finish(**daemon);
  }
}
