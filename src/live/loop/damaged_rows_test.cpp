// A row of the journal that cannot be read costs that job, and no other.
#include <SQLiteCpp/SQLiteCpp.h>
#include <gmock/gmock.h>

#include "live/journal/testing.h"
#include "live/loop/yardmaster_fixture.h"

namespace trainyard {
namespace {

using testing::HasSubstr;

const std::string kGarbage[] = {
    "", "{", "\xff\xfe", "[]", "null", R"({"state": 7})", std::string(100'000, '[')};

/// `is_summed`: as a faulty program would have written it, with a checksum that is right.
class DamagedRows : public YardmasterTest, public testing::WithParamInterface<bool> {
 protected:
  static bool is_summed() { return GetParam(); }
};
INSTANTIATE_TEST_SUITE_P(Sums, DamagedRows, testing::Bool());

TEST_P(DamagedRows, ADamagedRowCostsOneJob) {
  std::vector<JobNumber> damaged;
  const JobNumber first = submit(spec(4));
  const JobNumber waits = submit(spec(4));
  for (int i = 0; i < 15; ++i) damaged.push_back(submit(spec(4)));
  JobSpec after = spec(4);
  after.after = {damaged[0]};
  const JobNumber dependent = submit(after);
  run(first);
  master.reset();
  {
    SQLite::Database file(directory.path() + "/journal.db", SQLite::OPEN_READWRITE);
    std::size_t next = 0;
    for (const char* sql :
         {"UPDATE job SET life = ? WHERE number = ?", "UPDATE spec SET spec = ? WHERE number = ?"})
      for (const std::string& text : kGarbage) {
        SQLite::Statement statement(file, sql);
        statement.bind(1, text);
        statement.bind(2, damaged[next++]);
        statement.exec();
      }
    file.exec(fmt::format("DELETE FROM spec WHERE number = {}", damaged[14]));
    if (is_summed()) sum_all_rows(file, "job"), sum_all_rows(file, "spec");
  }
  begin();
  EXPECT_EQ(state(waits), "queued");
  EXPECT_TRUE(engine->was_told("adopt 1.1"));
  for (const JobNumber number : damaged) {
    EXPECT_EQ(state(number), "failed");
    EXPECT_THAT(record(number).reason, HasSubstr("its row in the journal is damaged: "));
  }
  EXPECT_TRUE(becomes(dependent, "cancelled"));
  EXPECT_EQ(system.log().count(LogLevel::error, "damaged"), damaged.size());
  EXPECT_EQ(master->jobs(kOperator, {})->jobs.size(), 18U);
  EXPECT_FALSE(history(kOperator).empty());
  begin();
  EXPECT_EQ(system.log().count(LogLevel::error, "damaged"), damaged.size()) << "told once";
}

TEST_P(DamagedRows, ADamagedSettingKeepsNobodyFromStarting) {
  const JobNumber job = submit(spec());
  ASSERT_TRUE(master->set_policy(kOperator, {"fifo", {}}));
  run(job);
  std::vector<std::string> texts(std::begin(kGarbage), std::end(kGarbage));
  texts.insert(texts.end(), {R"({"policy": 7})", R"({"policy": "none", "settings": []})",
                             R"({"policy": "fifo", "settings": [7]})", "boot 1"});
  for (const std::string& text : texts) {
    master.reset();
    {
      SQLite::Database file(directory.path() + "/journal.db", SQLite::OPEN_READWRITE);
      SQLite::Statement statement(file, "UPDATE setting SET value = ?");
      statement.bind(1, text);
      statement.exec();
      if (is_summed()) sum_all_rows(file, "setting");
    }
    begin();
    EXPECT_EQ(master->policy(kOperator)->policy, "fitgpp") << text;
    EXPECT_FALSE(record(job).has_ended());
  }
  const char* line = is_summed() ? "policy that was set last" : "table setting, row 'policy'";
  EXPECT_EQ(system.log().count(LogLevel::error, line), texts.size());
}

/// A value that can be read, and is not what was written.
TEST_F(YardmasterTest, AFlippedBitFailsTheJobAndItsRunLivesOn) {
  const JobNumber runs = submit(spec(2)), other = submit(spec(2));
  run(runs), run(other);
  const JobNumber waits = submit(spec(4));
  master.reset();
  SQLite::Database(directory.path() + "/journal.db", SQLite::OPEN_READWRITE)
      .exec(fmt::format("UPDATE job SET life = replace(life, '\"runs\":1', '\"runs\":3') "
                        "WHERE number = {}",
                        runs));
  begin();
  EXPECT_EQ(state(runs), "failed");
  EXPECT_THAT(record(runs).reason,
              HasSubstr(fmt::format("table job, row {}: its checksum is wrong", runs)));
  EXPECT_FALSE(engine->was_told(fmt::format("adopt {}.3", runs)));
  EXPECT_FALSE(engine->was_told(fmt::format("stop {}.1", runs)));
  EXPECT_TRUE(engine->was_told(fmt::format("adopt {}.1", other)));
  EXPECT_EQ(state(waits), "queued");
}

TEST_F(YardmasterTest, ADamagedPayloadFailsTheStart) {
  const JobNumber first = submit(spec(4));
  run(first);
  const JobNumber damaged = submit(spec(4)), gone = submit(spec(4)), whole = submit(spec(4));
  SQLite::Database file(directory.path() + "/journal.db", SQLite::OPEN_READWRITE);
  file.exec(
      fmt::format("UPDATE payload SET payload = replace(payload, 'script', 'scripT') "
                  "WHERE number = {}",
                  damaged));
  file.exec(fmt::format("DELETE FROM payload WHERE number = {}", gone));
  engine->report(Kind::exited, {first, 1}, 0);
  EXPECT_TRUE(becomes(damaged, "failed"));
  EXPECT_THAT(record(damaged).reason,
              HasSubstr(fmt::format("damaged in the journal (table payload, row {})", damaged)));
  EXPECT_TRUE(becomes(gone, "failed"));
  EXPECT_THAT(record(gone).reason, HasSubstr("not in the journal any more"));
  EXPECT_TRUE(told(fmt::format("start {}.1", whole)));
  EXPECT_FALSE(engine->was_told(fmt::format("start {}.1", damaged)));
}

TEST_F(YardmasterTest, ADamagedEventIsLeftOut) {
  for (int i = 0; i < 100; ++i) submit(spec(4));
  master.reset();
  SQLite::Database(directory.path() + "/journal.db", SQLite::OPEN_READWRITE)
      .exec(
          "UPDATE event SET at = at + 1000000000000000 WHERE sequence BETWEEN 10 AND 90 "
          "OR sequence = (SELECT max(sequence) FROM event)");
  begin();
  const std::int64_t last = master->last_event();
  std::int64_t at = 0;
  std::vector<std::int64_t> shown;
  while (at < last) {
    const auto page = master->events(kOperator, at, {});
    ASSERT_GT(page.reached, at) << "a reader would come back for ever";
    for (const LiveEvent& event : page.events) shown.push_back(event.sequence);
    at = page.reached;
  }
  EXPECT_TRUE(std::ranges::find(shown, 9) != shown.end());
  EXPECT_TRUE(std::ranges::find(shown, 50) == shown.end());
  EXPECT_TRUE(std::ranges::find(shown, 91) != shown.end());
  EXPECT_EQ(system.log().count(LogLevel::error, "table event, row 50: its checksum is wrong"), 1U);
  EXPECT_LT(master->job(kOperator, submit(spec(4)))->submitted.us, 3'000'000'000'000'000)
      << "no time is believed that an event has by damage";
}

}  // namespace
}  // namespace trainyard
