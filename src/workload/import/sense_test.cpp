// Times in another unit than they are read in, and ids that are given twice.
#include "workload/import/sense.h"

#include <gtest/gtest.h>

#include <functional>

#include "workload/read.h"

namespace trainyard {
namespace {

/// Twenty jobs in the columns of Tiresias, each a row of (submit, duration).
std::string table(const std::function<std::pair<std::int64_t, std::int64_t>(int)>& row,
                  int gpus = 1) {
  std::string text = "job_id,num_gpu,submit_time,duration\n";
  for (int i = 0; i < 20; ++i) {
    const auto [submit, duration] = row(i);
    text += fmt::format("{},{},{},{}\n", i, gpus, submit, duration);
  }
  return text;
}

struct Read {
  Expected<Workload> workload;
  std::vector<std::string> notes;
};

Read read(const std::string& text, std::optional<Duration> unit = {}) {
  Read result{Workload{}, {}};
  result.workload = parse_workload(text, "x", {.unit = unit, .notes = &result.notes});
  return result;
}

TEST(Sense, RefusesJobsThatRunForYears) {
  const std::string in_ms = table([](int i) { return std::pair(i * 60'000, 200'000'000 + i); });
  EXPECT_EQ(read(in_ms).workload.error().message,
            "x: half of the jobs run for 2314d 19h or more; are its times in milliseconds? "
            "--time-unit ms (or us, s, m, h) says what a plain number counts");
  const auto right = read(in_ms, microseconds(1000));
  ASSERT_TRUE(right.workload);
  EXPECT_EQ(right.workload->jobs[1].submit, Time{} + minutes(1));
  EXPECT_EQ(right.workload->jobs[1].duration, microseconds(200'000'001'000));
  EXPECT_TRUE(right.notes.empty());
  EXPECT_TRUE(read(in_ms, seconds(1)).workload) << "meant so";
}

TEST(Sense, RefusesSubmissionsOverDecades) {
  const std::string text = table([](int i) { return std::pair(i * 50'000'000LL, 3600 + i); });
  EXPECT_NE(read(text).workload.error().message.find("submitted over 10995d"), std::string::npos);
}

TEST(Sense, HintsAtTheUnitOfTimestampsThatAreTooLarge) {
  const std::string text = table([](int i) { return std::pair(1'600'000'000'000 + i, 3'600'000); });
  EXPECT_EQ(read(text).workload.error().message,
            "x:2: field 'submit_time': value '1600000000000' is more than 10,000 years; does it "
            "count milliseconds or microseconds? --time-unit says so, as in --time-unit ms");
  const auto right = read(text, microseconds(1000));
  ASSERT_TRUE(right.workload);
  EXPECT_EQ(right.workload->jobs[1].submit, Time{1000});
  EXPECT_EQ(right.workload->jobs[1].duration, hours(1));
}

TEST(Sense, NotesWhatIsOdd) {
  const auto thousands = read(table([](int i) { return std::pair(i * 5000, 2000 * (i + 1)); }));
  ASSERT_EQ(thousands.notes.size(), 1U);
  EXPECT_EQ(thousands.notes[0],
            "all times are multiples of 1000; if a plain number does not count seconds, "
            "--time-unit says what it does");
  std::string hours_of_work = "job_id,num_gpu,submit_time,duration\n";
  for (int i = 0; i < 20; ++i) hours_of_work += fmt::format("{},1,{},0.{}\n", i, i, i + 10);
  EXPECT_EQ(read(hours_of_work).notes.size(), 1U);
  const auto percent = read(table([](int i) { return std::pair(i, 60 + i); }, 200));
  ASSERT_EQ(percent.notes.size(), 1U);
  EXPECT_EQ(percent.notes[0],
            "all jobs ask for multiples of 100 GPUs; are these hundredths of one?");
  EXPECT_TRUE(read(table([](int i) { return std::pair(i, 60 + i); })).notes.empty());
}

TEST(Sense, OurOwnFormatIsOnlyNotedUpon) {
  const auto far = read("submit,duration\n1600000000,3000d\n");
  ASSERT_TRUE(far.workload);
  EXPECT_EQ(far.notes.size(), 2U);
  const auto in_minutes = read("submit,duration,save\n1,90,30s\n", minutes(1));
  ASSERT_TRUE(in_minutes.workload);
  EXPECT_EQ(in_minutes.workload->jobs[0].submit, Time{} + minutes(1));
  EXPECT_EQ(in_minutes.workload->jobs[0].duration, minutes(90));
  EXPECT_EQ(in_minutes.workload->jobs[0].save, seconds(30));
}

TEST(Sense, TimeUnitsByName) {
  EXPECT_EQ(parse_time_unit("ms").value(), microseconds(1000));
  EXPECT_EQ(parse_time_unit("h").value(), hours(1));
  EXPECT_EQ(parse_time_unit("y").error().message,
            "'y' is not a unit of time; known are s, ms, us, m, h");
}

TEST(Ids, AreRefusedWhenTwoJobsHaveOne) {
  const auto ids = [](const std::string& rows) {
    const auto workload = parse_workload("id,submit,duration\n" + rows, "jobs.csv");
    return workload ? "" : workload.error().message;
  };
  EXPECT_EQ(ids("9,0,1\n10,0,1\n11,0,1\n"), "");
  EXPECT_EQ(ids("b,0,1\na,0,1\n"), "");
  EXPECT_EQ(ids(",0,1\n,0,1\n"), "") << "no id is not an id";
  EXPECT_EQ(ids("a,0,1\nb,5,1\na,7,1\n"),
            "jobs.csv: two jobs have the id 'a'; give each its own, or leave the column out");
}

}  // namespace
}  // namespace trainyard
