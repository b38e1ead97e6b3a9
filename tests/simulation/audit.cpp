#include "audit.h"

#include <fmt/ranges.h>

#include <algorithm>
#include <cctype>
#include <charconv>

#include "base/split.h"

#include "live/system/audit_log.h"

namespace trainyard {
namespace {

const Identity kOperator{"root", 0, 0, Role::operator_};

std::uint64_t digest_of(std::string_view text, std::uint64_t so_far = 14695981039346656037ULL) {
  for (const char c : text) so_far = (so_far ^ static_cast<unsigned char>(c)) * 1099511628211ULL;
  return so_far;
}

/// As the log and `verify` name it.
std::string row_name(const Damage& damage) {
  const bool is_text = damage.table == "setting" || damage.table == "born";
  return fmt::format("table {}, row {}", damage.table, is_text ? quoted(damage.row) : damage.row);
}

bool is_end(std::string_view happening) {
  return happening == "done" || happening == "failed" || happening == "cancelled";
}

std::string without(std::string text, const std::string& part) {
  for (auto at = text.find(part); at != std::string::npos; at = text.find(part, at))
    text.erase(at, part.size());
  return text;
}

/// Returns the run that an event names in its details; 0 if it names none. Texts of users have
/// their quotes escaped there.
std::uint32_t run_named(const std::string& details) {
  constexpr std::string_view kRun = "\"run\":";
  std::uint32_t run = 0;
  if (const auto at = details.find(kRun); at != std::string::npos)
    (void)std::from_chars(details.data() + at + kRun.size(), details.data() + details.size(), run);
  return run;
}

}  // namespace

std::string Audit::look(bool in_full) {
  if (!clients_.complaint().empty()) return clients_.complaint();
  if (!machine_.is_up()) return {};
  if (auto wrong = look_at_events(); !wrong.empty()) return wrong;
  if (auto wrong = look_at_world(); !wrong.empty()) return wrong;
  if (!machine_.master().counters().accepting) return {};
  if (auto wrong = look_at_jobs(); !wrong.empty()) return wrong;
  if (auto wrong = look_at_machines(); !wrong.empty()) return wrong;
  if (auto wrong = look_at_damage(); !wrong.empty()) return wrong;
  if (!in_full) return {};
  if (auto wrong = look_at_journal(); !wrong.empty()) return wrong;
  if (auto wrong = look_at_disk(); !wrong.empty()) return wrong;
  if (auto wrong = look_at_files(); !wrong.empty()) return wrong;
  if (auto wrong = look_at_forecast(); !wrong.empty()) return wrong;
  return look_at_promises();
}

// --- Damage --------------------------------------------------------------------------------------

void Audit::expect(const Damage& damage) {
  expected_.push_back(damage);
  damaged_rows_.insert(row_name(damage) + ":");
  if (damage.table == "event") lost_events_.insert(std::stoll(damage.row));
  if (damage.table == "setting" && damage.row == "clock") is_clock_lost_ = true;
  // An array's payload is that of all its tasks; they have its name.
  for (const auto& [tag, submission] : clients_.submissions()) {
    const JobNumber first = submission.number,
                    last = first +
                           (submission.is_array ? static_cast<JobNumber>(submission.tasks) : 0);
    if (first == 0 || damage.job < first || damage.job > last) continue;
    damaged_tags_.insert(tag);
    for (JobNumber job = first; job <= last; ++job) damaged_.insert(job);
  }
  // An array whose submission was not answered has its number in the journal alone.
  damaged_.insert(damage.tasks.begin(), damage.tasks.end());
  if (damage.job != 0) damaged_.insert(damage.job);
}

void Audit::restored(const std::set<JobNumber>& damaged) {
  damaged_.insert(damaged.begin(), damaged.end());
  expected_.clear();
  events_.clear(), told_.clear(), ended_.clear(), last_run_.clear(), lasted_.clear();
  promised_.clear();
  heard_ = 0;
  is_restored_ = true;
  for (const MemoryWorld::Seen& run : machine_.runs()) before_restore_.insert(run.id);
}

/// What flipped while no daemon ran must have shown when the next one is up.
std::string Audit::look_at_damage() {
  for (const Damage& damage : std::exchange(expected_, {})) {
    if (!damage.daemon_is_down) continue;
    const std::string row = row_name(damage);
    const bool shows_at_once =
        damage.table == "setting" ||
        (damage.table == "job" && damage.is_unfinished && damage.column != "ended");
    if (shows_at_once && machine_.kept_log().count(LogLevel::error, row) == 0)
      return fmt::format("{}: column {} has a flipped bit, and the log does not say so", row,
                         damage.column);
    if (damage.table != "job" || damage.column == "ended") continue;
    const auto job = machine_.master().job(kOperator, damage.job);
    if (!job || job->phase() != Phase::failed || job->reason.find(row) == std::string::npos)
      return fmt::format(
          "{}: column {} has a flipped bit, and job {} is {}: {}", row, damage.column, damage.job,
          job ? state_name(job->shown_phase()) : "not there", job ? job->reason : "");
  }
  return {};
}

std::string Audit::look_at_journal() {
  if (machine_.is_meddled_with()) return {};
  Expected<Verification> found = fail("it cannot be read");
  machine_.as_foreign([&] { found = verify_journal(machine_.path()); });
  return found ? look_at_verification(*found) : "";
}

std::string Audit::look_at_verification(const Verification& found) const {
  if (!found.structure.empty()) return "SQLite finds the journal damaged: " + found.structure[0];
  for (const std::string& problem : found.problems) {
    const bool is_job = problem.starts_with("job ");
    const JobNumber job = is_job ? std::stoll(problem.substr(4)) : 0;
    if (has_damage() && problem.starts_with("user ")) continue;  // a row counts otherwise
    const bool is_row = std::ranges::any_of(damaged_rows_, [&](const std::string& row) {
      return problem.find(row) != std::string::npos;
    });
    const bool is_loss = is_restored_ && problem.find("lost a part") != std::string::npos;
    const bool is_known = is_row || is_loss || (is_job && is_damaged(job));
    if (!is_known) return "verify finds what nobody damaged: " + problem;
  }
  return {};
}

// --- What really runs ----------------------------------------------------------------------------

std::string Audit::look_at_world() {
  if (const auto faults = machine_.faults(); !faults.empty()) return faults.front();
  note_capacities();
  std::map<JobNumber, std::uint32_t> living;
  for (const MemoryWorld::Seen& run : machine_.runs()) {
    const JobNumber job = run.id.job;
    if (seen_.insert(run.id).second)
      if (auto wrong = look_at_terms(run); !wrong.empty()) return wrong;
    if (run.lives && !living.emplace(job, run.id.run).second)
      return fmt::format("job {}: runs {} and {} live at once", job, living[job], run.id.run);
    if (is_damaged(job)) continue;
    if (const auto last = last_run_.find(job); last != last_run_.end() && run.id.run > last->second)
      return fmt::format("job {}: run {} had ended it, and there is run {}", job, last->second,
                         run.id.run);
    const auto cancelled = clients_.cancelled().find(job);
    if (cancelled != clients_.cancelled().end() && run.id.run > cancelled->second)
      return fmt::format("job {}: its cancellation was accepted after run {}, and there is run {}",
                         job, cancelled->second, run.id.run);
    if (auto wrong = look_at_reason(run); !wrong.empty()) return wrong;
    // A power failure may take the record of an end that was not heard.
    if (run.end.kind == RunReport::Kind::lost && last_run_.contains(job) &&
        last_run_[job] == run.id.run)
      last_run_.erase(job), lasted_.erase(job);
    if (!run.has_ended || !run.has_run || run.end.kind != RunReport::Kind::exited) continue;
    if (before_restore_.contains(run.id)) continue;
    if (run.end.asked_requeue || told_[job].broken.contains(run.id.run)) continue;
    // One that was to be paused counts as paused, unless it says that it is done: a job that only
    // saved says so.
    const bool by_itself = !run.was_told && !told_[job].pausing.contains(run.id.run);
    const bool is_done = run.end.exit_status == 0 && run.end.word.kind == JobWord::Kind::none;
    if (by_itself || is_done) last_run_.emplace(job, run.id.run);
    if (by_itself) lasted_[job] = run.end.at - run.began_to_run;
  }
  return {};
}

/// As the daemon has them and as the engine has them: GPUs that are gone may stay in the daemon's.
void Audit::note_capacities() {
  if (const auto view = machine_.master().cluster(kOperator))
    for (const MachineView& machine : view->machines)
      capacities_[machine.name].insert(machine.capacity);
  for (const Machine& machine : machine_.world().cluster().machines)
    capacities_[machine.name].insert(machine.capacity);
}

/// GPUs of the machine that were gone at a time while a run had them.
std::int32_t Audit::count_gone_gpus(const std::string& machine) {
  const Cluster cluster = machine_.world().cluster();
  std::set<std::string> gone;
  for (const MemoryWorld::Seen& run : machine_.runs())
    for (std::size_t rank = 0; rank < run.places.size() && rank < run.gpus.size(); ++rank) {
      const std::size_t at = index(run.places[rank].machine);
      if (at >= cluster.machines.size() || cluster.machines[at].name != machine) continue;
      for (const std::string& gpu : run.gpus[rank])
        if (run.has_lost_gpu || !find_gpu(cluster.machines[at], gpu)) gone.insert(gpu);
    }
  return static_cast<std::int32_t>(gone.size());
}

/// Machines change while a step lasts: the share is that of what the machine has been. GPUs that
/// are gone count until their runs have left, which may be within a step.
bool Audit::has_its_share(const JobSpec& spec, const Resources& grant, std::size_t workers,
                          const std::string& machine) {
  const auto all = static_cast<std::int32_t>(workers) * grant.gpus;
  const auto is_of = [&](const Resources& has, std::int32_t gpus) {
    const bool is_whole = !spec.exclusive || all == gpus;
    const bool is_named = spec.per_worker.milli_cpus != 0 && !spec.exclusive;
    const std::int32_t named = spec.per_worker.milli_cpus;
    return is_whole && grant.milli_cpus == (is_named ? named : has.milli_cpus * grant.gpus / gpus);
  };
  const std::int32_t all_gone = count_gone_gpus(machine);
  return std::ranges::any_of(capacities_[machine], [&](const Resources& has) {
    for (std::int32_t gone = 0; has.gpus > 0 && gone <= all_gone; ++gone)
      if (is_of(has, has.gpus + gone)) return true;
    return false;
  });
}

/// In the step in which it was begun, when machines have the features that they had then. By the
/// words of the job and of the machine alone.
std::string Audit::look_at_terms(const MemoryWorld::Seen& run) {
  const auto job = machine_.master().job(kOperator, run.id.job);
  // One that was found again without its journal was started for another job; and of a job whose
  // row is damaged it may not be known any more what it asked for.
  const bool is_ours = job && !job->runs_outside && !is_damaged(run.id.job);
  if (!is_ours || run.grants.size() != run.places.size()) return {};
  const JobSpec& spec = job->spec;
  const Cluster cluster = machine_.world().cluster();
  for (std::size_t rank = 0; rank < run.places.size(); ++rank) {
    if (index(run.places[rank].machine) >= cluster.machines.size()) continue;
    const Machine& machine = cluster.machine(run.places[rank].machine);
    const std::string& kind = cluster.kinds[index(machine.kind)];
    const auto has = [&](std::string_view word) {
      return std::ranges::find(machine.features, word) != machine.features.end() ||
             std::ranges::equal(word, kind, {}, {},
                                [](unsigned char c) { return std::tolower(c); });
    };
    bool is_met = spec.constraint.empty();
    for (const std::string_view word : split(spec.constraint, "|")) is_met = is_met || has(word);
    if (!is_met)
      return fmt::format("run {} of job {} asks for '{}' and is started on {}, which has only: {}",
                         run.id.run, run.id.job, spec.constraint, machine.name,
                         fmt::join(machine.features, ", "));
    if (!has_its_share(spec, run.grants[rank], run.places.size(), machine.name))
      return fmt::format("run {} of job {} has {} GPUs and {} mCPU of {}, which is not its share",
                         run.id.run, run.id.job, run.grants[rank].gpus, run.grants[rank].milli_cpus,
                         machine.name);
  }
  return {};
}

std::string Audit::look_at_reason(const MemoryWorld::Seen& run) {
  const auto told = told_.find(run.id.job);
  if (told == told_.end() || compacts_ || machine_.is_local()) return {};
  // The journal may know nothing of a run from before a restore, or know it as a job of its own; as
  // one whose job's row is damaged.
  const auto is_older = [&] {
    if (before_restore_.contains(run.id)) return true;
    const auto job = machine_.master().job(kOperator, run.id.job);
    return (is_restored_ || has_damage()) && job && job->runs_outside;
  };
  if (run.was_told && !told->second.has_reason.contains(run.id.run) && !is_older())
    return fmt::format("job {}: run {} was told to leave, and no event says why", run.id.job,
                       run.id.run);
  // Before the engine has chosen, the books may give it others than those that were ordered.
  const bool has_gpus = run.has_run || !chooses_gpus_;
  if (told->second.without_gpu.contains(run.id.run) && has_gpus && !run.has_lost_gpu)
    return fmt::format("job {}: run {} had to leave for a GPU that is gone, and has all of its own",
                       run.id.job, run.id.run);
  return {};
}

/// Where ended jobs are erased soon, that is what the operator asked for.
std::string Audit::look_at_files() {
  constexpr Duration kKept = days(29);
  if (!machine_.is_local() || compacts_ || machine_.now() - began_ > kKept) return {};
  for (const auto& [id, text] : machine_.processes().written()) {
    const auto kept = machine_.engine().output(id, 0, 0, 1 << 20);
    if (!kept || kept->text != text)
      return fmt::format("run {} of job {} wrote {} bytes of output, of which {}", id.run, id.job,
                         text.size(), kept ? "some are gone" : kept.error().message);
  }
  for (const auto& [job, saved] : machine_.processes().saved())
    if (read_small_file(saved.path).value_or("") != saved.text)
      return fmt::format("job {} saved {} bytes, and they are gone", job, saved.text.size());
  return {};
}

// --- What the daemon tells -----------------------------------------------------------------------

/// A new daemon tells all of it again.
std::string Audit::look_at_events() {
  if (daemon_ != machine_.daemons()) {
    daemon_ = machine_.daemons(), heard_ = 0, told_.clear();
  }
  const std::int64_t shown = events_.empty() ? 0 : events_.rbegin()->first;
  const std::int64_t last = machine_.master().last_event();
  if (last < shown) return fmt::format("event {} was shown, and now {} is the last", shown, last);
  while (heard_ < machine_.master().last_event()) {
    const auto page = machine_.master().events(kOperator, heard_, {});
    if (page.events.empty()) break;
    for (const LiveEvent& event : page.events)
      if (auto wrong = take(event); !wrong.empty()) return wrong;
  }
  return {};
}

std::string Audit::take(const LiveEvent& event) {
  // Those of jobs that ended long ago may have been dropped.
  while (event.sequence > heard_ + 1 && lost_events_.contains(heard_ + 1)) ++heard_;
  if (event.sequence <= heard_ || (event.sequence != heard_ + 1 && !compacts_))
    return fmt::format("event {} comes after event {}", event.sequence, heard_);
  heard_ = event.sequence;
  const std::uint64_t digest = digest_of(
      fmt::format("{} {} {} {} {}", event.at.us, event.kind, event.job, event.user, event.details));
  const auto [shown, is_new] = events_.emplace(heard_, digest);
  if (shown->second != digest)
    return fmt::format("event {} was shown as another before: it is now {} of job {}", heard_,
                       event.kind, event.job);
  // The directory of the simulation has another name each time, which a reason may contain.
  if (is_new)
    digest_ = digest_of(fmt::format("{} {} {} {} {}", event.at.us, event.kind, event.job,
                                    event.user, without(event.details, machine_.directory())),
                        digest_);
  if (event.job == 0 || is_damaged(event.job)) return {};
  Told& told = told_[event.job];
  if (told.last.empty() && event.kind != "submitted" && !compacts_)
    return fmt::format("job {}: its first event is {}", event.job, event.kind);
  if (told.has_ended) return fmt::format("job {}: event {} after its end", event.job, event.kind);
  // Where the engine chooses GPUs, those of a run that starts are a guess of the books.
  const bool is_guess = chooses_gpus_ && told.last == "starting";
  told.last = event.kind == "loaded" ? "running" : event.kind;
  told.has_ended = is_end(event.kind);
  if (event.kind == "starting") ++told.starts;
  // A job that began outside, or a run of a job that the journal has lost, has its first run.
  if (event.kind == "running" && told.starts == 0) told.starts = 1;
  // Not how often it was started: a restored journal lacks starts of which the engine knows.
  if (const std::uint32_t run = run_named(event.details); run != 0) told.run = run;
  if (event.kind == "pausing" || event.kind == "broken") told.pausing.insert(told.run);
  if (event.kind == "broken") told.broken.insert(told.run);
  if (event.kind == "broken" && !is_guess && event.details.find("is gone") != std::string::npos &&
      event.details.find("GPU") != std::string::npos)
    told.without_gpu.insert(told.run);
  if (event.kind == "pausing" || event.kind == "broken" || event.kind == "cancelling" ||
      event.kind == "stopping" || told.has_ended)
    told.has_reason.insert(told.run);
  return {};
}

// --- Books ---------------------------------------------------------------------------------------

std::string Audit::look_at_machines() {
  const auto cluster = machine_.master().cluster(kOperator);
  if (!cluster) return cluster.error().message;
  std::map<JobNumber, std::size_t> held;
  for (const MachineView& machine : cluster->machines) {
    const auto used = std::ranges::count_if(machine.by_gpu, [](JobNumber job) { return job != 0; });
    const auto sum = machine.free.gpus + used;
    const bool balances =
        is_room_made_ ? sum <= machine.capacity.gpus : sum == machine.capacity.gpus;
    if (!balances || machine.free.gpus < 0)
      return fmt::format("{}: {} GPUs are free and {} held, of {}", machine.name, machine.free.gpus,
                         used, machine.capacity.gpus);
    for (const JobNumber job : machine.by_gpu)
      if (job != 0) ++held[job];
  }
  for (const auto& [number, gpus] : held) {
    if (unfinished_.contains(number)) continue;
    const auto job = machine_.master().job(kOperator, number);
    if (!job) return fmt::format("job {} holds {} GPUs and is not known", number, gpus);
    if (job->has_ended())
      return fmt::format("job {} holds {} GPUs and is {}", number, gpus,
                         state_name(job->shown_phase()));
  }
  for (const MemoryWorld::Seen& run : machine_.runs())
    for (std::size_t rank = 0; run.lives && rank < run.places.size(); ++rank) {
      if (index(run.places[rank].machine) >= cluster->machines.size()) continue;
      const MachineView& machine = cluster->machines[index(run.places[rank].machine)];
      for (const std::string& gpu : run.gpus[rank]) {
        const auto number = find_gpu(machine.gpu_names, machine.capacity.gpus, gpu);
        const JobNumber by = number ? machine.by_gpu.at(static_cast<std::size_t>(*number)) : 0;
        if (by == 0 && has_left_gpu(run)) continue;
        if (by == run.id.job || machine.state != "up" || is_unheard(run) || is_stray(run)) continue;
        return fmt::format("GPU {} of {} is used by run {} of job {}; the books say {}", gpu,
                           machine.name, run.id.run, run.id.job,
                           by == 0 ? "it is free" : fmt::format("job {} has it", by));
      }
    }
  return {};
}

/// Its job is not in the journal as one that runs: the row is damaged, or a restored backup has the
/// job as it was earlier. Then the job waits for the end of this run.
bool Audit::is_stray(const MemoryWorld::Seen& run) {
  if (!run.is_known) return is_damaged(run.id.job) || is_restored_;
  const auto job = machine_.master().job(kOperator, run.id.job);
  return before_restore_.contains(run.id) && job &&
         (job->old_run != OldRun::none || job->runs < run.id.run);
}

/// It was made a job of its own while one of its GPUs was gone, and was reported with those that
/// were left: the books do not give it that one, also if it has come back.
bool Audit::has_left_gpu(const MemoryWorld::Seen& run) {
  const auto job = machine_.master().job(kOperator, run.id.job);
  return run.has_lost_gpu && job && job->runs_outside;
}

/// It runs on GPUs of the engine's choice, of which the daemon has not been told yet.
bool Audit::is_unheard(const MemoryWorld::Seen& run) {
  const auto job = machine_.master().job(kOperator, run.id.job);
  return chooses_gpus_ && job && job->phase() == Phase::starting && !job->has_started;
}

std::string Audit::look_at_jobs() {
  JobFilter filter;
  filter.limit = 1000;
  for (const Phase state : kJobStates)
    if (!has_ended(state)) filter.states.push_back(state);
  const auto page = machine_.master().jobs(kOperator, filter);
  if (!page) return "the jobs cannot be listed: " + page.error().message;
  std::map<uid_t, std::size_t> held;
  std::size_t all = 0;
  is_room_made_ = false;
  unfinished_.clear();
  for (const JobRecord& job : page->jobs) {
    unfinished_.insert(job.number);
    is_room_made_ |= job.phase() == Phase::reserved || job.phase() == Phase::draining;
    // One that runs already is taken in whatever its user has.
    if (!job.runs_outside) held[job.owner.uid] += memory_of(job.spec), all += memory_of(job.spec);
    if (is_damaged(job.number)) continue;
    if (const auto ended = ended_.find(job.number); ended != ended_.end())
      return fmt::format("job {} was {}, and is now {}", job.number, ended->second,
                         state_name(job.shown_phase()));
    const Told& told = told_[job.number];
    if (told.has_ended)
      return fmt::format("job {} is {}, but its last event is {}", job.number,
                         state_name(job.shown_phase()), told.last);
    // A restored journal learns from the engine how often a job ran.
    const bool matches = is_restored_ ? told.starts <= job.runs : told.starts == job.runs;
    if (!matches && job.born_as.empty())
      return fmt::format("job {} has {} runs, and {} events tell of a start", job.number, job.runs,
                         told.starts);
  }
  for (const auto& [user, bytes] : held)
    if (bytes > memory_ / 2)
      return fmt::format("user {} has jobs of {} bytes; {} are allowed", user, bytes, memory_ / 2);
  if (all > memory_) return fmt::format("jobs take {} bytes; {} are allowed", all, memory_);
  return {};
}

namespace {

/// What the rows add up to, by user, in the words of docs/journal.md and not of the triggers.
std::map<uid_t, DiskUse> disk_use_by_rows(SQLite::Database& db) {
  std::map<JobNumber, uid_t> owners;  // of jobs, and of arrays
  std::map<uid_t, DiskUse> sums;
  SQLite::Statement jobs(db,
                         "SELECT number, uid, array, iif(erased_output IS NULL, output, 0), user, "
                         "name, life FROM job");
  while (jobs.executeStep()) {
    const auto uid = static_cast<uid_t>(jobs.getColumn(1).getInt64());
    owners[jobs.getColumn(0).getInt64()] = uid;
    if (!jobs.getColumn(2).isNull()) owners[jobs.getColumn(2).getInt64()] = uid;
    sums[uid].output += jobs.getColumn(3).getInt64();
    sums[uid].history += 250 + 2 * jobs.getColumn(4).getBytes() + 2 * jobs.getColumn(5).getBytes() +
                         jobs.getColumn(6).getBytes();
  }
  SQLite::Statement rows(db,
                         "SELECT number, 20, spec, '', '' FROM spec UNION ALL "
                         "SELECT job, 50, kind, user, details FROM event WHERE job != 0");
  while (rows.executeStep()) {
    std::int64_t& sum = sums[owners[rows.getColumn(0).getInt64()]].history;
    sum += rows.getColumn(1).getInt64();
    for (const int text : {2, 3, 4}) sum += rows.getColumn(text).getBytes();
  }
  SQLite::Statement payloads(db, "SELECT number, payload FROM payload");
  while (payloads.executeStep())
    sums[owners[payloads.getColumn(0).getInt64()]].scripts += 20 + payloads.getColumn(1).getBytes();
  return sums;
}

}  // namespace

std::string Audit::look_at_disk() {
  const auto db = machine_.look_into_journal();
  if (!db || has_damage()) return {};  // a foreign program keeps it locked, or changed rows
  for (const auto& [user, sum] : disk_use_by_rows(*db)) {
    const auto use = machine_.journal().disk_use(user);
    if (!use) return "what users take of the disk cannot be read: " + use.error().message;
    if (*use != sum)
      return fmt::format(
          "user {} is said to take {} bytes of scripts, {} of output and {} of history; the rows "
          "are of {}, {} and {}",
          user, use->scripts, use->output, use->history, sum.scripts, sum.output, sum.history);
    if (sum.scripts > disk_ / 4)
      return fmt::format("user {} has scripts of {} bytes on disk; {} are allowed", user,
                         sum.scripts, disk_ / 4);
    if (sum.output > disk_ / 4 && !is_restored_)
      return fmt::format("user {} has output of {} bytes on disk; {} are allowed", user, sum.output,
                         disk_ / 4);
  }
  return {};
}

// --- Promises ------------------------------------------------------------------------------------

std::string Audit::look_at_audit_log(const JobPage& jobs) {
  std::map<std::string, std::string> done;   // who submitted it, by "job 7"
  std::map<std::string, std::size_t> asked;  // how often, by user
  const auto verdict = read_audit(clients_.folder(), [&](const AuditLine& line) {
    if (line.entry.act != "POST /v1/jobs") return;
    if (line.entry.outcome == "asked") ++asked[line.entry.user];
    if (line.entry.outcome == "done") done[line.entry.object] = line.entry.user;
  });
  if (!verdict) return verdict.error().message;
  if (!verdict->problems.empty()) return "the audit is damaged: " + verdict->problems.front();
  for (const auto& [tag, submission] : clients_.submissions()) {
    if (submission.fate != Submission::Fate::accepted) continue;
    const auto found = done.find(fmt::format("job {}", submission.number));
    if (found == done.end() || found->second != submission.who.user)
      return fmt::format("the audit does not have that {} submitted job {}", submission.who.user,
                         submission.number);
  }
  std::map<std::string, std::set<JobNumber>> theirs;
  for (const JobRecord& job : jobs.jobs)
    if (job.born_as.empty() && !is_damaged(job.number))
      theirs[job.owner.user].insert(job.submission());
  for (const auto& [user, numbers] : theirs)
    if (numbers.size() > asked[user])
      return fmt::format("{} has {} submissions; the audit has {} of them", user, numbers.size(),
                         asked[user]);
  return {};
}

std::string Audit::look_at_promises() {
  Yardmaster& master = machine_.master();
  const auto policy = master.policy(kOperator);
  if (!policy || std::ranges::none_of(clients_.policies(), [&](const auto& asked) {
        return asked.second == policy->policy;
      }))
    return fmt::format("the policy is {}, which nobody asked for last",
                       policy ? policy->policy : "unknown");
  for (const JobNumber number : clients_.numbers()) {
    if (is_damaged(number)) continue;
    const auto found = master.find(kOperator, {number, {}});
    if (!found || found->empty())
      return fmt::format("job {} was accepted and is lost: {}", number,
                         found ? "there is none" : found.error().message);
  }
  std::map<std::string, std::size_t> by_tag;
  JobFilter filter;
  filter.limit = 10'000;
  const auto page = master.jobs(kOperator, filter);
  if (!page) return "the jobs cannot be listed: " + page.error().message;
  for (const JobRecord& job : page->jobs) {
    if (is_damaged(job.number)) continue;
    ++by_tag[job.spec.name];
    const auto known = clients_.submissions().find(job.spec.name);
    if (known != clients_.submissions().end() && known->second.who.uid != job.owner.uid)
      return fmt::format("job {} is {}'s, and {} submitted it", job.number, job.owner.user,
                         known->second.who.user);
    if (auto wrong = look_at_ended(job); !wrong.empty()) return wrong;
    if (auto wrong = look_at_promise(job); !wrong.empty()) return wrong;
  }
  if (auto wrong = look_at_audit_log(*page); !wrong.empty()) return wrong;
  for (const auto& [tag, submission] : clients_.submissions()) {
    using Fate = Submission::Fate;
    if (damaged_tags_.contains(tag)) continue;
    const std::size_t count = by_tag[tag];
    if (submission.fate == Fate::accepted && count != submission.tasks)
      return fmt::format("job {} ({}) was accepted with {} tasks; there are {}", submission.number,
                         tag, submission.tasks, count);
    if (submission.fate == Fate::refused && count != 0 && !allows_refused_)
      return fmt::format("{} was refused, and there are {} jobs of it", tag, count);
    const bool is_whole = count == 0 || count == submission.tasks;
    const bool may_lack = has_damage() && count < submission.tasks;  // its number is not known
    if (submission.fate == Fate::unknown && !is_whole && !may_lack)
      return fmt::format("{} was submitted with {} tasks, and there are {} jobs of it", tag,
                         submission.tasks, count);
  }
  return {};
}

std::string Audit::look_at_forecast() {
  const auto outlook = machine_.master().forecast(kOperator, {});
  if (!outlook) return {};  // none was made yet
  for (const JobOutlook& job : outlook->jobs) {
    const bool is_in_order = job.start.p10 <= job.start.p50 && job.start.p50 <= job.start.p90 &&
                             job.end.p10 <= job.end.p50 && job.end.p50 <= job.end.p90;
    const bool is_past = job.waits && job.start.p10 < outlook->made_at;
    if (!is_in_order || is_past || !machine_.master().find(kOperator, {job.job, {}}))
      return fmt::format("job {} is forecast to start at {} to {}, around {}, by a forecast of {}",
                         job.job, job.start.p10.us, job.start.p90.us, job.start.p50.us,
                         outlook->made_at.us);
  }
  return {};
}

/// The clock may have been set since, for both times.
std::string Audit::look_at_promise(const JobRecord& job) {
  const StartPromise& promise = job.promise;
  if (promise.made == Time::never() && !promised_.contains(job.number)) return {};
  const std::string wait = promise.told.p50 == Time::never()
                               ? "for ever"
                               : std::to_string((promise.told.p50 - promise.made).us);
  const auto [before, is_new] = promised_.emplace(job.number, wait);
  if (is_new || before->second == wait) return {};
  return fmt::format("job {} was promised to wait {} us, and now {}", job.number, before->second,
                     wait);
}

std::string Audit::look_at_ended(const JobRecord& job) {
  if (!job.has_ended()) return {};
  const std::string how = fmt::format("{} at {} after {} runs: {}", state_name(job.shown_phase()),
                                      job.life.state.since.us, job.runs, job.reason);
  const auto [before, is_new] = ended_.emplace(job.number, how);
  if (!is_new && before->second != how)
    return fmt::format("job {} was {}, and is now {}", job.number, before->second, how);
  if (auto wrong = look_at_duration(job); !wrong.empty()) return wrong;
  const Told& told = told_[job.number];
  if (told.last != state_name(job.shown_phase()) && !compacts_)
    return fmt::format("job {} is {}, and its last event is {}", job.number,
                       state_name(job.shown_phase()), told.last);
  return {};
}

/// Of a job that ran once, at the speed that it was said to have, whoever saw it begin and end.
std::string Audit::look_at_duration(const JobRecord& job) {
  constexpr Duration kTolerance = seconds(5);
  const auto lasted = lasted_.find(job.number);
  const bool is_plain = job.phase() == Phase::done && job.runs == 1 && !job.spec.is_elastic() &&
                        !job.progress && job.born_as.empty() && !is_clock_lost_ && !is_restored_;
  if (!is_plain || lasted == lasted_.end()) return {};
  const Duration recorded = job.life.state.done, true_one = lasted->second;
  // Without a sign of progress the load that is known of similar jobs is no work.
  const Duration most_load = job.load.presumed;
  if (recorded >= true_one - most_load - kTolerance && recorded <= true_one + kTolerance) return {};
  return fmt::format("job {} ran for {}, and {} are recorded", job.number, format(true_one),
                     format(recorded));
}

/// All that ever ran is in it.
std::string Audit::look_at_history() {
  JobFilter filter;
  filter.limit = 10'000;
  const auto page = machine_.master().jobs(kOperator, filter);
  std::string csv;
  for (Service::HistoryPart part; page && !part.is_last; csv += part.csv) {
    auto next = machine_.master().history(kOperator, part);
    if (!next) return "the history cannot be read: " + next.error().message;
    part = *std::move(next);
  }
  if (!page) return "the jobs cannot be listed: " + page.error().message;
  const auto ran = std::ranges::count_if(
      page->jobs, [](const JobRecord& job) { return job.life.state.done.us > 0; });
  const auto lines = std::ranges::count(csv, '\n');
  if (lines < ran) return fmt::format("{} jobs ran, and the history has {} lines", ran, lines);
  return {};
}

std::string Audit::look_at_end() {
  if (auto wrong = look(true); !wrong.empty()) return wrong;
  if (!is_restored_ && machine_.kept_log().count(LogLevel::error, "JOURNAL HAS LOST") > 0)
    return "the daemon says that its journal has lost a part, which it has not";
  if (auto wrong = look_at_history(); !wrong.empty()) return wrong;
  const auto cluster = machine_.master().cluster(kOperator);
  for (const MachineView& machine : cluster->machines)
    if (machine.free != machine.capacity)
      return fmt::format("nothing runs, and {} is not free", machine.name);
  for (const MemoryWorld::Seen& run : machine_.runs())
    if (run.lives) return fmt::format("run {} of job {} still lives", run.id.run, run.id.job);
  return look_at_output();
}

/// Nothing runs any more: scripts are gone, and output counts as it was written.
std::string Audit::look_at_output() {
  if (has_damage() || is_restored_) return {};
  const auto all = machine_.journal().disk_use_of_all();
  if (!all) return all.error().message;
  if (all->use.scripts != 0)
    return fmt::format("all jobs have ended, and scripts take {} bytes", all->use.scripts);
  if (machine_.is_local()) return {};  // what its runs wrote is in files
  std::int64_t written = 0;
  for (const MemoryWorld::Seen& run : machine_.runs()) written += run.end.output_bytes;
  if (compacts_ ? all->use.output > written : all->use.output != written)
    return fmt::format("output takes {} bytes, and counts {}", written, all->use.output);
  return {};
}

}  // namespace trainyard
