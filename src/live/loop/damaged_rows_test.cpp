// A row of the journal that cannot be read costs that job, and no other.
#include <SQLiteCpp/SQLiteCpp.h>
#include <gmock/gmock.h>

#include "live/loop/yardmaster_fixture.h"

namespace trainyard {
namespace {

using testing::HasSubstr;

const std::string kGarbage[] = {
    "", "{", "\xff\xfe", "[]", "null", R"({"state": 7})", std::string(100'000, '[')};

TEST_F(YardmasterTest, ADamagedRowCostsOneJob) {
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

TEST_F(YardmasterTest, ADamagedSettingKeepsNobodyFromStarting) {
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
    }
    begin();
    EXPECT_EQ(master->policy(kOperator)->policy, "fitgpp") << text;
    EXPECT_FALSE(record(job).has_ended());
  }
  EXPECT_EQ(system.log().count(LogLevel::error, "policy that was set last"), texts.size());
}

}  // namespace
}  // namespace trainyard
