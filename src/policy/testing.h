// A policy at work on a yard moved by hand, for the unit tests of policy/.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "policy/registry.h"
#include "yard/testing.h"

namespace trainyard {

/// Settings under which a job may be paused as soon as it has started.
inline const std::vector<std::string> kAtOnce{"yard.min_run=0"};

/// A machine of V100 and one of K80, with so many GPUs each.
inline Cluster two_kinds(std::int32_t gpus) {
  return *parse_cluster_toml(fmt::format("[[rack]]\n[[rack.machine]]\ngpus = {0}\nkind = \"V100\"\n"
                                         "[[rack.machine]]\ngpus = {0}\nkind = \"K80\"\n",
                                         gpus),
                             "two_kinds");
}

/// Who has been told to leave, by number.
inline std::vector<std::uint32_t> leaving(const HandYard& h) {
  std::vector<std::uint32_t> jobs;
  for (std::uint32_t i = 0; i < h.yard.jobs(); ++i)
    if (h.phase(JobId{i}) == Phase::draining) jobs.push_back(i);
  return jobs;
}

/// What a policy reckoned, in the order in which it told.
struct Reckonings : ReckoningListener {
  struct Told {
    JobId waiter = kNoJob;
    double gain_s = 0, spared_s = 0, others_s = 0;

    bool operator==(const Told&) const = default;
  };
  void on_reckoning(JobId waiter, const PauseReckoning& r) override {
    reckoned.push_back({waiter, r.gain_s, r.spared_s, r.others_s});
  }
  std::vector<Told> reckoned;
};

class HandPolicy : public HandYard, public Reckonings {
 public:
  HandPolicy(Cluster c, const std::string& line, const std::vector<std::string>& settings = {})
      : HandPolicy(std::move(c), PolicySpec::parse(line, settings).value()) {}
  HandPolicy(const std::string& shorthand, const std::string& line,
             const std::vector<std::string>& settings = {})
      : HandPolicy(*parse_cluster_shorthand(shorthand), line, settings) {}

  /// Decides once, and has everything that was started loaded at once if that takes no time.
  void decide() {
    Plan plan(yard);
    policy->decide(plan);
    wake = plan.wake();
    refused += plan.refused();
    for (std::size_t i = 0; i < yard.jobs(); ++i) {
      const JobId job{static_cast<std::uint32_t>(i)};
      if (phase(job) == Phase::starting && yard.job(job).load.us == 0) tell(EventKind::loaded, job);
    }
  }

  /// The phases of all jobs by number, as "running queued".
  [[nodiscard]] std::string phases() const {
    std::string text;
    for (std::size_t i = 0; i < yard.jobs(); ++i)
      text +=
          fmt::format("{}{}", i == 0 ? "" : " ", name(phase(JobId{static_cast<std::uint32_t>(i)})));
    return text;
  }

  std::unique_ptr<Policy> policy;
  Time wake = Time::never();
  std::uint64_t refused = 0;

 private:
  HandPolicy(Cluster c, const PolicySpec& spec)
      : HandYard(std::move(c), spec.rules()),
        policy(spec.build(yard, 1, FlowClasses::carried_out, this)) {}
};

}  // namespace trainyard
