// Reading workloads: native CSV of a million jobs from the page cache, once with the columns that a
// typical file has, once with nothing but submit, duration and gpus.
//
// The machine's limit is what no reader can leave out: finding the line ends, and writing a job for
// each into fresh memory.
#include <cstring>
#include <filesystem>

#include "bench.h"
#include "model/cluster.h"
#include "workload/generate/generate.h"
#include "workload/mapped_file.h"
#include "workload/read.h"
#include "workload/write.h"

namespace trainyard::bench {
namespace {

Workload typical() {
  const Cluster cluster = must(parse_cluster_shorthand("256x8xV100"));
  Workload workload =
      must(generate("philly-like:jobs=1000000,load=0.9,trial=0.3,users=300", cluster, 1));
  for (const char* model : {"resnet50", "vgg16", "bert-large", "gpt2", "lstm", "inception3"})
    workload.models.add(model);
  for (std::size_t i = 0; i < workload.jobs.size(); ++i) {
    workload.names.push_back(fmt::format("application_{:07}", i));
    workload.jobs[i].model = ModelId{static_cast<std::uint16_t>(i % workload.models.size())};
  }
  return workload;
}

Workload short_rows() {
  const Cluster cluster = must(parse_cluster_shorthand("256x8xV100"));
  Workload workload = must(generate("philly-like:jobs=1000000,load=0.9", cluster, 1));
  workload.users = {};
  workload.pause_costs = PauseCosts::unsaid;
  for (Job& job : workload.jobs) {
    job.per_worker.gpus = job.workers;
    job.workers = job.min_workers = job.max_workers = 1;
  }
  return workload;
}

std::vector<Job> read_bare(const std::string& path, std::size_t rows) {
  const MappedFile file = must(MappedFile::open(path));
  const Job blank;
  std::vector<Job> jobs;
  jobs.reserve(rows);
  const std::string_view text = file.text();
  const char* const stop = text.data() + text.size();
  for (const char* at = text.data(); at != stop;) {
    const void* end = std::memchr(at, '\n', static_cast<std::size_t>(stop - at));
    if (end == nullptr) break;
    jobs.push_back(blank);
    at = static_cast<const char*>(end) + 1;
  }
  return jobs;
}

/// Without giving the memory back, which a run does at its end.
template <class Read>
double median_seconds_of(Read read) {
  return median_of(5, [&] {
    decltype(read()) result;
    return seconds([&] { result = read(); });
  });
}

void measure(Table& table, const std::string& name, const Workload& workload) {
  const std::string path =
      std::filesystem::temp_directory_path() / fmt::format("trainyard_bench_{}.csv", getpid());
  must(write_native_file(workload, path).map([] { return true; }));
  const double megabytes = static_cast<double>(std::filesystem::file_size(path)) / 1e6;
  const double taken = median_seconds_of([&] { return must(read_workload(path)); });
  const double bare = median_seconds_of([&] { return read_bare(path, workload.jobs.size() + 1); });
  std::filesystem::remove(path);
  const auto rows = static_cast<double>(workload.jobs.size());
  table.add({name, megabytes / taken, "MB/s", Target{Target::Is::at_least, 200}, megabytes / bare,
             number(rows / taken) + " rows/s"});
}

}  // namespace

void measure_reading(Table& table) {
  if (table.wants("reading/typical")) measure(table, "CSV, 7 columns", typical());
  if (table.wants("reading/short")) measure(table, "CSV, submit,duration,gpus", short_rows());
}

}  // namespace trainyard::bench
