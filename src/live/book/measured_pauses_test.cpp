#include "live/book/measured_pauses.h"

#include <gtest/gtest.h>

namespace trainyard {
namespace {

using Cost = MeasuredPauses::Cost;

TEST(MeasuredPauses, AreThoseOfTheUsersJobsOfTheModel) {
  MeasuredPauses costs;
  costs.note_load("ada", "bert", seconds(12));
  costs.note_save("ada", "bert", seconds(2));
  costs.note_load("ada", "", seconds(3));
  EXPECT_EQ(costs.of("ada", "bert"), (Cost{seconds(2), seconds(12)}));
  EXPECT_EQ(costs.of("ada", ""), (Cost{std::nullopt, seconds(3)}));
  EXPECT_EQ(costs.of("bob", "bert"), Cost{});
  costs.note_load("ada", "bert", seconds(14));
  EXPECT_EQ(costs.of("ada", "bert").load, seconds(14));
}

TEST(MeasuredPauses, AreTheSameWhenTheyWereKept) {
  MeasuredPauses costs, kept;
  costs.note_load("ada", "bert", seconds(12));
  costs.note_save("bob", "gpt", seconds(2));
  ASSERT_TRUE(kept.read(costs.to_json()));
  EXPECT_EQ(kept.of("ada", "bert"), costs.of("ada", "bert"));
  EXPECT_EQ(kept.of("bob", "gpt"), costs.of("bob", "gpt"));
  EXPECT_EQ(kept.to_json(), costs.to_json());
  EXPECT_FALSE(kept.read("[{\"user\": 3}]"));
  EXPECT_EQ(kept.to_json(), costs.to_json()) << "what cannot be read changes nothing";
}

TEST(MeasuredPauses, OfManyModelsThoseThatWereMeasuredLastAreRemembered) {
  MeasuredPauses costs;
  costs.note_load("bob", "bert", seconds(1));
  for (std::size_t m = 0; m <= MeasuredPauses::kMostModels; ++m) {
    costs.note_load("ada", std::to_string(m), seconds(12));
    costs.note_load("ada", "0", seconds(static_cast<std::int64_t>(m)));
  }
  EXPECT_EQ(costs.of("ada", "1"), Cost{}) << "the first but for 0, which was measured again";
  EXPECT_EQ(costs.of("ada", "2").load, seconds(12));
  EXPECT_NE(costs.of("ada", "0"), Cost{});
  EXPECT_EQ(costs.of("bob", "bert").load, seconds(1));
}

}  // namespace
}  // namespace trainyard
