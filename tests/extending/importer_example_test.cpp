// The importer of docs/extending.md, and what it makes of a text. In src/ the first part would be
// workload/import/shift_book.cpp.
#include <gtest/gtest.h>

#include "workload/import/importers.h"
#include "workload/import/table.h"
#include "workload/read.h"

namespace trainyard {
namespace {

// A made-up format: the book in which the night shift of a lab writes who takes how many GPUs.
//
//   when;who;cards;minutes
//   2026-03-02 21:30:00;ada;4;90
constexpr LineStyle kShiftBookLine{.separator = ';'};

bool recognise_shift_book(std::string_view text) {
  return names_columns(text, kShiftBookLine, {"when", "cards", "minutes"});
}

Expected<Import> parse_shift_book(const Source& source) {
  TraceTable table(source, kShiftBookLine);
  const auto when = table.need("when");
  const auto who = table.column("who");
  const auto cards = table.need("cards");
  const auto minutes = table.need("minutes");
  ImportBuilder out(source.origin);
  while (table.next()) {
    Job job;
    job.submit = table.date_time(when);
    job.duration = table.seconds(minutes);  // in the format's unit, which is minutes
    set_gang(job, table.whole(cards, 0, kMostGpus));
    job.user = UserId{out.workload.users.add(table.text(who))};
    table.check(out.add(job, ""));
  }
  if (table.failed()) return tl::make_unexpected(*table.error());
  return std::move(out).finish();
}

constexpr FormatEntry kShiftBook{"shift-book",
                                 "the book of a lab's night shift",
                                 "columns when, cards and minutes between ';'",
                                 recognise_shift_book,
                                 parse_shift_book,
                                 minutes(1)};

// --- Its test ------------------------------------------------------------------------------------

Expected<Import> import_book(std::string_view rows) {
  const std::string text = "when;who;cards;minutes\n" + std::string(rows);
  EXPECT_TRUE(kShiftBook.recognise(text));
  return kShiftBook.parse({text, "book.txt", kShiftBook.unit});
}

TEST(ImporterExample, JobsAreSortedAndCountFromTheFirst) {
  const auto import = import_book(
      "2026-03-02 22:00:00;grace;1;5\n"
      "2026-03-02 21:30:00;ada;4;90\n"
      "2026-03-02 23:00:00;ada;0;10\n");
  ASSERT_TRUE(import) << import.error().message;
  const Workload& workload = import->workload;
  ASSERT_EQ(workload.jobs.size(), 2U);
  EXPECT_EQ(workload.jobs[0].submit, Time{});
  EXPECT_EQ(workload.jobs[0].duration, minutes(90));
  EXPECT_EQ(workload.jobs[0].gpus(), 4);
  EXPECT_EQ(workload.users[index(workload.jobs[0].user)], "ada");
  EXPECT_EQ(workload.jobs[1].submit, Time{} + minutes(30));
  EXPECT_EQ(import->notes, std::vector<std::string>{"1 job left out: asked for no GPU"});
}

TEST(ImporterExample, ABadRowIsNamedWithWhatIsWrong) {
  const auto import = import_book(
      "2026-03-02 21:30:00;ada;4;90\n"
      "2026-03-02 22:00:00;grace;four;5\n");
  ASSERT_FALSE(import);
  EXPECT_EQ(import.error().message,
            "book.txt:3: field 'cards': value 'four' is not a whole number from 0 to 1024000000");
}

}  // namespace
}  // namespace trainyard
