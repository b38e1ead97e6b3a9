#include "sim/faults.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

namespace trainyard {
namespace {

const Cluster kCluster = *parse_cluster_shorthand("2x2x8xV100");

std::string error_of(std::string_view text) {
  const auto faults = parse_faults(text, "faults.csv", kCluster);
  return faults ? "" : faults.error().message;
}

std::string rates_error(const std::string& spec, Duration horizon = days(30)) {
  const auto faults = read_faults(spec, kCluster, horizon, 1);
  return faults ? "" : faults.error().message;
}

TEST(Faults, AreReadOneALineAndSortedByTime) {
  const auto faults = parse_faults("# maintenance\r\n2d4h,r1m0,up\n\n1h,r0m1,down\n2d4h,r0m1,up",
                                   "faults.csv", kCluster);
  ASSERT_TRUE(faults) << faults.error().message;
  ASSERT_EQ(faults->size(), 3U);
  EXPECT_EQ((*faults)[0].at, Time{} + hours(1));
  EXPECT_EQ((*faults)[0].machine, MachineId{1});
  EXPECT_FALSE((*faults)[0].up);
  EXPECT_EQ((*faults)[1].machine, MachineId{2}) << "equal times in the order of the file";
  EXPECT_EQ((*faults)[2].machine, MachineId{1});
  EXPECT_TRUE((*faults)[2].up);
}

TEST(Faults, AMachineCanGoOnAtAnotherSpeed) {
  const auto faults = parse_faults("1h,r0m1,0.5\n2h,r0m1,1\n", "faults.csv", kCluster);
  ASSERT_TRUE(faults) << faults.error().message;
  EXPECT_EQ((*faults)[0].speed, 0.5);
  EXPECT_EQ((*faults)[1].speed, 1);
  for (const char* speed : {"0", "-1", "1e9", "nan", "inf", "0.5x", " 0.5"})
    EXPECT_NE(error_of(std::string("1h,r0m1,") + speed), "") << speed;
}

TEST(Faults, ErrorsNameLineFieldAndValue) {
  EXPECT_EQ(error_of(""), "");
  EXPECT_EQ(error_of("1h,r0m0,down\nsoon,r0m0,up\n"),
            "faults.csv:2: time: 'soon' is not a duration; write seconds or units, as in 90, 1.5h, "
            "2d12h, 250ms");
  EXPECT_EQ(error_of("1h,r0m2,down"),
            "faults.csv:1: machine: there is no 'r0m2'; the first is r0m0");
  EXPECT_EQ(error_of("1h"), "faults.csv:1: machine: there is no ''; the first is r0m0");
  EXPECT_EQ(error_of("1h,r0m0"),
            "faults.csv:1: '' must be down, up, or a speed from 0.001 to 1000, as in 0.5");
  EXPECT_EQ(error_of("1h,r0m0,down,up"),
            "faults.csv:1: 'down,up' must be down, up, or a speed from 0.001 to 1000, as in 0.5");
}

TEST(Faults, RatesSayWhatIsWrong) {
  EXPECT_EQ(rates_error("mtbf=30d,repair=4h"), "");
  EXPECT_EQ(rates_error("mtbf=30d"), "");
  EXPECT_EQ(rates_error("mtfb=30d"),
            "faults: unknown 'mtfb'; write mtbf=30d,repair=4h or name a file");
  EXPECT_EQ(rates_error("mtbf=often"),
            "faults: mtbf: 'often' is not a duration; write seconds or units, as in 90, 1.5h, "
            "2d12h, 250ms");
  EXPECT_EQ(rates_error("repair=4h"), "faults: 'repair=4h': mtbf must be at least 1s");
  EXPECT_EQ(rates_error("mtbf=0"), "faults: 'mtbf=0': mtbf must be at least 1s");
  EXPECT_EQ(rates_error("mtbf=10"), "faults: 'mtbf=10': that is over a million failures in 30d");
  EXPECT_EQ(rates_error("mtbf=11"), "") << "942,545 expected of four machines";
}

TEST(Faults, AFileThatIsNotThereIsNamed) {
  EXPECT_EQ(rates_error("no/such/file.csv"),
            "no/such/file.csv: cannot be opened; is the path right?");
}

TEST(Faults, AFileIsReadByItsName) {
  const std::string path = testing::TempDir() + "trainyard_faults_test.csv";
  std::ofstream(path) << "1h,r0m0,down\n";
  const auto faults = read_faults(path, kCluster, days(1), 1);
  std::filesystem::remove(path);
  ASSERT_TRUE(faults) << faults.error().message;
  EXPECT_EQ(faults->size(), 1U);
}

TEST(DrawnFaults, EveryFailureHasItsRepair) {
  const auto faults = draw_faults(kCluster, days(1), hours(2), days(100), 3);
  std::vector<bool> up(4, true);
  Time last;
  for (const Fault& fault : faults) {
    EXPECT_LE(last, fault.at);
    last = fault.at;
    EXPECT_NE(up[index(fault.machine)], fault.up) << "down and up in turn";
    up[index(fault.machine)] = fault.up;
    EXPECT_TRUE(fault.up || fault.at <= Time{} + days(100));
  }
  EXPECT_EQ(up, std::vector<bool>(4, true)) << "all end repaired";
}

TEST(DrawnFaults, ComeAsOftenAsTheirMeanSays) {
  const auto faults = draw_faults(kCluster, days(1), hours(2), days(10'000), 3);
  double failures = 0, down_us = 0;
  for (const Fault& fault : faults) {
    failures += !fault.up;
    down_us += (fault.up ? 1.0 : -1.0) * static_cast<double>(fault.at.us);
  }
  EXPECT_NEAR(failures, 4 * 10'000 / (1 + 2.0 / 24), 4 * 200) << "4 standard deviations";
  EXPECT_NEAR(down_us / failures / 3600e6, 2, 0.05);
}

TEST(DrawnFaults, OfOneMachineDoNotDependOnTheOthers) {
  const auto few = draw_faults(*parse_cluster_shorthand("1x8xV100"), days(1), hours(2), days(9), 3);
  std::vector<Fault> first;
  for (const Fault& fault : draw_faults(kCluster, days(1), hours(2), days(9), 3))
    if (fault.machine == MachineId{0}) first.push_back(fault);
  ASSERT_EQ(first.size(), few.size());
  for (std::size_t i = 0; i < few.size(); ++i) EXPECT_EQ(first[i].at, few[i].at);
}

}  // namespace
}  // namespace trainyard
