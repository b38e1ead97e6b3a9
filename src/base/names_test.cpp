#include "base/names.h"

#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <utility>
#include <vector>

namespace trainyard {
namespace {

std::vector<std::string> all(const Names& names) {
  return {names.begin(), names.end()};
}

TEST(Names, AreNumberedInOrderOfFirstAppearance) {
  Names names;
  EXPECT_EQ(names.add("V100"), 0U);
  EXPECT_EQ(names.add("T4"), 1U);
  EXPECT_EQ(names.add("V100"), 0U);
  EXPECT_EQ(names.add(""), 2U);
  EXPECT_EQ(names.size(), 3U);
  EXPECT_EQ(names[1], "T4");
  EXPECT_EQ(all(names), (std::vector<std::string>{"V100", "T4", ""}));
}

TEST(Names, AnUnknownOneIsFoundAtTheEnd) {
  Names names;
  EXPECT_EQ(names.find("V100"), 0U);
  names.add("V100");
  EXPECT_EQ(names.find("V100"), 0U);
  EXPECT_EQ(names.find("T4"), 1U);
}

// Short strings live inside their object, so keys that pointed into the original would dangle.
TEST(Names, ACopyAndAMoveStandOnTheirOwn) {
  auto original = std::make_unique<Names>();
  for (int i = 0; i < 1000; ++i) original->add(std::to_string(i));
  Names copy = *original;
  Names assigned;
  assigned.add("overwritten");
  assigned = copy;
  const Names moved = std::move(*original);
  original.reset();
  copy.add("new");
  for (const Names* names : {&std::as_const(copy), &std::as_const(assigned), &moved})
    for (std::uint32_t i = 0; i < 1000; ++i) ASSERT_EQ(names->find(std::to_string(i)), i);
  EXPECT_EQ(copy.find("new"), 1000U);
  EXPECT_EQ(assigned.find("new"), assigned.size());
  EXPECT_EQ(assigned.find("overwritten"), assigned.size());
}

TEST(Names, AssignedToThemselvesStay) {
  Names names;
  names.add("V100");
  const Names& same = names;
  names = same;
  EXPECT_EQ(all(names), std::vector<std::string>{"V100"});
}

}  // namespace
}  // namespace trainyard
