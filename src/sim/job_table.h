// What became of each job, as CSV: for spreadsheets and notebooks. Times in seconds.
#pragma once

#include <ostream>

#include "yard/yard.h"

namespace trainyard {

/// id,user,class,gpus,submit_s,start_s,end_s,jct_s,wait_s,slowdown,pauses,lost_s,state. Fields that
/// do not apply (the end of a job that has not ended) are empty.
void write_job_table(const Yard& yard, std::ostream& out);

}  // namespace trainyard
