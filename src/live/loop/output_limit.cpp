#include "live/loop/output_limit.h"

#include <algorithm>

#include "live/loop/disk_budget.h"

namespace trainyard {
namespace {

/// What was heard of and is not in the journal yet.
std::int64_t unwritten(const LiveState& state, const JobRecord& job) {
  const JobRecord* written = state.book.on_disk().find(job.number);
  return job.output_bytes - (written == nullptr ? 0 : written->output_bytes);
}

/// Those that it runs with; of a machine that is divided the yard knows one.
std::int64_t workers_of(const JobRecord& job) {
  std::int64_t placed = 0;
  for (const Share& share : job.life.room.placement) placed += share.workers;
  return std::max<std::int64_t>(placed, job.spec.workers);
}

/// Nothing to those that have their GPUs since this turn, and whose own limit comes next.
std::int64_t promised(const JobRecord& job) {
  return workers_of(job) * job.output_limit.value_or(0);
}

}  // namespace

Expected<std::int64_t> output_limit_of(const LiveState& state, const JobRecord& job) {
  const std::int64_t most = state.engine.keeps_output();
  if (most == 0) return 0;
  auto own = state.journal.disk_use(job.owner.uid);
  if (!own) return tl::make_unexpected(own.error());
  auto all = state.journal.disk_use_of_all();
  if (!all) return tl::make_unexpected(all.error());
  const auto add = [&](const JobRecord& other, std::int64_t bytes) {
    all->use.output += bytes;
    if (other.owner.uid == job.owner.uid) own->output += bytes;
  };
  for (const JobNumber number : state.book.changed())
    if (const JobRecord* other = state.book.find(number)) add(*other, unwritten(state, *other));
  for (const JobNumber number : state.book.holding())
    if (number != job.number) add(state.book.at(number), promised(state.book.at(number)));
  const std::int64_t left = room_on_disk(*own, *all, state.options.disk);
  return std::clamp<std::int64_t>(left / 2 / workers_of(job), 0, most);
}

}  // namespace trainyard
