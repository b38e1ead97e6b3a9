// What a live job asks of its machines beside GPUs of a kind (model/machine_terms.h).
#pragma once

#include "live/job/job_spec.h"
#include "model/machine_terms.h"

namespace trainyard {

/// CPUs and memory that the job does not name are the machine's share for its GPUs.
MachineTerms terms_of(const JobSpec& spec);

}  // namespace trainyard
