#include "policy/economy/worth.h"

#include <gtest/gtest.h>

#include "policy/testing.h"

namespace trainyard {
namespace {

/// What a policy made with these settings makes of the jobs of a yard.
class Judged : public HandYard {
 public:
  explicit Judged(const std::string& shorthand, const PolicySettings& settings = {})
      : Judged(*parse_cluster_shorthand(shorthand), settings) {}
  explicit Judged(Cluster c, const PolicySettings& settings = {})
      : HandYard(std::move(c)), context(yard, settings), worth(context.worth()) {
    yard.listen(context);
  }
  [[nodiscard]] double width(Job job) { return worth.width(submit(std::move(job))); }

  PolicyContext context;
  const Worth& worth;
};

TEST(Worth, ASecondOfAnOrdinaryJobIsOne) {
  Judged h("1x8xV100");
  EXPECT_EQ(h.worth.of(h.submit(gang(1))), 1);
  EXPECT_EQ(h.worth.of(h.submit(trial(gang(1)))), 1) << "by default trial jobs are ordinary";
  EXPECT_FALSE(h.context.regards().classes);
}

TEST(Worth, OfATrialJobItIsAsTheUserSays) {
  Judged h("1x8xV100", {.trial_worth = 30});
  EXPECT_EQ(h.worth.of(h.submit(gang(1))), 1);
  EXPECT_EQ(h.worth.of(h.submit(trial(gang(1)))), 30);
  EXPECT_EQ(h.worth.trial(), 30);
  EXPECT_TRUE(h.context.regards().classes);
}

/// One that waits, beside work for two hours of all GPUs, and then runs; until another comes.
TEST(Worth, ACriticalJobIsWorthMoreUntilAnotherComes) {
  for (const bool has_critical : {false, true}) {
    Judged h("1x8xV100", {.has_critical = has_critical});
    const double critical = has_critical ? 1e4 : 1;
    const JobId job = h.submit(gang(1, 1, hours(16)));
    h.context.refresh();
    EXPECT_EQ(h.worth.of(job), 1) << "it came just now";
    h.at(hours(1));
    h.context.refresh();
    EXPECT_EQ(h.worth.of(job), critical);
    HandYard::must(h.start(job, on(0, 1)));
    h.context.refresh();
    EXPECT_EQ(h.worth.of(job), critical);
    h.submit(gang(1));
    h.context.refresh();
    EXPECT_EQ(h.worth.of(job), 1);
  }
}

TEST(Worth, AnOverdueJobIsWorthMostWhileItGoesFirstAndInItsQuantum) {
  Judged h("1x8xV100", {.patience = {.limit = hours(1)}, .overdue_share = 0.5, .trial_worth = 30});
  const JobId job = h.submit(trial(gang(8, 1, hours(99)))), other = h.submit(gang(1));
  h.at(hours(2));
  EXPECT_EQ(h.worth.of(job), 30) << "as long as it has not its turn";
  h.context.name_overdue(job);
  EXPECT_EQ(h.worth.of(job), 1e6);
  EXPECT_EQ(h.worth.unless_overdue(job), 30);
  HandYard::must(h.start(job, on(0, 8)));
  h.tell(EventKind::loaded, job);
  EXPECT_EQ(h.worth.of(job), 1e6);
  EXPECT_EQ(h.worth.of(other), 1);
  h.at(hours(4));
  h.context.refresh();
  EXPECT_EQ(h.worth.of(job), 30) << "it ran for as long as it waited";
  h.context.name_overdue(other);
  EXPECT_EQ(h.worth.of(other), 1e6);
}

TEST(Worth, AWidthIsGpusFromOneToA32ndOfTheCluster) {
  Judged h("16x8xV100");
  EXPECT_EQ(h.width(gang(1)), 1);
  EXPECT_EQ(h.width(gang(3)), 3);
  EXPECT_EQ(h.width(gang(4)), 4);
  EXPECT_EQ(h.width(gang(8)), 4) << "128 / 32";
  EXPECT_EQ(h.width(gang(16, 8)), 4);
  EXPECT_EQ(h.width(gang(1, 0)), 1);
  Judged small("1x8xV100");
  EXPECT_EQ(small.width(gang(8)), 1) << "on a small cluster all jobs are narrow";
}

TEST(Worth, AWidthIsThatOfTheScarcestResource) {
  Cluster cluster = *parse_cluster_shorthand("16x8xV100");
  for (Machine& machine : cluster.machines) machine.capacity.milli_cpus = 32'000;
  Judged h(cluster);
  Job job = gang(1);
  job.per_worker.milli_cpus = 12'000;
  EXPECT_EQ(h.width(job), 3) << "the CPUs of three GPUs";
  job.workers = job.min_workers = job.max_workers = 2;
  EXPECT_EQ(h.width(job), 4);
}

}  // namespace
}  // namespace trainyard
