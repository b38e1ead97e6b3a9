#include "live/job/job_word.h"

#include <gtest/gtest.h>

namespace trainyard {
namespace {

using WordKind = JobWord::Kind;

TEST(JobWord, SaysSavedUnlessItSaysThatItFailed) {
  for (const char* text : {"", "saved", "saved\n", "step 120\n", "\xff"})
    EXPECT_EQ(parse_job_word(text).kind, WordKind::saved) << text;
  for (const char* text : {"failed", "failed\n", "failed: ", "failed \nx"})
    EXPECT_EQ(parse_job_word(text), (JobWord{WordKind::failed, ""})) << text;
}

TEST(JobWord, TheReasonIsOneLineOfText) {
  EXPECT_EQ(parse_job_word("failed: no space left\nmore").why, "no space left");
  EXPECT_EQ(parse_job_word("failed: \xff").why, "\xef\xbf\xbd");
  EXPECT_EQ(parse_job_word("failed: " + std::string(10'000, 'x')).why.size(), 500U);
}

}  // namespace
}  // namespace trainyard
