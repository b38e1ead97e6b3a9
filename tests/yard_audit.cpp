#include "yard_audit.h"

#include <fmt/ranges.h>

#include <algorithm>
#include <set>

#include "testing.h"

namespace trainyard {
namespace {

bool may_follow(Phase from, Phase to) {
  switch (from) {
    case Phase::absent:
      return to == Phase::queued;
    case Phase::queued:
      return to == Phase::reserved || to == Phase::starting || to == Phase::cancelled;
    case Phase::reserved:
      return to == Phase::starting || to == Phase::queued;
    case Phase::starting:
      return to == Phase::running || to == Phase::queued || has_ended(to);
    case Phase::running:
      return to == Phase::draining || to == Phase::starting || to == Phase::queued ||
             has_ended(to);  // starting: it had not loaded yet
    case Phase::draining:
      return to == Phase::queued || has_ended(to);
    default:
      return false;
  }
}

bool waits(Phase phase) {
  return phase == Phase::queued || phase == Phase::reserved;
}

MachineId machine_id(std::size_t m) {
  return MachineId{static_cast<std::uint32_t>(m)};
}

}  // namespace

void YardAudit::on_phase(JobId job, Phase from, Phase to) {
  Book& book = books_[index(job)];
  const Duration spent = yard_.now() - book.since;
  book.since = yard_.now();
  if (!may_follow(from, to))
    complain("job {} went from {} to {}", index(job), name(from), name(to));
  book.ended_early = from == Phase::draining && to == Phase::done;
  if (holds_gpus(from)) book.held += spent;
  if (waits(from)) book.waited += spent;
  if (to == Phase::draining) check_pause(job, spent);
  if (to == Phase::reserved) book.promised = yard_.placement(job);
  if (from == Phase::reserved) check_end_of_reservation(job, to);
}

void YardAudit::check_pause(JobId job, Duration ran) {
  Book& book = books_[index(job)];
  const JobId waiter = yard_.making_room_for(job);
  const YardRules& rules = yard_.rules();
  const bool moves = std::ranges::find(yard_.moving(), job) != yard_.moving().end();
  if (ran < (moves ? std::min(rules.min_run, rules.min_stay) : rules.min_run))
    complain("job {} was paused after {}, before min_run", index(job), format(ran));
  if (++book.pauses > yard_.rules().max_pauses)
    complain("job {} was paused {} times", index(job), book.pauses);
  if (!in_groups_) check_turn(job, waiter, ran);
}

/// Of a job that leaves for one that waits, as Plan::make_room has it. A group of changes says
/// itself in whose favour.
void YardAudit::check_turn(JobId job, JobId waiter, Duration ran) {
  Book& book = books_[index(job)];
  if (waiter == kNoJob || yard_.state(waiter).phase != Phase::reserved)
    return complain("job {} was paused for nobody", index(job));
  Duration turn = yard_.rules().turn;
  for (std::size_t n = books_[index(waiter)].gave_way_to.count(job); n > 0; --n, turn = turn * 2)
    if (ran < turn)
      complain("job {} takes its turn of job {} after {}", index(waiter), index(job), format(ran));
  book.gave_way_to.insert(waiter);
}

void YardAudit::check_end_of_reservation(JobId job, Phase to) {
  const Placement& promised = books_[index(job)].promised;
  if (to == Phase::starting) {
    if (yard_.placement(job) != promised)
      complain("job {} starts elsewhere than where room was made", index(job));
    return;
  }
  const bool failed = std::any_of(promised.begin(), promised.end(), [&](const Share& share) {
    return failures_.contains({yard_.now().us, share.machine});
  });
  if (!failed && !cancelled_.contains(job))
    complain("job {} lost its reservation without a fault", index(job));
}

void YardAudit::inspect() {
  std::int64_t held = 0;
  std::size_t unfinished = 0;
  for (std::size_t j = 0; j < yard_.jobs(); ++j) {
    inspect_job(job_id(j));
    const Phase phase = yard_.state(job_id(j)).phase;
    if (holds_gpus(phase)) held += yard_.gpus(job_id(j));
    if (!has_ended(phase)) ++unfinished;
  }
  if (held != yard_.held_gpus()) complain("held_gpus is {}, not {}", yard_.held_gpus(), held);
  if (unfinished != yard_.unfinished())
    complain("unfinished is {}, not {}", yard_.unfinished(), unfinished);
  for (std::size_t m = 0; m < yard_.cluster().machines.size(); ++m) inspect_machine(machine_id(m));
}

void YardAudit::inspect_machine(MachineId machine) {
  const std::string& name = yard_.cluster().machine(machine).name;
  const Resources& capacity = yard_.cluster().machine(machine).capacity;
  const Resources& free = yard_.free().on(machine);
  Resources held;
  std::set<std::int32_t> gpus;
  for (const JobId job : yard_.jobs_on(machine)) {
    const Placement& shares = yard_.placement(job);
    for (std::size_t i = 0; i < shares.size(); ++i) {
      if (shares[i].machine != machine) continue;
      for (const std::int32_t gpu : yard_.gpus(job, i))
        if (!gpus.insert(gpu).second) complain("a GPU of {} is held twice", name);
      if (holds_gpus(yard_.state(job).phase)) held += yard_.held(job, i);
    }
    if (!yard_.free().is_up(machine) && !closed_.contains(machine))
      complain("{} is down and holds job {}", name, index(job));
  }
  for (const JobId job : yard_.moving()) {
    const Placement& next = yard_.next_placement(job);
    for (std::size_t i = 0; i < next.size(); ++i) {
      if (next[i].machine != machine) continue;
      for (const std::int32_t gpu : yard_.next_gpus(job, i))
        if (!gpus.insert(gpu).second) complain("a GPU of {} is kept for two", name);
      if (!yard_.free().is_up(machine))
        complain("job {} moves to {}, which is down", index(job), name);
    }
  }
  if (!Resources{}.fits_in(free)) complain("{} has less than nothing free", name);
  if (!(held + free).fits_in(capacity)) complain("{} gives more than it has", name);
  const auto held_gpus = static_cast<std::int32_t>(gpus.size());
  if (held_gpus + free.gpus != capacity.gpus)
    complain("{}: {} GPUs held and {} free of {}", name, held_gpus, free.gpus, capacity.gpus);
  if (!gpus.empty() && *gpus.rbegin() >= capacity.gpus) complain("{} has no such GPU", name);
}

/// By the words of the job and of the machine, without a look at what the yard made of them.
void YardAudit::inspect_terms(JobId id, std::size_t share) {
  const Job& job = yard_.job(id);
  const Machine& machine = yard_.cluster().machine(yard_.placement(id)[share].machine);
  const Resources& each = yard_.each(id, share);
  static const MachineTerms kNone;
  const MachineTerms& terms = job.terms == kNoTerms ? kNone : yard_.workload().terms[job.terms];
  const auto small = [](std::string text) {
    std::ranges::transform(text, text.begin(), [](unsigned char c) { return std::tolower(c); });
    return text;
  };
  std::set<std::string> has{small(machine.name), small(yard_.cluster().kinds[index(machine.kind)])};
  for (const std::string& feature : machine.features) has.insert(small(feature));
  bool is_met = terms.constraint.empty();
  for (const auto& words : terms.constraint) {
    bool all = true;
    for (const std::string& word : words) all = all && has.contains(word);
    is_met = is_met || all;
  }
  if (!is_met) complain("job {} is on {}, which its constraint forbids", index(id), machine.name);
  const auto part = [&](std::int64_t amount) {
    return amount * each.gpus / std::max(machine.capacity.gpus, 1);
  };
  const std::int64_t cpus =
      terms.shares_cpus ? part(machine.capacity.milli_cpus) : job.per_worker.milli_cpus;
  const std::int64_t memory =
      terms.shares_memory ? part(machine.capacity.memory_mib) : job.per_worker.memory_mib;
  if (each.milli_cpus != cpus || each.memory_mib != memory)
    complain("job {} has {} mCPU and {} MiB of {}, not {} and {}", index(id), each.milli_cpus,
             each.memory_mib, machine.name, cpus, memory);
}

void YardAudit::inspect_job(JobId id) {
  const JobState& state = yard_.state(id);
  const Book& book = books_[index(id)];
  const Job& job = yard_.job(id);
  if (holds_gpus(state.phase)) {
    const Placement& shares = yard_.placement(id);
    const std::int32_t count = workers(shares);
    const bool is_whole = job.is_elastic() ? count >= job.min_workers && count <= job.max_workers
                                           : count == job.workers;
    if (!is_whole) complain("the gang of job {} is not whole", index(id));
    for (std::size_t i = 0; i < shares.size(); ++i) {
      const Machine& machine = yard_.cluster().machine(shares[i].machine);
      inspect_terms(id, i);
      if (std::ssize(yard_.gpus(id, i)) != shares[i].workers * yard_.each(id, i).gpus)
        complain("job {} has not the GPUs of its workers", index(id));
      if (job.kind != kAnyKind &&
          yard_.cluster().kinds[index(machine.kind)] != yard_.workload().kinds[index(job.kind)])
        complain("job {} is on GPUs of another kind", index(id));
    }
  }
  if (const JobId lead = yard_.making_room_for(id); lead != kNoJob && yard_.lead_of(lead) != lead)
    complain("job {} leaves for job {}, which waits for no room", index(id), index(lead));
  if (state.pauses != book.pauses)
    complain("job {} was paused {} times, not {}", index(id), book.pauses, state.pauses);
  if (book.held != state.done + state.lost + state.slowed && !holds_gpus(state.phase))
    complain("job {} held GPUs for {}, but did {} and lost {}", index(id), format(book.held),
             format(state.done), format(state.lost));
  if (book.waited != state.waited && !waits(state.phase))
    complain("job {} waited {}, not {}", index(id), format(book.waited), format(state.waited));
  if (state.phase == Phase::done && !book.ended_early && state.done != job.duration)
    complain("job {} is done after {} of its work", index(id), format(state.done));
}

std::string snapshot(const Yard& yard) {
  std::string text = fmt::format("{} {} {} {}\n", yard.now().us, yard.held_gpus(),
                                 yard.unfinished(), yard.orders().size());
  for (std::size_t m = 0; m < yard.cluster().machines.size(); ++m) {
    const Resources& free = yard.free().on(machine_id(m));
    text += fmt::format("{} {} {} {}:", free.gpus, free.milli_cpus, free.memory_mib,
                        yard.free().is_up(machine_id(m)));
    const auto there = yard.jobs_on(machine_id(m));
    for (const JobId job : std::set<JobId>(there.begin(), there.end()))
      text += fmt::format(" {}/{}", index(job), static_cast<int>(yard.flow(job)));
    text += "\n";
  }
  for (std::size_t j = 0; j < yard.jobs(); ++j) {
    const JobState& state = yard.state(job_id(j));
    text += fmt::format("{} {} {} {} {} {} {} {}", name(state.phase), state.pauses, state.since.us,
                        state.first_start.us, state.end().us, state.done.us, state.waited.us,
                        state.lost.us);
    if (holds_gpus(state.phase) || state.phase == Phase::reserved) {
      const Placement& shares = yard.placement(job_id(j));
      for (std::size_t i = 0; i < shares.size(); ++i)
        text += fmt::format(" {}x{}:{}", index(shares[i].machine), shares[i].workers,
                            fmt::join(yard.gpus(job_id(j), i), ","));
      text += fmt::format(" for {} led by {}", index(yard.making_room_for(job_id(j))),
                          index(yard.lead_of(job_id(j))));
    }
    text += "\n";
  }
  const std::set<JobId> moving(yard.moving().begin(), yard.moving().end());
  for (const JobId job : moving)
    for (std::size_t i = 0; i < yard.next_placement(job).size(); ++i)
      text +=
          fmt::format("{} to {}x{}:{}\n", index(job), index(yard.next_placement(job)[i].machine),
                      yard.next_placement(job)[i].workers, fmt::join(yard.next_gpus(job, i), ","));
  return text;
}

}  // namespace trainyard
