#include "study/reproduce/fingerprint.h"

#include <gtest/gtest.h>

namespace trainyard {
namespace {

TEST(Fingerprint, TellsTextsApart) {
  const auto of = [](auto... texts) {
    Fingerprint fingerprint;
    (fingerprint.add(texts), ...);
    return fingerprint.hex();
  };
  EXPECT_EQ(of("a", "bc"), of("a", "bc"));
  EXPECT_NE(of("a", "bc"), of("ab", "c"));
  EXPECT_NE(of("a", "bc"), of("bc", "a"));
  EXPECT_NE(of("a"), of("a", ""));
  EXPECT_EQ(of().size(), 16U);
}

TEST(Fingerprint, OfAFileIsThatOfItsBytes) {
  Fingerprint one, two;
  EXPECT_TRUE(one.add_file("README.md"));
  EXPECT_TRUE(two.add_file("docs/output.md"));
  EXPECT_NE(one.hex(), two.hex());
  EXPECT_FALSE(one.add_file("no/such/file"));
}

TEST(Fingerprint, TheProgramHasOne) {
  EXPECT_EQ(program_fingerprint().value(), program_fingerprint().value());
}

}  // namespace
}  // namespace trainyard
