#include "yard/event.h"

#include <gtest/gtest.h>

#include <set>
#include <string>

namespace trainyard {
namespace {

TEST(Phase, EachHasANameOfItsOwn) {
  std::set<std::string_view> names;
  for (int p = 0; p <= static_cast<int>(Phase::cancelled); ++p)
    names.insert(name(static_cast<Phase>(p)));
  EXPECT_EQ(names.size(), 9U);
  EXPECT_FALSE(names.contains("?"));
}

TEST(Phase, WhoHoldsGpusAndWhoHasEnded) {
  const std::set<Phase> holding{Phase::starting, Phase::running, Phase::draining};
  const std::set<Phase> ended{Phase::done, Phase::failed, Phase::cancelled};
  for (int p = 0; p <= static_cast<int>(Phase::cancelled); ++p) {
    const auto phase = static_cast<Phase>(p);
    EXPECT_EQ(holds_gpus(phase), holding.contains(phase)) << name(phase);
    EXPECT_EQ(has_ended(phase), ended.contains(phase)) << name(phase);
  }
}

TEST(Event, CarriesWhatItsKindIsAbout) {
  const Event event = Event::learnt_by(Time{} + seconds(3), JobId{7}, {120, 0.5});
  EXPECT_EQ(event.kind, EventKind::learnt);
  EXPECT_EQ(event.subject, 7U);
  EXPECT_EQ(event.point, (LearningPoint{120, 0.5}));
  EXPECT_EQ(event.estimate, Estimate{});
  EXPECT_EQ(event.rate, Rate{});
}

TEST(Verdict, EachHasADescriptionOfItsOwn) {
  std::set<std::string_view> texts;
  for (int v = 0; v <= static_cast<int>(Verdict::victim_unneeded); ++v)
    texts.insert(describe(static_cast<Verdict>(v)));
  EXPECT_EQ(texts.size(), static_cast<std::size_t>(Verdict::victim_unneeded) + 1);
  EXPECT_FALSE(texts.contains("?"));
}

}  // namespace
}  // namespace trainyard
