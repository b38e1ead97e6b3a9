#include "sim/elastic_time.h"

#include <gtest/gtest.h>

#include "yard/testing.h"

namespace trainyard {
namespace {

TEST(ElasticTime, CountsTheGpusThatWereHeldThen) {
  HandYard h("2x8xV100");
  ElasticTime time(h.yard);
  h.yard.listen(time);
  Job job = costly(gang(1), {}, minutes(1), minutes(2));
  job.min_workers = 1, job.max_workers = 8;
  const JobId a = h.submit(job);
  HandYard::must(h.start(a, on(0, 8)));
  h.at(minutes(2));
  h.tell(EventKind::loaded, a);
  EXPECT_EQ(time.sums().lost, 8.0 * minutes(2).us);
  h.at(minutes(10));
  HandYard::must(Plan(h.yard).change(std::vector<JobChange>{{a, on(1, 2)}}));
  h.at(minutes(11));
  h.tell(EventKind::drained, a);
  EXPECT_EQ(time.sums().lost, 8.0 * minutes(3).us) << "it loaded and saved on 8";
  h.at(minutes(13));
  h.tell(EventKind::loaded, a);
  EXPECT_EQ(time.sums().lost, 8.0 * minutes(3).us + 2.0 * minutes(2).us);
}

}  // namespace
}  // namespace trainyard
