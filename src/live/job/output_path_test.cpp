#include "live/job/output_path.h"

#include <gtest/gtest.h>

namespace trainyard {
namespace {

std::string path(std::string_view pattern, const ArrayTask& task = {}) {
  return output_path(pattern, {17, task, "resnet", "ada", "node1", 3});
}

TEST(OutputPath, PatternsStandForWhatTheyDoInSlurm) {
  EXPECT_EQ(path("slurm-%j.out"), "slurm-17.out");
  EXPECT_EQ(path("%x/%u-%N-%n-%t.log"), "resnet/ada-node1-0-3.log");
  EXPECT_EQ(path("%A"), "17");
  EXPECT_EQ(path("%a"), "4294967294");
  EXPECT_EQ(path("%A_%a", {.array = 12, .task = 4}), "12_4");
  EXPECT_EQ(path("%5j-%3a-%0j", {.array = 12, .task = 4}), "00017-004-17");
  EXPECT_EQ(path("%99999999999999999999j"), "0000000017");
  EXPECT_EQ(path("100%%"), "100%");
}

TEST(OutputPath, WhatStandsForNothingStays) {
  for (const char* text : {"out", "a%", "%", "%q", "%5", "%5q", ""}) EXPECT_EQ(path(text), text);
}

TEST(OutputPath, OnlyTheRankTellsWorkersApart) {
  EXPECT_TRUE(has_rank("out.%t"));
  EXPECT_TRUE(has_rank("%j/%3t"));
  EXPECT_FALSE(has_rank("out.%j"));
  EXPECT_FALSE(has_rank("%%t"));
}

}  // namespace
}  // namespace trainyard
