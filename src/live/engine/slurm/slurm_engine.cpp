#include "live/engine/slurm/slurm_engine.h"

#include <sys/eventfd.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <stdexcept>

#include "live/engine/slurm/submission.h"

namespace trainyard {

SlurmEngine::SlurmEngine(System& system, std::unique_ptr<SlurmController> slurm,
                         SlurmEngineOptions options)
    : system_(system),
      options_(std::move(options)),
      slurm_(std::move(slurm)),
      runs_(system, *slurm_, options_.runs),
      wake_(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)) {
  if (!wake_) throw std::runtime_error("no eventfd can be had");
}

Expected<std::unique_ptr<SlurmEngine>> SlurmEngine::open(System& system,
                                                         std::unique_ptr<SlurmController> slurm,
                                                         SlurmEngineOptions options) {
  std::unique_ptr<SlurmEngine> engine(
      new SlurmEngine(system, std::move(slurm), std::move(options)));
  if (!engine->runs_.look()) return fail("slurmctld does not answer");
  const SlurmNodes& nodes = engine->runs_.nodes();
  if (nodes.nodes().empty())
    return fail("no node of partition {} has GPUs (Gres=gpu:N in slurm.conf)",
                quoted(engine->options_.runs.partition));
  engine->cluster_ = nodes.cluster();
  engine->publish();
  engine->next_cluster_.reset();
  std::erase_if(engine->reports_, [](const EngineReport& report) {
    return std::holds_alternative<ClusterReport>(report);
  });
  if (engine->options_.has_thread)
    engine->thread_ = std::jthread([raw = engine.get()] { raw->work(); });
  return engine;
}

SlurmEngine::~SlurmEngine() {
  {
    const std::lock_guard lock(mutex_);
    is_ending_ = true;
  }
  ordered_.notify_all();
}

std::string SlurmEngine::describe() const {
  return fmt::format("Slurm's partition {}: {}", options_.runs.partition,
                     trainyard::describe(cluster_));
}

// --- Orders --------------------------------------------------------------------------------------

void SlurmEngine::order(Order order) {
  if (!options_.has_thread) {
    order(runs_);
    return publish();
  }
  {
    const std::lock_guard lock(mutex_);
    orders_.push_back(std::move(order));
  }
  ordered_.notify_all();
}

Expected<void> SlurmEngine::start(const Launch& launch) {
  if (auto ok = system_.before("engine.start"); !ok) return ok;
  const RunId id = launch.id;
  if (const auto known = begun_.find(id.job); known != begun_.end() && known->second >= id.run)
    return fail("run {} of job {} was begun before", id.run, id.job);
  SlurmRuns::Start start{id, {}, launch.per_worker.gpus, {}, system_.steady_clock()};
  for (const WorkerPlace& worker : launch.workers) {
    if (index(worker.machine) >= cluster_.machines.size()) return fail("there is no such machine");
    start.nodes.push_back(cluster_.machine(worker.machine).name);
  }
  if (launch.born_as.empty()) {
    auto submission = submission_of(launch, start.nodes);
    if (!submission) return tl::make_unexpected(submission.error());
    start.submission = *std::move(submission);
  }
  begun_[id.job] = id.run;
  order([start = std::move(start)](SlurmRuns& runs) { runs.start(start); });
  system_.after("engine.start");
  return {};
}

Expected<void> SlurmEngine::stop(const Stop& stop) {
  if (auto ok = system_.before("engine.stop"); !ok) return ok;
  order([stop](SlurmRuns& runs) { runs.stop(stop); });
  system_.after("engine.stop");
  return {};
}

Expected<void> SlurmEngine::adopt(RunId id) {
  if (auto ok = system_.before("engine.adopt"); !ok) return ok;
  std::uint32_t& highest = begun_[id.job];
  highest = std::max(highest, id.run);
  order([id](SlurmRuns& runs) { runs.adopt(id); });
  system_.after("engine.adopt");
  return {};
}

void SlurmEngine::call(const std::string& born_as, JobNumber job) {
  order([born_as, job](SlurmRuns& runs) { runs.call(born_as, job); });
}

void SlurmEngine::forget(RunId id) {
  if (!system_.before("engine.forget")) return;
  if (id.run == 0) end(id.job);
  system_.after("engine.forget");
}

void SlurmEngine::end(JobNumber job) {
  order([job](SlurmRuns& runs) { runs.end(job); });
}

Expected<void> SlurmEngine::erase_output(JobNumber job, std::uint32_t /*runs*/) {
  begun_.erase(job);
  const std::lock_guard lock(mutex_);
  outputs_.erase(job);
  return {};
}

// --- The thread ----------------------------------------------------------------------------------

void SlurmEngine::work() {
  for (std::unique_lock lock(mutex_);;) {
    const Time due = std::min(next_look_, runs_.next());
    const Duration wait = std::max(due - system_.steady_clock(), Duration{});
    ordered_.wait_for(lock, std::chrono::microseconds(wait.us),
                      [&] { return is_ending_ || !orders_.empty(); });
    if (is_ending_) return;
    std::vector<Order> orders = std::exchange(orders_, {});
    lock.unlock();
    carry_out(std::move(orders));
    if (system_.steady_clock() >= next_look_) {
      look();
    } else if (system_.steady_clock() >= runs_.next()) {
      runs_.tend();
    }
    publish();
    lock.lock();
  }
}

void SlurmEngine::look() {
  constexpr std::int64_t kPausesForALook = 10;  // so many times as long as it took
  const Time begun = system_.steady_clock();
  (void)runs_.look();
  const Time now = system_.steady_clock();
  const Duration least =
      runs_.is_in_transit() ? options_.least_in_transit : options_.least_between_looks;
  next_look_ =
      now + std::clamp((now - begun) * kPausesForALook, least, options_.most_between_looks);
}

/// Many orders at once are cheaper after a look at all jobs than with one at each.
void SlurmEngine::carry_out(std::vector<Order> orders) {
  constexpr std::size_t kMany = 8;
  for (std::size_t i = 0; i < orders.size(); ++i) {
    if (orders.size() - i > kMany && !runs_.is_fresh()) look();
    orders[i](runs_);
  }
}

void SlurmEngine::publish() {
  std::vector<EngineReport> reports = runs_.take_reports();
  if (reports.empty()) return;
  {
    const std::lock_guard lock(mutex_);
    for (EngineReport& report : reports) {
      if (std::holds_alternative<ClusterReport>(report)) next_cluster_ = runs_.nodes().cluster();
      if (const auto* run = std::get_if<RunReport>(&report); run != nullptr)
        if (auto output = runs_.output_of(run->id.job)) outputs_[run->id.job] = *std::move(output);
      reports_.push_back(std::move(report));
    }
  }
  const std::uint64_t one = 1;
  (void)!::write(wake_.get(), &one, sizeof one);
}

std::vector<EngineReport> SlurmEngine::poll() {
  std::uint64_t count = 0;
  (void)!::read(wake_.get(), &count, sizeof count);
  // An order like all others: those that came before, after a restart, are carried out first.
  if (!std::exchange(is_open_, true)) order([](SlurmRuns& runs) { runs.open(); });
  if (!options_.has_thread) {
    (void)runs_.look();
    publish();
  }
  const std::lock_guard lock(mutex_);
  if (next_cluster_) cluster_ = *std::exchange(next_cluster_, std::nullopt);
  return std::exchange(reports_, {});
}

/// The second where several slurmd share a machine.
std::vector<std::string> SlurmEngine::cgroups_of(RunId /*id*/, const std::string& machine,
                                                 const std::string& born_as) const {
  const std::string job = slurm_id(born_as);
  if (job.empty()) return {};
  return {fmt::format("system.slice/slurmstepd.scope/job_{}", job),
          fmt::format("system.slice/{}_slurmstepd.scope/job_{}", machine, job)};
}

Expected<Engine::Output> SlurmEngine::output(RunId id, std::int32_t /*worker*/,
                                             std::uint64_t /*offset*/,
                                             std::size_t /*limit*/) const {
  const std::lock_guard lock(mutex_);
  const auto known = outputs_.find(id.job);
  if (known == outputs_.end())
    return fail("Slurm has the output of job {}, and it has not been started yet", id.job);
  return fail("job {} is Slurm's job {}, which writes to {}", id.job, known->second.first,
              known->second.second);
}

}  // namespace trainyard
