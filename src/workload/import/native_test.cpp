#include "workload/native.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <filesystem>
#include <fstream>
#include <sstream>

#include "workload/import/records.h"
#include "workload/read.h"
#include "workload/write.h"

namespace trainyard {
namespace {

Expected<Workload> parse_native(std::string_view text) {
  return parse_workload(text, "jobs.csv", {.format = "native"});
}

std::string native_error(std::string_view text) {
  const auto parsed = parse_native(text);
  return parsed ? "" : parsed.error().message;
}

TEST(Native, ColumnsInAnyOrderAndDefaults) {
  const auto w = parse_native("\xef\xbb\xbf# a comment\r\nduration,submit\r\n\"1h\",5\r\n90,0.25");
  ASSERT_TRUE(w) << w.error().message;
  ASSERT_EQ(w->jobs.size(), 2U);
  EXPECT_EQ(w->jobs[0].submit, Time{250'000});
  EXPECT_EQ(w->jobs[0].duration, seconds(90));
  EXPECT_EQ(w->jobs[1].duration, hours(1));
  EXPECT_EQ(w->jobs[1].estimate, hours(1));
  EXPECT_EQ(w->jobs[1].gpus(), 1);
  EXPECT_EQ(w->jobs[1].model, kNoModel);
  EXPECT_TRUE(w->names.empty());
}

TEST(Native, AConstraintIsReadAndWritten) {
  const auto w = parse_native("submit,duration,constraint\n0,1,ib&NVLink|a100\n1,1,\n2,1,ib\n");
  ASSERT_TRUE(w) << w.error().message;
  EXPECT_EQ(describe(w->terms[w->jobs[0].terms].constraint), "ib&nvlink|a100");
  EXPECT_EQ(w->jobs[1].terms, kNoTerms);
  std::ostringstream out;
  write_native(*w, out);
  EXPECT_EQ(out.str(), "submit,duration,constraint\n0,1,ib&nvlink|a100\n1,1,\n2,1,ib\n");
  EXPECT_EQ(native_error("submit,duration,constraint\n0,1,ib*2\n"),
            "jobs.csv:2: field 'constraint': value 'ib*2' is not a constraint; write features, "
            "with & or | "
            "between: a100, a100|h100");
}

TEST(Native, QuotedFieldsMayHoldCommasQuotesAndLines) {
  const auto w = parse_native("id,submit,duration\n\"a, \"\"b\"\"\nc\",0,1\nnext,0,x\n");
  ASSERT_FALSE(w);
  EXPECT_TRUE(w.error().message.starts_with("jobs.csv:4: field 'duration': value 'x'"))
      << w.error().message;
  const auto good = parse_native("id,submit,duration\n\"a, \"\"b\"\"\nc\",0,1\n");
  ASSERT_TRUE(good);
  EXPECT_EQ(good->names[0], "a, \"b\"\nc");
}

/// Rows with and without quotes are read in different ways, and quotes are looked for far ahead.
TEST(Native, QuotesMakeNoDifference) {
  std::string plain = "id,submit,duration,gpus\n", mixed = plain;
  for (int i = 0; i < 5000; ++i) {
    const std::string id = fmt::format("job{}", i), submit = fmt::format("{}.25", i / 2);
    plain += fmt::format("{},{},1h30m,2\n", id, submit);
    mixed += i % 1700 == 1699 ? fmt::format("\"{}\",\"{}\",\"1h30m\",\"2\"\r\n", id, submit)
                              : fmt::format("{},{},5400,2\n", id, submit);
  }
  const auto a = parse_workload(plain, "plain"), b = parse_workload(mixed, "mixed");
  ASSERT_TRUE(a && b);
  ASSERT_EQ(a->jobs.size(), b->jobs.size());
  EXPECT_EQ(a->names, b->names);
  for (std::size_t i = 0; i < a->jobs.size(); ++i) {
    EXPECT_EQ(a->jobs[i].submit, b->jobs[i].submit) << i;
    EXPECT_EQ(a->jobs[i].duration, b->jobs[i].duration) << i;
    EXPECT_EQ(a->jobs[i].per_worker, b->jobs[i].per_worker) << i;
  }
}

TEST(Native, ErrorsNameLineFieldAndValue) {
  const auto begins = [](std::string_view text, std::string_view with) {
    EXPECT_TRUE(native_error(text).starts_with(with)) << native_error(text);
  };
  begins("submit,durations\n", "jobs.csv:1: unknown column 'durations', did you mean 'duration'?");
  begins("submit,submit,duration\n", "jobs.csv:1: the column 'submit' is there twice");
  begins("duration\n1\n", "jobs.csv:1: the column 'submit' is missing");
  begins("submit,iterations\n", "jobs.csv:1: the column 'duration' is missing");
  begins("submit,duration\n0,1\n0\n", "jobs.csv:3: the line has 1 fields, and there are 2 columns");
  begins("submit,duration\n0,0\n", "jobs.csv:2: field 'duration': value '0' is not longer than 0");
  begins("submit,duration\n0,-3\n", "jobs.csv:2: field 'duration': value '-3' is negative");
  begins("submit,duration\n-1,3\n", "jobs.csv:2: field 'submit': value '-1' is negative");
  begins("submit,duration\n0,\n", "jobs.csv:2: field 'duration': value '' is missing");
  begins("submit,duration\n0,3 parsecs\n", "jobs.csv:2: field 'duration': value '3 parsecs'");
  begins("submit,duration\n0,99999999999999999999\n", "jobs.csv:2: field 'duration': value");
  begins("submit,duration,memory\n0,1,5XB\n", "jobs.csv:2: field 'memory': value '5XB' has");
  begins("submit,duration,class\n0,1,big\n", "jobs.csv:2: field 'class': value 'big' is neither");
  begins("submit,duration,workers\n0,1,0\n", "jobs.csv:2: field 'workers': value '0' is not");
  begins("submit,duration,workers,gpus\n0,1,60000000,60000000\n",
         "jobs.csv:2: 60000000 workers of 60000000 GPUs each");
  begins("submit,duration,workers,max_workers\n0,1,4,2\n",
         "jobs.csv:2: field 'workers': value '4' does not lie");
  begins("submit,duration,min_workers,max_workers\n0,1,4,2\n",
         "jobs.csv:2: field 'min_workers': value '4' is more than max_workers 2");
  begins("submit,duration,workers\n0,1,8..2\n",
         "jobs.csv:2: field 'workers': value '8..2' ends before it begins; write 2..8");
  begins("submit,duration,workers\n0,1,2..x\n",
         "jobs.csv:2: field 'workers': value '2..x' is neither a whole number");
  begins("submit,duration,workers,max_workers\n0,1,2..8,8\n",
         "jobs.csv:2: field 'workers': value '2..8' is a range beside");
  begins("submit,duration,iterations,iteration_time\n0,1,5,1\n",
         "jobs.csv:2: field 'iteration_time': is given beside");
  begins("submit,duration\n0,\"1", "jobs.csv:2: a quoted field is not closed");
  begins("submit,duration\n0,1\"2\"\n", "jobs.csv:2: value '1\"2\"' has a quote inside");
  begins("submit,duration\n0,\"1\"2\n", "jobs.csv:2: text follows the closing quote");
  begins("# nothing\n", "jobs.csv:1: the file is empty");
}

TEST(Native, LinesAreBounded) {
  const std::string header = "id,submit,duration\n";
  const std::string longest(kLongestLine - 4, 'x');
  EXPECT_TRUE(parse_native(header + longest + ",0,1\n"));
  EXPECT_EQ(native_error(header + longest + "y,0,1\n").substr(0, 46),
            "jobs.csv:2: the line is longer than 1048576 by");
  EXPECT_EQ(native_error(header + "\"" + longest + "\n" + longest).substr(0, 46),
            "jobs.csv:2: the line is longer than 1048576 by");
}

TEST(Native, AHugeFileOfOneLineIsRefusedUnread) {
  const auto path = std::filesystem::temp_directory_path() / "trainyard-one-line.csv";
  std::ofstream(path) << "submit,duration\n0,";
  std::filesystem::resize_file(path, std::uintmax_t{10} << 30);  // sparse: takes no disk
  const auto refused = read_workload(path);
  std::filesystem::remove(path);
  ASSERT_FALSE(refused);
  EXPECT_NE(refused.error().message.find(":2: the line is longer"), std::string::npos);
}

TEST(Native, NamesHaveALimit) {
  std::string text = "submit,duration,model\n";
  for (int i = 0; i < 65'535; ++i) text += fmt::format("0,1,m{}\n", i);
  EXPECT_TRUE(parse_native(text));
  text += "0,1,m5\n0,1,one more\n";
  EXPECT_EQ(native_error(text),
            "jobs.csv:65538: field 'model': 'one more' is one model too many; there may be 65535");
}

TEST(Native, SizesAndTheKindThatTheDurationHoldsFor) {
  const auto w = parse_native(
      "submit,duration,workers,min_workers,max_workers,kind,measured_on\n"
      "0,1,4,2,8,,V100\n"
      "1,1,2..8,,,A100,V100\n"
      "2,1,,2,8,,\n"
      "3,1,4,,,,\n"
      "4,1,,,8,,\n");
  ASSERT_TRUE(w);
  const auto sizes = [&](std::size_t j) {
    const Job& job = w->jobs[j];
    return fmt::format("{} of {}..{}", job.workers, job.min_workers, job.max_workers);
  };
  EXPECT_EQ(sizes(0), "4 of 2..8");
  EXPECT_EQ(sizes(1), "2 of 2..8") << "the duration holds for the smaller one";
  EXPECT_EQ(sizes(2), "2 of 2..8");
  EXPECT_EQ(sizes(3), "4 of 4..4");
  EXPECT_EQ(sizes(4), "1 of 1..8");
  EXPECT_EQ(w->jobs[0].kind, kAnyKind);
  EXPECT_EQ(w->kinds[index(w->jobs[0].measured_on)], "V100");
  EXPECT_EQ(w->kinds[index(w->jobs[1].kind)], "A100");
  EXPECT_EQ(w->jobs[1].measured_on, w->jobs[0].measured_on);
  EXPECT_EQ(w->jobs[2].measured_on, kAnyKind);
}

Duration any_duration(bool positive) {
  return {*rc::gen::inRange<std::int64_t>(positive ? 1 : 0, kLongestDuration.us)};
}

Job any_job(Workload& w) {
  const auto text = [] { return *rc::gen::nonEmpty(rc::gen::string<std::string>()); };
  Job job;
  job.submit = Time{} + any_duration(false);
  job.duration = any_duration(true);
  job.estimate = any_duration(true);
  job.grace = any_duration(false);
  job.checkpoint_interval = any_duration(false);
  job.iterations = *rc::gen::arbitrary<std::uint64_t>();
  job.workers = *rc::gen::inRange(1, 1000);
  job.min_workers = *rc::gen::inRange(1, job.workers + 1);
  job.max_workers = *rc::gen::inRange(job.workers, 2000);
  job.per_worker = {*rc::gen::inRange(1, 65), *rc::gen::inRange(0, 1'000'000),
                    *rc::gen::inRange(0, 1'000'000)};
  job.user = UserId{w.users.add(text())};
  if (*rc::gen::arbitrary<bool>())
    job.model = ModelId{static_cast<std::uint16_t>(w.models.add(text()))};
  for (KindId Job::*kind : {&Job::kind, &Job::measured_on})
    if (*rc::gen::arbitrary<bool>())
      job.*kind = KindId{static_cast<std::uint16_t>(w.kinds.add(text()))};
  if (*rc::gen::arbitrary<bool>()) job.job_class = JobClass::trial;
  return job;
}

RC_GTEST_PROP(Native, WhatIsWrittenIsReadBack, ()) {
  Workload w;
  const int jobs = *rc::gen::inRange(0, 8);
  for (int i = 0; i < jobs; ++i) {
    w.jobs.push_back(any_job(w));
    w.names.push_back(std::to_string(i) + *rc::gen::string<std::string>());
  }
  std::stable_sort(w.jobs.begin(), w.jobs.end(),
                   [](const Job& a, const Job& b) { return a.submit < b.submit; });
  std::ostringstream out;
  write_native(w, out);
  const auto r = parse_native(out.str());
  RC_ASSERT(r.has_value());
  RC_ASSERT(r->names == w.names);
  RC_ASSERT(r->jobs.size() == w.jobs.size());
  for (std::size_t i = 0; i < w.jobs.size(); ++i) {
    const Job &a = w.jobs[i], &b = r->jobs[i];
    RC_ASSERT(a.submit == b.submit && a.duration == b.duration && a.estimate == b.estimate);
    RC_ASSERT(a.grace == b.grace && a.checkpoint_interval == b.checkpoint_interval);
    RC_ASSERT(a.iterations == b.iterations && a.per_worker == b.per_worker);
    RC_ASSERT(a.workers == b.workers && a.min_workers == b.min_workers);
    RC_ASSERT(a.max_workers == b.max_workers && a.job_class == b.job_class);
    RC_ASSERT(w.users[index(a.user)] == r->users[index(b.user)]);
    RC_ASSERT((a.model == kNoModel) == (b.model == kNoModel));
    if (a.model != kNoModel) RC_ASSERT(w.models[index(a.model)] == r->models[index(b.model)]);
    for (KindId Job::*kind : {&Job::kind, &Job::measured_on}) {
      RC_ASSERT((a.*kind == kAnyKind) == (b.*kind == kAnyKind));
      if (a.*kind != kAnyKind) RC_ASSERT(w.kinds[index(a.*kind)] == r->kinds[index(b.*kind)]);
    }
  }
}

TEST(Native, WritesOnlyTheColumnsInUse) {
  Workload w;
  w.jobs.resize(2);
  w.jobs[0].duration = w.jobs[0].estimate = microseconds(1'500'000);
  w.jobs[1].duration = w.jobs[1].estimate = seconds(60);
  w.jobs[1].submit = Time{1};
  std::ostringstream out;
  write_native(w, out);
  EXPECT_EQ(out.str(), "submit,duration\n0,1.5\n0.000001,60\n");
}

TEST(Native, FilesAreWrittenWholeOrNotAtAll) {
  const auto folder = std::filesystem::temp_directory_path() / "trainyard-native-test";
  std::filesystem::create_directory(folder);
  Workload w;
  w.jobs.resize(1);
  w.jobs[0].duration = w.jobs[0].estimate = seconds(1);
  ASSERT_TRUE(write_native_file(w, folder / "jobs.csv"));
  EXPECT_TRUE(read_workload(folder / "jobs.csv"));
  EXPECT_FALSE(write_native_file(w, folder / "missing" / "jobs.csv"));
  std::filesystem::create_directory(folder / "taken");
  EXPECT_FALSE(write_native_file(w, folder / "taken"));
  const auto entries = std::distance(std::filesystem::directory_iterator(folder), {});
  EXPECT_EQ(entries, 2);
  std::filesystem::remove_all(folder);
}

}  // namespace
}  // namespace trainyard
