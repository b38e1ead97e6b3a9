#include "study/report/markup.h"

#include <gtest/gtest.h>

namespace trainyard {
namespace {

TEST(Markup, EscapesWhatMeansSomething) {
  EXPECT_EQ(escaped("a<b> & \"c\" 'd'"), "a&lt;b&gt; &amp; &quot;c&quot; &#39;d&#39;");
}

TEST(Markup, KeepsTextInAnyScript) {
  EXPECT_EQ(escaped("± größe 東京 🚂\n\t"), "± größe 東京 🚂\n\t");
}

TEST(Markup, LeavesOutControlCharacters) {
  EXPECT_EQ(escaped(std::string_view("a\0\x1b[1mb\x7f", 8)), "a[1mb");
}

TEST(Markup, ReplacesWhatIsNotUtf8) {
  const std::string bad = "\xEF\xBF\xBD";
  EXPECT_EQ(escaped("a\xff"), "a" + bad);
  EXPECT_EQ(escaped("\xC0\x80"), bad + bad) << "overlong";
  EXPECT_EQ(escaped("\xED\xA0\x80"), bad + bad + bad) << "a surrogate";
  EXPECT_EQ(escaped("\xF4\x90\x80\x80"), bad + bad + bad + bad) << "beyond Unicode";
  EXPECT_EQ(escaped("\xE6\x9D"), bad + bad) << "cut off";
}

}  // namespace
}  // namespace trainyard
