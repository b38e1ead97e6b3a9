// What pauses cost where a trace does not say.
#include "workload/pauses.h"

#include <gtest/gtest.h>

#include <sstream>

#include "policy/registry.h"
#include "sim/simulation.h"
#include "workload/generate/generate.h"
#include "workload/read.h"
#include "workload/write.h"

namespace trainyard {
namespace {

Workload parse_jobs(std::string_view text) {
  return parse_workload(text, "jobs.csv").value();
}

Workload modelled(std::string_view text) {
  Workload workload = parse_jobs(text);
  model_pauses(Catalogue::builtin(), workload);
  return workload;
}

TEST(Pauses, AreModelledWhereNothingIsSaid) {
  const Workload w = modelled("submit,duration,workers,model\n0,600,1,\n0,600,8,bert-base\n");
  EXPECT_EQ(w.pause_costs, PauseCosts::modelled);
  EXPECT_EQ(w.jobs[0].save, microseconds(1'750'000));
  EXPECT_EQ(w.jobs[0].load, microseconds(5'250'000));
  EXPECT_EQ(w.jobs[1].save, microseconds(3'320'000));
  EXPECT_EQ(w.jobs[1].load, microseconds(125'320'000));
}

TEST(Pauses, StayAsTheFileSays) {
  const Workload w = modelled("submit,duration,load\n0,600,\n0,600,7\n");
  EXPECT_EQ(w.pause_costs, PauseCosts::given);
  EXPECT_EQ(w.jobs[0].load.us, 0);
  EXPECT_EQ(w.jobs[1].load, seconds(7));
  EXPECT_TRUE(w.jobs[0].first_start_loads);
}

TEST(Pauses, ThatAreFreeByIntentStaySoInAFile) {
  for (const std::string spec :
       {"poisson:jobs=3", "trace:file=examples/workloads/philly.csv,pause=free"}) {
    const Workload drawn = generate(spec, *parse_cluster_shorthand("16x8xV100"), 1).value();
    EXPECT_EQ(drawn.pause_costs, PauseCosts::given);
    std::ostringstream text;
    write_native(drawn, text);
    EXPECT_EQ(modelled(text.str()).pause_costs, PauseCosts::given) << spec;
  }
  Workload free = modelled("submit,duration\n0,600\n");
  make_pauses_free(free);
  EXPECT_EQ(free.jobs[0].save.us + free.jobs[0].load.us, 0);
}

/// Two jobs on one GPU: the short one pauses the long one. save 1.75 s, load 5.25 s.
TEST(Pauses, OfATraceCostTimeAndItsFirstStartDoesNot) {
  const Workload w = modelled("submit,duration\n0,1000\n500,100\n");
  const Cluster cluster = *parse_cluster_shorthand("1x1xV100");
  const auto run = [&](const char* policy) {
    Simulation simulation(cluster, w, *PolicySpec::parse(policy), {});
    simulation.run();
    return simulation.result();
  };
  const Result fifo = run("fifo");
  EXPECT_EQ(fifo.makespan_s, 1100);
  EXPECT_EQ(fifo.lost_gpu_s, 0);
  EXPECT_EQ(fifo.pause_costs, "modelled");
  const Result srtf = run("srtf");
  EXPECT_EQ(srtf.preemptions, 1U);
  EXPECT_EQ(srtf.makespan_s, 1107);
  EXPECT_EQ(srtf.lost_gpu_s, 7);
}

}  // namespace
}  // namespace trainyard
