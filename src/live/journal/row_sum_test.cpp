#include "live/journal/row_sum.h"

#include <gtest/gtest.h>

#include "base/random.h"
#include "live/journal/testing.h"

namespace trainyard {
namespace {

std::int64_t sum_of(const std::string& column, const std::string& text) {
  RowSum sum;
  sum.add(column, text);
  return sum.value();
}

TEST(RowSum, EveryFlippedBitShows) {
  Random lots(1, 0);
  for (std::size_t size = 0; size < 70; ++size) {
    std::string text(size, '\0');
    for (char& c : text) c = static_cast<char>(lots.below(256));
    const std::int64_t before = sum_of("life", text);
    for (std::size_t bit = 0; bit < 8 * size; ++bit) {
      text[bit / 8] = static_cast<char>(text[bit / 8] ^ (1 << bit % 8));
      ASSERT_NE(sum_of("life", text), before) << "bit " << bit << " of " << size << " bytes";
      text[bit / 8] = static_cast<char>(text[bit / 8] ^ (1 << bit % 8));
    }
    EXPECT_NE(sum_of("life", text + '\0'), before);
    EXPECT_NE(sum_of("liff", text), before);
  }
}

TEST(RowSum, TypesAndColumnsCountAndTheirOrderDoesNot) {
  RowSum a, b, c, d;
  a.add("x", std::int64_t{1}), a.add("y", "1");
  b.add("y", "1"), b.add("x", std::int64_t{1});
  c.add("y", std::int64_t{1}), c.add("x", "1");
  d.add("x", std::int64_t{1}), d.add_other("y", "1");
  EXPECT_EQ(a.value(), b.value());
  EXPECT_NE(a.value(), c.value());
  EXPECT_NE(a.value(), d.value());
}

/// Which the files of all versions have.
TEST(RowSum, IsTheSameForEver) {
  RowSum sum;
  sum.add("number", std::int64_t{7}), sum.add("user", "ada"), sum.add("life", "{\"runs\":1}");
  EXPECT_EQ(sum.value(), -8264093084644945710);
}

class StoredRowTest : public testing::Test {
 protected:
  StoredRowTest() {
    db.exec("CREATE TABLE t (number INTEGER PRIMARY KEY, text TEXT, more INTEGER, sum INTEGER)");
    db.exec("INSERT INTO t VALUES (1, 'one', 10, NULL), (2, 'two', NULL, NULL)");
    sum_all_rows(db, "t");
  }
  std::vector<bool> intact() {
    SQLite::Statement rows(db, "SELECT * FROM t ORDER BY number");
    std::vector<bool> found;
    while (rows.executeStep()) found.push_back(whole_row(rows).is_intact());
    return found;
  }
  SQLite::Database db{":memory:", SQLite::OPEN_READWRITE | SQLite::OPEN_CREATE};
  using Intact = std::vector<bool>;
};

TEST_F(StoredRowTest, AChangeOfAnyColumnOfOneRowShowsInThatRow) {
  EXPECT_EQ(intact(), (Intact{true, true}));
  for (const char* change : {"text = 'onf'", "text = NULL", "text = x'6f6e65'", "more = 11",
                             "more = NULL", "more = 10.5", "sum = sum + 1", "number = 0"}) {
    db.exec("SAVEPOINT whole");
    db.exec(fmt::format("UPDATE t SET {} WHERE number = 1", change));
    EXPECT_EQ(intact(), (Intact{false, true})) << change;
    db.exec("ROLLBACK TO whole");
  }
}

/// As formats before 5 wrote them.
TEST_F(StoredRowTest, ARowWithoutAChecksumIsBelieved) {
  db.exec("UPDATE t SET sum = NULL, text = 'other' WHERE number = 1");
  EXPECT_EQ(intact(), (Intact{true, true}));
  db.exec("ALTER TABLE t DROP COLUMN sum");
  EXPECT_EQ(intact(), (Intact{true, true}));
}

TEST_F(StoredRowTest, AColumnThatIsAddedIsCovered) {
  db.exec("ALTER TABLE t ADD COLUMN later TEXT");
  EXPECT_EQ(intact(), (Intact{true, true})) << "rows from before stay as they are";
  db.exec("UPDATE t SET later = 'x' WHERE number = 1");
  EXPECT_EQ(intact(), (Intact{false, true}));
  sum_all_rows(db, "t");
  EXPECT_EQ(intact(), (Intact{true, true}));
}

}  // namespace
}  // namespace trainyard
