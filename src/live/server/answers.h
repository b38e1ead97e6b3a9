// What the API answers, one function for each route of the table in routes.cpp.
#pragma once

#include "live/server/reply.h"

namespace trainyard {

/// The one job that the path names: by its number, or as a task of an array.
Answer<JobNumber> job_of(const Call& call);

Reply answer_submit(const Call& call);
Reply answer_jobs(const Call& call);
Reply answer_job(const Call& call);
Reply answer_cancel(const Call& call);
Reply answer_logs(const Call& call);
Reply answer_why(const Call& call);
Reply answer_forecast(const Call& call);
Reply answer_supposed(const Call& call);
Reply answer_events_of(const Call& call);
Reply answer_cluster(const Call& call);
Reply answer_close(const Call& call);
Reply answer_open(const Call& call);
Reply answer_policy(const Call& call);
Reply answer_set_policy(const Call& call);
Reply answer_retention(const Call& call);
Reply answer_resume_erasing(const Call& call);
Reply answer_history(const Call& call);
Reply answer_events(const Call& call);
Reply answer_flows(const Call& call);
Reply answer_metrics(const Call& call);
Reply answer_health(const Call& call);
Reply answer_openapi(const Call& call);

}  // namespace trainyard
