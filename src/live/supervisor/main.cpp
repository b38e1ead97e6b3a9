// trainyard-supervisor DIRECTORY: stays beside the run that is described in the directory, and
// keeps it and its exit status while the daemon restarts. Started by the engine; see supervise.h.
// Called as `srun`, by scripts within a job, it is that: see live/srun/srun.h.
#include <cstdio>

#include "live/srun/srun.h"
#include "live/supervisor/run_files.h"
#include "live/supervisor/supervise.h"

using namespace trainyard;

namespace {

Expected<void> supervise(const std::string& directory) {
  auto begun = begin_run(directory);
  if (!begun) return tl::make_unexpected(begun.error());
  const auto text = read_small_file(directory + "/run.json");
  if (!text) return tl::make_unexpected(text.error());
  auto plan = parse_run_plan(*text);
  if (!plan) return fail_at(directory + "/run.json", plan.error());
  Supervisor supervisor(directory, std::move(*plan));
  return record_end(directory, begun->end, supervisor.run(std::move(begun->started)));
}

}  // namespace

int main(int argc, char** argv) {
  const std::string_view name = argc > 0 ? argv[0] : "";
  if (name.substr(name.rfind('/') + 1) == "srun")
    return srun(std::vector<std::string>(argv + 1, argv + argc), own_variables());
  if (argc != 2) {
    std::fputs("usage: trainyard-supervisor DIRECTORY\n", stderr);
    return 2;
  }
  const auto ok = supervise(argv[1]);
  if (ok) return 0;
  std::fprintf(stderr, "trainyard-supervisor: %s\n", ok.error().message.c_str());
  return 1;
}
