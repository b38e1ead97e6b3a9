#include "base/resources.h"

#include <gtest/gtest.h>

namespace trainyard {
namespace {

constexpr Resources kRoom{.gpus = 8, .milli_cpus = 96'000, .memory_mib = 1024};

TEST(Resources, AddSubtractAndMultiplyByComponent) {
  const Resources each{.gpus = 1, .milli_cpus = 500, .memory_mib = 10};
  EXPECT_EQ(each * 3, (Resources{3, 1500, 30}));
  EXPECT_EQ(kRoom - each * 3 + each * 3, kRoom);
}

TEST(Resources, FitOnlyIfEveryComponentDoes) {
  EXPECT_TRUE(kRoom.fits_in(kRoom));
  EXPECT_TRUE(Resources{}.fits_in(kRoom));
  EXPECT_FALSE((kRoom + Resources{1, 0, 0}).fits_in(kRoom));
  EXPECT_FALSE((kRoom + Resources{0, 1, 0}).fits_in(kRoom));
  EXPECT_FALSE((kRoom + Resources{0, 0, 1}).fits_in(kRoom));
}

TEST(WorkersThatFit, TheScarcestComponentDecides) {
  EXPECT_EQ(workers_that_fit({1, 0, 0}, kRoom, 100), 8);
  EXPECT_EQ(workers_that_fit({3, 0, 0}, kRoom, 100), 2);
  EXPECT_EQ(workers_that_fit({1, 24'000, 0}, kRoom, 100), 4);
  EXPECT_EQ(workers_that_fit({1, 24'000, 512}, kRoom, 100), 2);
  EXPECT_EQ(workers_that_fit({1, 0, 1025}, kRoom, 100), 0);
  EXPECT_EQ(workers_that_fit({1, 0, 0}, kRoom, 5), 5);
  EXPECT_EQ(workers_that_fit({}, kRoom, 7), 7);
  EXPECT_EQ(workers_that_fit({1, 1, 1}, {}, 7), 0);
}

TEST(WorkersThatFit, IsTheLargestMultipleThatFits) {
  for (std::int32_t gpus = 0; gpus <= 9; ++gpus)
    for (std::int32_t cpus = 0; cpus <= 100'000; cpus += 7'000)
      for (std::int32_t memory = 0; memory <= 1100; memory += 100) {
        const Resources each{gpus, cpus, memory};
        std::int32_t expected = 0;
        while (expected < 12 && (each * (expected + 1)).fits_in(kRoom)) ++expected;
        ASSERT_EQ(workers_that_fit(each, kRoom, 12), expected)
            << gpus << " GPUs, " << cpus << " milli CPUs, " << memory << " MiB";
      }
}

TEST(ParseCpus, ReadsCoresAndThousandths) {
  EXPECT_EQ(parse_cpus("4"), 4000);
  EXPECT_EQ(parse_cpus("0.5"), 500);
  EXPECT_EQ(parse_cpus("500m"), 500);
  EXPECT_EQ(parse_cpus("0"), 0);
  EXPECT_EQ(parse_cpus("0.1"), 100);
  EXPECT_EQ(parse_cpus("0.0001"), 1) << "rounded up: a demand is never promised less";
  EXPECT_EQ(parse_cpus("1e6"), 1'000'000'000);
}

TEST(ParseCpus, RefusesTheRest) {
  for (const char* text : {"", "x", "-1", "4 ", " 4", "4cores", "nan", "inf", "1e999", "m"})
    EXPECT_FALSE(parse_cpus(text)) << text;
  EXPECT_EQ(parse_cpus("4 cores").error().message,
            "'4 cores' is not a number of CPUs; write cores or thousandths, as in 4, 0.5, 500m");
  EXPECT_EQ(parse_cpus("1000001").error().message, "'1000001' is more than a million CPUs");
}

TEST(ParseMemory, ReadsBinaryUnits) {
  EXPECT_EQ(parse_memory("256GiB"), 256 * 1024);
  EXPECT_EQ(parse_memory("64G"), 64 * 1024);
  EXPECT_EQ(parse_memory("64"), 64 * 1024);
  EXPECT_EQ(parse_memory("1.5TiB"), 1536 * 1024);
  EXPECT_EQ(parse_memory("2T"), 2048 * 1024);
  EXPECT_EQ(parse_memory("512MiB"), 512);
  EXPECT_EQ(parse_memory("512M"), 512);
  EXPECT_EQ(parse_memory("1025KiB"), 2) << "rounded up";
  EXPECT_EQ(parse_memory("1024K"), 1);
  EXPECT_EQ(parse_memory("0"), 0);
  for (const char* text : {"64GB", "64GiB", "64G", "64g", "64gb", "65536M", "65536MB", "0.0625T"})
    EXPECT_EQ(parse_memory(text), 64 * 1024) << text;
}

TEST(ParseMemory, RefusesTheRest) {
  EXPECT_EQ(parse_memory("lots").error().message,
            "'lots' is not an amount of memory; write it as 64GiB or 512MiB");
  EXPECT_EQ(parse_memory("-1GiB").error().message,
            "'-1GiB' is not an amount of memory; write it as 64GiB or 512MiB");
  EXPECT_EQ(parse_memory("64Gbit").error().message,
            "'64Gbit' has the unknown unit 'Gbit'; known are KiB, MiB, GiB and TiB");
  EXPECT_FALSE(parse_memory("1B"));
  EXPECT_FALSE(parse_memory("1iB"));
  EXPECT_EQ(parse_memory("1000TiB").error().message, "'1000TiB' is more than 950 TiB");
}

TEST(FormatMemory, TakesTheLargestUnitThatFits) {
  EXPECT_EQ(format_memory(0), "0MiB");
  EXPECT_EQ(format_memory(1023), "1023MiB");
  EXPECT_EQ(format_memory(256 * 1024), "256GiB");
  EXPECT_EQ(format_memory(1536), "1.5GiB");
  EXPECT_EQ(format_memory(1536 * 1024), "1.5TiB");
}

TEST(FormatMemory, IsReadBack) {
  for (const std::int32_t mib : {0, 1, 1023, 1024, 1536, 98'304, 786'432, 1'572'864})
    EXPECT_EQ(parse_memory(format_memory(mib)), mib);
}

}  // namespace
}  // namespace trainyard
