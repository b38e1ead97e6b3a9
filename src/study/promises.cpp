#include "study/promises.h"

#include <algorithm>
#include <cmath>
#include <vector>

#include "forecast/job_lengths.h"
#include "forecast/look_ahead.h"
#include "forecast/promise_tally.h"
#include "study/recipe.h"

namespace trainyard {
namespace {

struct Made {
  JobId job;
  Time at;
  TimeBand drawn, told;
  Time by_limits;  // if all take what they declare
};

/// Hears which jobs are to be promised something, and what became of them.
class Judge final : public YardListener {
 public:
  Judge(const Cluster& cluster, const Workload& workload, const PolicySpec& policy,
        const SimOptions& simulation, const PromiseOptions& options)
      : cluster_(cluster),
        workload_(workload),
        policy_(policy),
        sim_options_(simulation),
        options_(options) {}

  Expected<Metrics> run() {
    auto simulation = make_simulation(cluster_, workload_, policy_, sim_options_);
    if (!simulation) return tl::make_unexpected(simulation.error());
    yard_ = &(*simulation)->yard();
    (*simulation)->listen(*this);
    while ((*simulation)->step())
      if (auto ok = promise_those_who_wait(**simulation); !ok)
        return tl::make_unexpected(ok.error());
    Metrics metrics = judged();
    const Result result = (*simulation)->result();
    metrics["jobs"] = static_cast<double>(workload_.jobs.size());
    metrics["finished"] = static_cast<double>(result.finished);
    return metrics;
  }

  void on_phase(JobId job, Phase from, Phase to) override {
    if (from == Phase::absent) waiting_.push_back(job), is_new_ = true;
    if (to == Phase::starting && yard_->state(job).first_start == yard_->now() &&
        std::erase(waiting_, job) > 0)
      record_.started(index(job), yard_->now());
    if (to == Phase::done) {
      const Job& of = workload_.jobs[index(job)];
      lengths_.add(user_of(of), of.estimate, of.duration);
    }
  }

 private:
  [[nodiscard]] std::string_view user_of(const Job& job) const {
    return index(job.user) < workload_.users.size() ? workload_.users[index(job.user)] : "";
  }

  Expected<void> promise_those_who_wait(const Simulation& simulation) {
    const Time now = yard_->now();
    const bool is_hour = now >= next_hour_;
    if (waiting_.empty() || (!is_new_ && !is_hour)) return {};
    std::vector<JobId> asked;
    for (const JobId job : waiting_)
      if (is_hour || index(job) >= promised_) asked.push_back(job);
    if (is_hour) next_hour_ = now + options_.every;
    is_new_ = false;
    const std::size_t first_new = std::exchange(promised_, yard_->jobs());
    return asked.empty() ? Expected<void>{} : promise(simulation, asked, first_new);
  }

  Expected<void> promise(const Simulation& simulation, const std::vector<JobId>& asked,
                         std::size_t first_new) {
    const Beginning beginning = simulation.save();
    Workload known = workload_;
    known.jobs.resize(beginning.jobs.size());
    LookAheadOptions options{.draws = options_.draws,
                             .seed = ++seed_,
                             .horizon = options_.horizon,
                             .most_segments = 0,
                             .simulation = {.seed = sim_options_.seed,
                                            .models = sim_options_.models,
                                            .network = sim_options_.network}};
    const BeginDraw drawn = [&]() -> DrawLength {
      return [this, draw = JobLengths::Draw(lengths_)](const Job& job, Duration done,
                                                       Random& random) mutable {
        return draw.length(user_of(job), job.estimate, done, false, random);
      };
    };
    const auto outlook =
        look_ahead(cluster_, known, policy_, beginning, drawn, arrivals(beginning.now), options);
    if (!outlook) return tl::make_unexpected(outlook.error());
    options.draws = 1, options.horizon = days(3650);
    const BeginDraw declared = []() -> DrawLength {
      return [](const Job& job, Duration, Random&) { return job.estimate; };
    };
    const auto by_limits = look_ahead(cluster_, known, policy_, beginning, declared, {}, options);
    if (!by_limits) return tl::make_unexpected(by_limits.error());
    const BandScale scale = record_.scale(beginning.now);
    for (const JobId job : asked) {
      const TimeBand& band = outlook->starts[index(job)];
      made_.push_back({job, beginning.now, band, scale.promised(band, beginning.now),
                       by_limits->starts[index(job)].p50});
    }
    for (const JobId job : asked)
      if (index(job) >= first_new)
        record_.promise(index(job), beginning.now, outlook->starts[index(job)]);
    return {};
  }

  [[nodiscard]] Arrivals arrivals(Time now) const {
    Arrivals came;
    const Time first = std::max(workload_.jobs.front().submit, now - options_.learn_from);
    came.span = std::max(now - first, Arrivals::kLeastSpan);
    for (std::size_t j = yard_->jobs(); j-- > 0 && workload_.jobs[j].submit > first;) {
      came.jobs.push_back(workload_.jobs[j]);
      came.jobs.back().submit = Time{} + (workload_.jobs[j].submit - first);
    }
    std::ranges::reverse(came.jobs);
    return came;
  }

  [[nodiscard]] Metrics judged() const {
    Metrics metrics;
    Duration least{-1};
    for (const PromiseLimit& limit : kPromiseLimits) {
      add(limit.name, least, limit.wait, metrics);
      least = limit.wait;
    }
    add("all", Duration{-1}, kPromiseLimits.back().wait, metrics);
    metrics["beyond"] = static_cast<double>(made_.size()) - metrics["all.promises"];
    return metrics;
  }

  void add(const std::string& name, Duration above, Duration up_to, Metrics& metrics) const {
    std::vector<double> errors, errors_by_limits;
    double count = 0, held = 0, drawn_held = 0;
    for (const Made& made : made_) {
      const Duration wait =
          made.told.p50 == Time::never() ? Duration::max() : made.told.p50 - made.at;
      if (wait <= above || wait > up_to) continue;
      const Time start = yard_->state(made.job).first_start;
      ++count;
      held += is_within(made.told, start) ? 1 : 0;
      drawn_held += is_within(made.drawn, start) ? 1 : 0;
      errors.push_back(std::abs((made.told.p50 - start).seconds()));
      errors_by_limits.push_back(std::abs((made.by_limits - start).seconds()));
    }
    const auto part = [&](double n) { return count > 0 ? n / count : 0; };
    metrics[name + ".promises"] = count;
    metrics[name + ".held"] = part(held);
    metrics[name + ".drawn_held"] = part(drawn_held);
    metrics[name + ".error_s"] = median_of(std::move(errors));
    metrics[name + ".limits_error_s"] = median_of(std::move(errors_by_limits));
  }

  const Cluster& cluster_;
  const Workload& workload_;
  const PolicySpec& policy_;
  const SimOptions& sim_options_;
  const PromiseOptions& options_;
  const Yard* yard_ = nullptr;
  std::vector<JobId> waiting_;  // and have never started
  bool is_new_ = false;         // some of them came since the last promises
  std::size_t promised_ = 0;    // jobs before this one have been promised something
  Time next_hour_;
  std::uint64_t seed_ = 0;
  JobLengths lengths_;
  TrackRecord record_;
  std::vector<Made> made_;
};

}  // namespace

Expected<Metrics> judge_promises(const Cluster& cluster, const Workload& workload,
                                 const PolicySpec& policy, const SimOptions& simulation,
                                 const PromiseOptions& options) {
  return Judge(cluster, workload, policy, simulation, options).run();
}

}  // namespace trainyard
