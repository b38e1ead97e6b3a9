// The workloads of the Dally author's simulator: an array of jobs whose values are all texts. Of
// its many fields those count that its simulator uses, too. `total_iterations` are those of all
// GPUs together: a job on g of them ends after total / g, each of which takes time_per_iteration.
#include <algorithm>
#include <limits>

#include "workload/import/importers.h"
#include "workload/import/json_jobs.h"

namespace trainyard {
namespace {

Job read_job(JsonJobs& in, Workload& workload) {
  InputFields& fields = in.fields();
  Job job;
  job.submit = Time{} + fields.seconds("arrival_time", in.text("arrival_time"));
  const std::int64_t total = fields.whole("total_iterations", in.text("total_iterations"), 0,
                                          std::numeric_limits<std::int64_t>::max());
  const double each = fields.real("time_per_iteration", in.text("time_per_iteration"), 0, 1e12);
  const std::string cpus = in.text("cpu_num");
  set_gang(job, fields.whole("max_parallelism", in.text("max_parallelism"), 0, kMostGpus),
           cpus.empty() ? 0 : fields.whole("cpu_num", cpus, 0, kMostGpus) * 1000);
  const std::int64_t gpus = std::max(job.gpus(), 1);
  job.iterations = static_cast<std::uint64_t>(total / gpus + (total % gpus > 0 ? 1 : 0));
  job.duration =
      fields.take("time_per_iteration",
                  duration_from_seconds(static_cast<double>(total) * each /
                                        static_cast<double>(gpus) * fields.unit().seconds()));
  if (const std::string model = in.text("model"); !model.empty())
    job.model = fields.take("model", add_model(workload, model));
  job.user = UserId{workload.users.add(in.text("user"))};
  return job;
}

}  // namespace

bool recognise_dally_json(std::string_view text) {
  return begins_with_field(text, "time_per_iteration");
}

Expected<Import> parse_dally_json(const Source& source) {
  JsonJobs in(source);
  ImportBuilder out(source.origin);
  while (in.next()) {
    const Job job = read_job(in, out.workload);
    in.check(out.add(job, in.text("job_id")));
  }
  if (in.failed()) return tl::make_unexpected(*in.error());
  return std::move(out).finish();
}

}  // namespace trainyard
