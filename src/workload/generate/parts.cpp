#include "workload/generate/parts.h"

#include <algorithm>
#include <cmath>

namespace trainyard {

std::vector<Parameter> with_common_parameters(const std::vector<Parameter>& own) {
  std::vector<Parameter> all{
      {"jobs", "10000", "how many"},
      {"load", "0.9",
       "offered load: GPU time arriving over GPU time there is; above 1 queues grow"},
      {"trial", "0", "share of jobs that are trial jobs, 0 to 1; the others are batch"},
      {"users", "0", "how many users submit, each as often as the others; 0: they are not named"},
      {"grace", "0", "time between being told to leave and beginning to save"},
      {"save", "0", "time to write the checkpoint before leaving"},
      {"load_time", "0", "time from being placed to running, at every start"},
      {"checkpoint_interval", "0", "work between two checkpoints of its own; 0: none"},
      {"checkpoint_cost", "0", "time without progress for each of them"},
  };
  const auto add = [&](const std::vector<Parameter>& more) {
    all.insert(all.end(), more.begin(), more.end());
  };
  add(pause_parameters());
  add(flexibility_parameters());
  add(own);
  return all;
}

Basics read_basics(Settings& settings) {
  Basics basics;
  basics.jobs = static_cast<std::size_t>(settings.whole("jobs", 1, 50'000'000));
  basics.load = settings.real("load", 0.000001, 1000);
  basics.trial_share = settings.real("trial", 0, 1);
  basics.users = static_cast<std::uint64_t>(settings.whole("users", 0, 1'000'000));
  basics.costs.grace = settings.duration("grace");
  basics.costs.save = settings.duration("save");
  basics.costs.load = settings.duration("load_time");
  basics.costs.checkpoint_interval = settings.duration("checkpoint_interval");
  basics.costs.checkpoint_cost = settings.duration("checkpoint_cost");
  basics.pauses = read_pauses(settings);
  basics.flexibility = read_flexibility(settings);
  return basics;
}

std::vector<Parameter> flexibility_parameters() {
  return {{"elastic", "0",
           "share of jobs that can run at other sizes, from half to twice their own, 0 to 1"},
          {"measured_on", "any",
           "kinds of GPU that durations hold for, as V100/P100, a job's drawn evenly; any: every "
           "kind"},
          {"models", "none",
           "models that jobs train, as ResNet-50/VGG-16, a job's drawn evenly; none: not known"}};
}

Flexibility read_flexibility(Settings& settings) {
  Flexibility flexibility;
  flexibility.elastic = settings.real("elastic", 0, 1);
  if (settings.word("measured_on") != "any") flexibility.kinds = settings.words("measured_on");
  if (settings.word("models") != "none") flexibility.models = settings.words("models");
  return flexibility;
}

void set_flexibility(const Flexibility& flexibility, std::uint64_t seed, Workload& workload) {
  Random sizes = stream(seed, Stream::sizes), kinds = stream(seed, Stream::kinds),
         models = stream(seed, Stream::models);
  for (Job& job : workload.jobs) {
    if (flexibility.elastic > 0 && sizes.uniform() < flexibility.elastic) {
      job.min_workers = std::max(1, job.workers / 2);
      job.max_workers = job.workers * 2;
    }
    if (!flexibility.kinds.empty()) {
      const std::string& kind = flexibility.kinds[kinds.below(flexibility.kinds.size())];
      job.measured_on = KindId{static_cast<std::uint16_t>(workload.kinds.add(kind))};
    }
    if (!flexibility.models.empty()) {
      const std::string& model = flexibility.models[models.below(flexibility.models.size())];
      job.model = ModelId{static_cast<std::uint16_t>(workload.models.add(model))};
    }
  }
}

Job Basics::gang(std::int32_t gpus, Duration duration) const {
  Job job = costs;
  job.duration = job.estimate = duration;
  job.workers = job.min_workers = job.max_workers = gpus;
  return job;
}

void draw_users(std::uint64_t users, std::uint64_t seed, Workload& workload) {
  if (users == 0) return;
  for (std::uint64_t i = 1; i <= users; ++i) workload.users.add(fmt::format("user{}", i));
  Random random = stream(seed, Stream::users);
  for (Job& job : workload.jobs) job.user = UserId{static_cast<std::uint32_t>(random.below(users))};
}

Duration job_duration(double s) {
  const double us = std::clamp(s * 1e6, 1.0, static_cast<double>(kLongestDuration.us));
  return Duration{std::llround(us)};
}

Expected<void> check_span(double last_arrival_s) {
  if (last_arrival_s <= kLongestDuration.seconds()) return {};
  return fail(
      "the last job would arrive after {:.3g} years, and 10,000 are the most; ask for fewer "
      "jobs, shorter ones, or a higher load",
      last_arrival_s / days(365).seconds());
}

}  // namespace trainyard
