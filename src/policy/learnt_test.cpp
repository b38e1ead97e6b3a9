#include "policy/learnt.h"

#include <gtest/gtest.h>

#include <limits>

namespace trainyard {
namespace {

using Seen = std::vector<std::pair<std::uint32_t, double>>;

Seen notes_of(const Learnt& learnt, std::size_t jobs) {
  Seen seen;
  each_note(learnt, "levels", 1, jobs, [&](JobId job, std::span<const double> numbers) {
    seen.emplace_back(static_cast<std::uint32_t>(job), numbers[0]);
  });
  return seen;
}

TEST(JobNotes, AreReadAsTheyWereWritten) {
  Learnt learnt;
  JobNotes notes(learnt, "levels", 1);
  notes.add(JobId{3}, {7});
  notes.add(JobId{1}, {0.5});
  JobNotes(learnt, "levels of others", 1).add(JobId{2}, {1});
  EXPECT_EQ(notes_of(learnt, 4), (Seen{{3, 7}, {1, 0.5}}));
  EXPECT_EQ(notes_of(learnt, 2), (Seen{{1, 0.5}})) << "not of jobs that there are not";
}

TEST(JobNotes, OfADamagedListAreLeftOut) {
  const double nan = std::numeric_limits<double>::quiet_NaN();
  for (const std::vector<double>& list :
       {std::vector<double>{}, {3, 1, 2, 3}, {2, 1, nan}, {2, 1, -1}, {2, 1}})
    EXPECT_EQ(notes_of({{"jobs/levels", list}}, 9), Seen{});
  EXPECT_EQ(notes_of({{"jobs/levels", {2, 1, 4, 2}}}, 9), (Seen{{1, 4}})) << "a torn end";
}

TEST(LearntTimes, KeepMicrosecondsAndNever) {
  const Time now{1'763'500'000'123'457};
  EXPECT_EQ(time_of(number_of(now)), now);
  EXPECT_EQ(time_of(number_of(Time::never())), Time::never());
  EXPECT_EQ(duration_of(number_of(Duration::max())), Duration::max());
}

}  // namespace
}  // namespace trainyard
