#include "study/promises.h"

#include <gtest/gtest.h>

#include "study/recipe.h"
#include "workload/generate/generate.h"

namespace trainyard {
namespace {

Metrics judged(const std::string& workload, const std::string& policy) {
  const Cluster cluster = *parse_cluster_shorthand("2x8xV100");
  Workload jobs = generate(workload, cluster, 1).value();
  EXPECT_TRUE(prepare(cluster, Catalogue::builtin(), {}, jobs));
  return judge_promises(cluster, jobs, *PolicySpec::parse(policy), {}, {.draws = 8}).value();
}

/// What is known to the microsecond is promised and held; and then Slurm's way is right as well.
TEST(Promises, AreExactWhereLengthsAreAndNoJobGoesBefore) {
  const Metrics exact = judged("philly-like:jobs=200,load=1,max_gpus=16,declared=exact", "fifo");
  EXPECT_GT(exact.at("all.promises"), 50);
  EXPECT_EQ(exact.at("all.held"), 1);
  EXPECT_EQ(exact.at("all.error_s"), 0);
  EXPECT_EQ(exact.at("all.limits_error_s"), 0);
  EXPECT_EQ(exact.at("finished"), 200);
}

TEST(Promises, AreNearerThanLimits) {
  const Metrics guessed = judged("philly-like:jobs=400,load=1,max_gpus=16,declared=limits", "fifo");
  EXPECT_LT(guessed.at("all.error_s"), guessed.at("all.limits_error_s") / 2);
  double promises = 0;
  for (const char* up_to : {"10m", "1h", "3h", "1d"})
    promises += guessed.at(std::string(up_to) + ".promises");
  EXPECT_EQ(promises, guessed.at("all.promises"));
}

TEST(ForecastLine, HasTheRestOfItAsItsPolicy) {
  EXPECT_TRUE(names_forecast("forecast:order=las"));
  EXPECT_EQ(policy_of_line("forecast:order=las"), "order=las");
  EXPECT_EQ(policy_of_line("srtf"), "srtf");
}

}  // namespace
}  // namespace trainyard
