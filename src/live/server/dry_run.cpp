#include "live/server/dry_run.h"

#include <nlohmann/json.hpp>
#include <utility>
#include <vector>

#include "live/server/json.h"

namespace trainyard {
namespace {

struct Change {
  std::string what;
  JobSpec spec;
};

std::vector<Change> changes_of(const JobSpec& spec) {
  std::vector<Change> changes;
  const auto add = [&](std::string what) -> JobSpec& {
    return changes.emplace_back(Change{std::move(what), spec}).spec;
  };
  if (!spec.is_elastic() && spec.workers > 1) {
    const std::int32_t fewer_workers = spec.workers / 2;
    JobSpec& fewer = add(fmt::format("{} worker{}", fewer_workers, fewer_workers == 1 ? "" : "s"));
    fewer.workers = fewer_workers;
    fewer.max_workers = std::min(fewer.max_workers, fewer_workers);
  } else if (spec.per_worker.gpus > 1) {
    const std::int32_t gpus = spec.per_worker.gpus / 2;
    add(fmt::format("{} GPU{}", gpus, gpus == 1 ? "" : "s")).per_worker.gpus = gpus;
  }
  if (spec.job_class == JobClass::batch) add("class trial").job_class = JobClass::trial;
  const Duration half{spec.time.us / 2};
  if (half.us > 0) add(fmt::format("a time limit of {}", format(half))).time = half;
  return changes;
}

Answer<TimeBand> start_of(Service& service, const Identity& who, const JobSpec& spec) {
  OutlookQuestion question;
  question.job = spec;
  question.job->after.clear();
  const auto outlook = service.what_if(who, std::move(question));
  if (!outlook) return tl::make_unexpected(outlook.error());
  const JobOutlook* job = outlook->find(0);
  return job != nullptr ? job->start : TimeBand{};
}

}  // namespace

/// A change counts that brings a minute.
Answer<nlohmann::json> dry_run(Service& service, const Identity& who, const JobSpec& spec) {
  const auto start = start_of(service, who, spec);
  if (!start) return tl::make_unexpected(start.error());
  nlohmann::json sooner = nlohmann::json::array();
  for (const Change& change : changes_of(spec)) {
    const auto changed = start_of(service, who, change.spec);
    if (!changed || changed->p50 == Time::never()) continue;
    const bool is_sooner = start->p50 == Time::never() || changed->p50 + minutes(1) < start->p50;
    if (is_sooner)
      sooner.push_back({{"change", change.what}, {"expected_start", to_json(*changed)}});
  }
  return nlohmann::json{
      {"dry_run", true}, {"expected_start", to_json(*start)}, {"sooner", std::move(sooner)}};
}

}  // namespace trainyard
