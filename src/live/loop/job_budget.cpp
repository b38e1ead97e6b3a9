#include "live/loop/job_budget.h"

#include "live/service/rights.h"

namespace trainyard {
namespace {

constexpr std::size_t kMostUnfinished = 100'000;  // of one user

}  // namespace

Answer<void> check_budget(const JobBook::Held& own, const JobBook::Held& all,
                          const JobBook::Held& more, std::size_t most) {
  if (own.jobs + more.jobs > kMostUnfinished)
    return refuse(Refusal::Kind::conflict,
                  "you have {} jobs that have not ended; a user may have {}", own.jobs,
                  kMostUnfinished);
  if (own.bytes + more.bytes > most / 2)
    return refuse(Refusal::Kind::conflict,
                  "your jobs that have not ended take {} MiB of the daemon's memory, and these "
                  "would take {} MiB; a user may have {} MiB",
                  own.bytes >> 20U, more.bytes >> 20U, most >> 21U);
  if (all.bytes + more.bytes > most)
    return refuse(Refusal::Kind::unavailable,
                  "jobs that have not ended take {} MiB of the daemon's memory, and {} MiB are the "
                  "most; try again when some have ended",
                  all.bytes >> 20U, most >> 20U);
  return {};
}

}  // namespace trainyard
