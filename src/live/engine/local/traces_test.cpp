#include "live/engine/local/traces.h"

#include <gmock/gmock.h>

namespace trainyard {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

const std::vector<Gpu> kGpus{{0, "H100", "GPU-a"}, {2, "H100", "GPU-c"}, {1, "H100", "GPU-b"}};
const std::vector<Gpu> kStandIns;

std::vector<std::int32_t> gpus_on(const RunPlan& plan, const std::vector<Gpu>& gpus) {
  return places_of(plan, gpus).at(0).gpus;
}

TEST(Traces, ARunIsOnItsGpusWhateverTheirNumbersAre) {
  RunPlan plan;
  plan.gpus = {{0, 1, 7}};  // as the driver numbered them when it began
  plan.gpu_names = {{"GPU-b", "GPU-c", "GPU-gone"}};
  EXPECT_THAT(gpus_on(plan, kGpus), ElementsAre(2, 1));
  EXPECT_THAT(gpus_on(plan, kStandIns), IsEmpty()) << "no stand-in is a GPU";
}

TEST(Traces, AStandInIsNoGpu) {
  RunPlan plan;
  plan.gpus = {{1, 2}};
  plan.gpu_names = {{"1", "2"}};
  EXPECT_THAT(gpus_on(plan, kStandIns), ElementsAre(1, 2));
  EXPECT_THAT(gpus_on(plan, kGpus), IsEmpty());
}

TEST(Traces, APlanOfAnOlderDaemonHasNumbersAlone) {
  RunPlan plan;
  plan.gpus = {{1, 2, 5}};
  EXPECT_THAT(gpus_on(plan, kGpus), ElementsAre(2, 1)) << "the driver's";
  EXPECT_THAT(gpus_on(plan, kStandIns), ElementsAre(1, 2, 5));
  plan.hides_gpus = true;
  EXPECT_THAT(gpus_on(plan, kGpus), IsEmpty()) << "stand-ins";
}

}  // namespace
}  // namespace trainyard
