#include "live/loop/disk_budget.h"

#include <fmt/format.h>

#include <algorithm>

#include "live/service/rights.h"

namespace trainyard {
namespace {

constexpr std::int64_t kUsersPart = 4;

std::string mib(std::int64_t bytes) {
  return fmt::format("{:.1f} MiB", static_cast<double>(bytes) / (1 << 20));
}

std::string parts_of(const DiskUse& use) {
  return fmt::format("scripts and environments {}, output {}, history {}", mib(use.scripts),
                     mib(use.output), mib(use.history));
}

/// What frees most.
std::string advice_for(const DiskUse& own) {
  constexpr const char* kOtherwise = "an operator can raise `serve --disk`";
  if (own.scripts > std::max(own.output, own.history))
    return fmt::format("cancel jobs that wait: a job's script goes when it ends; or {}",
                       kOtherwise);
  if (own.output > own.history)
    return fmt::format("output of ended jobs goes after `serve --keep`; or {}", kOtherwise);
  return kOtherwise;
}

}  // namespace

DiskUse disk_use_of(JobSpec spec, std::size_t count) {
  const auto history = static_cast<std::int64_t>(count * memory_of(spec));
  return {.scripts = static_cast<std::int64_t>(to_json(take_payload(spec)).size()),
          .history = history};
}

std::int64_t room_on_disk(const DiskUse& own, const AllDiskUse& all, std::int64_t most) {
  const std::int64_t share = most / kUsersPart;
  const std::int64_t average = most / std::max<std::int64_t>(all.users, 1);
  const std::int64_t in_all = std::max(most - all.use.sum(), average - own.sum());
  return std::max<std::int64_t>(std::min(share - own.sum(), in_all), 0);
}

Answer<void> check_disk_budget(const DiskUse& own, const AllDiskUse& all, const DiskUse& more,
                               std::int64_t most) {
  if (more.sum() <= room_on_disk(own, all, most)) return {};
  const std::int64_t share = most / kUsersPart;
  if (own.sum() + more.sum() > share)
    return refuse(Refusal::Kind::conflict,
                  "your jobs take {} of the daemon's disk ({}), and this would take {} more; a "
                  "user may have {}: {}",
                  mib(own.sum()), parts_of(own), mib(more.sum()), mib(share), advice_for(own));
  const std::int64_t average = most / std::max<std::int64_t>(all.users, 1);
  return refuse(Refusal::Kind::unavailable,
                "the jobs of all users take {} of the daemon's disk ({}), and {} are the most; "
                "yours take {}, which is more than an equal share of {}: {}",
                mib(all.use.sum()), parts_of(all.use), mib(most), mib(own.sum()), mib(average),
                advice_for(own));
}

}  // namespace trainyard
