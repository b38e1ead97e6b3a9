#include "live/journal/journal_head.h"

#include <gtest/gtest.h>

namespace trainyard {
namespace {

JournalHead after(std::initializer_list<const char*> contents) {
  JournalHead head;
  JobNumber number = 0;
  for (const char* content : contents) head.add(content, ++number);
  return head;
}

TEST(JournalHead, IsReadAsItWasWritten) {
  const JournalHead head = after({"a", "b"});
  EXPECT_EQ(parse_journal_head(format(head)), head);
  EXPECT_EQ(parse_journal_head(format(head) + "   "), head) << "blanks of a longer one before";
  for (const char* text : {"", "1", "1 2", "a b c"}) EXPECT_FALSE(parse_journal_head(text)) << text;
}

TEST(JournalHead, ALossIsSeen) {
  EXPECT_EQ(describe_loss(after({"a", "b"}), after({"a", "b"})), "");
  EXPECT_EQ(describe_loss(after({"a", "b"}), after({"a"})), "") << "the head may be behind";
  EXPECT_EQ(describe_loss(after({"a"}), after({"a", "b", "c"})), "2 of 3 commits are missing");
  EXPECT_EQ(describe_loss({}, after({"a"})), "1 of 1 commits are missing");
  EXPECT_NE(describe_loss(after({"a", "c"}), after({"a", "b"})), "");
  EXPECT_NE(describe_loss(after({"b", "a"}), after({"a", "b"})), "") << "in their order";
}

}  // namespace
}  // namespace trainyard
