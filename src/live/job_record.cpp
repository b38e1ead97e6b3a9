#include "live/job_record.h"

namespace trainyard {

std::string_view state_name(const JobRecord& job) {
  return job.is_held() ? "held" : name(job.life.state.phase);
}

}  // namespace trainyard
