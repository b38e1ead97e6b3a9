#include "live/service/live_outlook.h"

#include <algorithm>

namespace trainyard {

const JobOutlook* LiveOutlook::find(JobNumber job) const {
  const auto found = std::ranges::lower_bound(jobs, job, {}, &JobOutlook::job);
  return found == jobs.end() || found->job != job ? nullptr : &*found;
}

}  // namespace trainyard
