#include "base/toml_table.h"

#include <gtest/gtest.h>

namespace trainyard {
namespace {

/// What `read` makes of the text, or the first error.
template <class Read>
std::string error_of(std::string_view text, Read read) {
  const auto table = parse_toml(text, "f.toml");
  if (!table) return table.error().message;
  TableReader in(*table, "f.toml");
  read(in);
  const auto ok = in.finish();
  return ok ? "no error" : ok.error().message;
}

std::string key_of(int parts) {
  std::string key = "a";
  for (int i = 1; i < parts; ++i) key += ".a";
  return key;
}

/// No depth of a file is a depth of our stack, whatever it is that is nested.
TEST(ParseToml, DepthIsRefusedBeforeAnythingIsMadeOfIt) {
  const std::string deep = key_of(300'000);
  for (const std::string& text : std::vector<std::string>{
           deep + " = 1", "[" + deep + "]", "[[" + deep + "]]", "x = {" + deep + " = 1}",
           "x = \"\"\"\n\"\"\"\n" + deep + " = 1", "x = 'y' # z\n" + deep + " = 1"}) {
    const auto table = parse_toml(text, "f.toml");
    ASSERT_FALSE(table);
    EXPECT_NE(table.error().message.find("a key of more than 16 parts"), std::string::npos);
  }
  EXPECT_FALSE(parse_toml("x = " + std::string(300'000, '['), "f.toml"));
  EXPECT_EQ(parse_toml("\n" + key_of(17) + " = 1", "f.toml").error().message,
            "f.toml:2: a key of more than 16 parts with dots between");
}

TEST(ParseToml, DotsThatAreNoKeysAreTaken) {
  const std::string dots = "." + key_of(99);
  for (const std::string& text : std::vector<std::string>{
           key_of(16) + " = 1", "x = \"" + dots + "\"", "x = '" + dots + "'", "# " + dots,
           "x = \"\"\"\n" + dots + "\n\"\"\"", "x = '''" + dots + "'''", "x = \"\\\"" + dots + "\"",
           ("x = [1.5, 2.5, 3.5, 4.5, 5.5, 6.5, 7.5, 8.5, 9.5, 1.5, 2.5, 3.5, 4.5, 5.5,"
            " 6.5, 7.5, 8.5, 9.5]")})
    EXPECT_TRUE(parse_toml(text, "f.toml")) << text;
}

TEST(TableReader, FieldsThatAreNotThereAreTheirDefaults) {
  EXPECT_EQ(error_of("",
                     [](TableReader& in) {
                       EXPECT_EQ(in.whole("a", 3, 0, 9), 3);
                       EXPECT_EQ(in.real("b", 0.5), 0.5);
                       EXPECT_EQ(in.text("c", "x"), "x");
                       EXPECT_TRUE(in.texts("d").empty());
                       EXPECT_EQ(in.table("e"), nullptr);
                       EXPECT_EQ(in.tables("f"), nullptr);
                     }),
            "no error");
}

TEST(TableReader, BoundsAreAllowedAndWrittenPlainly) {
  const auto real = [](TableReader& in) { in.real("a", 0, 0, 1e13); };
  EXPECT_EQ(error_of("a = 1e13", real), "no error");
  EXPECT_EQ(error_of("a = 2e13", real),
            "f.toml:1: a = '20000000000000'; it must be a number from 0 to 1e13");
  EXPECT_EQ(error_of("a = nan", real), "f.toml:1: a = 'nan'; it must be a number from 0 to 1e13");
}

TEST(TableReader, AListOfTexts) {
  const auto texts = [](TableReader& in) { in.texts("a"); };
  EXPECT_EQ(error_of("a = [\"x\", \"y\"]", texts), "no error");
  EXPECT_EQ(error_of("a = []", texts), "no error");
  EXPECT_EQ(error_of("\na = [\"x\", 3]", texts),
            "f.toml:2: a = '[ 'x', 3 ]'; it must be a list of texts of 1 to 100 characters");
}

TEST(TableReader, TheFirstErrorStays) {
  EXPECT_EQ(error_of("a = 10\nb = 20\nc = 1",
                     [](TableReader& in) {
                       in.whole("b", 0, 0, 9);
                       in.whole("a", 0, 0, 9);
                     }),
            "f.toml:2: b = '20'; it must be a whole number from 0 to 9");
}

TEST(TableReader, BrokenTomlIsToldWithItsLine) {
  EXPECT_TRUE(parse_toml("a = 1\nb = = 2", "f.toml").error().message.starts_with("f.toml:2: "));
}

}  // namespace
}  // namespace trainyard
