#include "live/job/job_array.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <rapidcheck/gtest.h>
#include <set>

namespace trainyard {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

TEST(JobArray, ListsRangesAndStepsAreRead) {
  EXPECT_THAT(parse_job_array("3")->tasks, ElementsAre(3));
  EXPECT_THAT(parse_job_array("0-3")->tasks, ElementsAre(0, 1, 2, 3));
  EXPECT_THAT(parse_job_array("9,1,3,5-9:2")->tasks, ElementsAre(1, 3, 5, 7, 9));
  EXPECT_THAT(parse_job_array("0-8:3")->tasks, ElementsAre(0, 3, 6));
  EXPECT_EQ(parse_job_array("0-3")->at_once, 0);
  EXPECT_EQ(*parse_job_array("0-1%2"), (JobArray{{0, 1}, 2}));
  EXPECT_EQ(parse_job_array("0-9999")->tasks.size(), kMostTasks);
  EXPECT_THAT(parse_job_array("4000000")->tasks, ElementsAre(kHighestTask));
}

TEST(JobArray, WhatIsNoneIsRefusedWithTheReason) {
  for (const char* text : {"",
                           ",",
                           "1,",
                           ",1",
                           "-1",
                           "1-",
                           "a",
                           "1-2-3",
                           "1:2",
                           "1-9:",
                           "1 ",
                           "+1",
                           "1-9:0",
                           "5-1",
                           "0-1%",
                           "0-1%0",
                           "0-1%-1",
                           "0-1%2%3",
                           "%2",
                           "4000001",
                           "0-10000",
                           "99999999999",
                           "1-9:99999999999",
                           "0x1"})
    EXPECT_FALSE(parse_job_array(text)) << text;
  EXPECT_EQ(parse_job_array("1,5-1").error().message, "'5-1': ends before it begins");
  EXPECT_EQ(parse_job_array("0-10000").error().message, "an array has at most 10000 tasks");
  EXPECT_THAT(parse_job_array("0-1%x").error().message, HasSubstr("how many may run at once"));
  EXPECT_THAT(parse_job_array(std::string(20'000, '1')).error().message, HasSubstr("20000 bytes"));
}

TEST(JobArray, TasksAreWrittenShortly) {
  const auto text = [](std::vector<std::int32_t> tasks) { return format_tasks(tasks); };
  EXPECT_EQ(text({}), "");
  EXPECT_EQ(text({4}), "4");
  EXPECT_EQ(text({4, 5}), "4-5");
  EXPECT_EQ(text({1, 3}), "1,3");
  EXPECT_EQ(text({1, 3, 5, 7, 8, 9}), "1-7:2,8-9");
}

RC_GTEST_PROP(JobArray, WhatIsWrittenIsReadBack, ()) {
  const auto chosen = *rc::gen::nonEmpty(
      rc::gen::container<std::set<std::int32_t>>(rc::gen::inRange<std::int32_t>(0, 60)));
  const std::vector<std::int32_t> tasks(chosen.begin(), chosen.end());
  RC_ASSERT(parse_job_array(format_tasks(tasks))->tasks == tasks);
}

TEST(JobArray, ATaskKnowsItsArray) {
  const auto tasks = tasks_of(12, *parse_job_array("1-7:3%2"));
  ASSERT_EQ(tasks.size(), 3U);
  EXPECT_EQ(tasks[1], (ArrayTask{12, 4, 3, 1, 7, 3, 2}));
  EXPECT_EQ(tasks_of(12, *parse_job_array("1,2,4"))[0].step, 1);
}

TEST(JobName, IsANumberOrTasksOfAnArray) {
  EXPECT_EQ(*parse_job_name("7"), (JobName{7, {}}));
  EXPECT_EQ(*parse_job_name("12_3"), (JobName{12, {3}}));
  EXPECT_EQ(*parse_job_name("12_[3-5,9]"), (JobName{12, {3, 4, 5, 9}}));
  for (const char* text : {"", "0", "-1", "a", "7_", "_3", "12_[3", "12_x", "12_[]", "1.5", "7 ",
                           "12_3_4", "99999999999999999999"})
    EXPECT_FALSE(parse_job_name(text)) << text;
}

}  // namespace
}  // namespace trainyard
