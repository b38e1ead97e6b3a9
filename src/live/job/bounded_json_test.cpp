#include "live/job/bounded_json.h"

#include <gmock/gmock.h>

#include <nlohmann/json.hpp>

namespace trainyard {
namespace {

using testing::HasSubstr;

std::string json_problem(const std::string& text) {
  const auto value = parse_bounded_json(text);
  return value ? "" : value.error().message;
}

std::string nested(std::size_t depth, const std::string& open, char close) {
  std::string text;
  for (std::size_t i = 0; i < depth; ++i) text += open;
  return text + "1" + std::string(depth, close);
}

TEST(BoundedJson, ValuesAreRead) {
  EXPECT_EQ(*parse_bounded_json(R"({"a": [1, "x", null], "a\"b": {}})"),
            (nlohmann::json{{"a", {1, "x", nullptr}}, {"a\"b", nlohmann::json::object()}}));
  EXPECT_EQ(*parse_bounded_json("7"), 7);
}

TEST(BoundedJson, DepthIsBounded) {
  EXPECT_EQ(json_problem(nested(16, "[", ']')), "");
  EXPECT_EQ(json_problem(nested(16, "{\"a\":", '}')), "");
  EXPECT_THAT(json_problem(nested(17, "[", ']')), HasSubstr("byte 17 of 35 opens a list"));
  EXPECT_THAT(json_problem(nested(17, "{\"a\":", '}')), HasSubstr("byte 81 of"));
  EXPECT_THAT(json_problem(nested(1'000'000, "[", ']')), HasSubstr("byte 17 of"));
  EXPECT_THAT(json_problem(std::string(200'000, '[')), HasSubstr("byte 17 of"));
}

TEST(BoundedJson, OnlyWhatIsNestedCounts) {
  std::string wide = "[";
  for (int i = 0; i < 1000; ++i) wide += "[],{},";
  EXPECT_EQ(json_problem(wide + "0]"), "");
  const std::string brackets(100, '[');
  EXPECT_EQ(json_problem("\"" + brackets + "\""), "");
  EXPECT_EQ(json_problem(R"(["\\", "\")" + brackets + R"("])"), "");
  EXPECT_THAT(json_problem(R"(["\\",)" + brackets), HasSubstr("byte 22 of")) << "the text ended";
}

std::string list_of(std::size_t values, std::string_view value) {
  std::string text = "[";
  for (std::size_t i = 1; i < values; ++i) (text += value) += ',';
  return (text += value) + "]";
}

/// Three bytes of text each become 80 of memory.
TEST(BoundedJson, TheNumberOfValuesIsBounded) {
  EXPECT_EQ(json_problem(list_of(65'535, "0")), "");
  EXPECT_THAT(json_problem(list_of(65'536, "0")), HasSubstr("begins value 65537; 65536 are"));
  EXPECT_THAT(json_problem(list_of(1'300'000, "{}")), HasSubstr("begins value 65537"));
  EXPECT_EQ(json_problem("[\"" + std::string(200'000, ',') + "\"]"), "") << "one text";
}

TEST(BoundedJson, WhatIsWrongIsNamed) {
  EXPECT_EQ(json_problem("{"), "not JSON: byte 2 of 1 is not as it should be");
  EXPECT_THAT(json_problem(""), HasSubstr("not JSON: byte 1 of 0"));
  EXPECT_THAT(json_problem("\xff"), HasSubstr("not JSON: byte 1"));
  EXPECT_THAT(json_problem("\"\\"), HasSubstr("not JSON: byte"));
  EXPECT_THAT(json_problem("]]]"), HasSubstr("not JSON: byte 1"));
  EXPECT_THAT(json_problem(R"({"cpus": 1e999})"), HasSubstr("1e999"));
}

TEST(BoundedJson, NulBytesAreRefusedWhereverTheyAre) {
  EXPECT_THAT(json_problem(std::string("{\"a\":1}\0{}", 10)), HasSubstr("byte 8 of 10 is NUL"));
  EXPECT_THAT(json_problem(std::string("{}\0", 3)), HasSubstr("byte 3 of 3 is NUL"));
  EXPECT_THAT(json_problem(std::string("[\"a\0b\"]", 7)), HasSubstr("is NUL"));
  EXPECT_THAT(json_problem(R"({"a": ["x", {"b": "c\u0000d"}]})"),
              HasSubstr("a text has a NUL byte: 'c\\x00d'"));
  EXPECT_THAT(json_problem(R"({"a\u0000b": 1})"), HasSubstr("a name has a NUL byte"));
  EXPECT_EQ(json_problem(R"({"a": "\\u0000"})"), "") << "a backslash and letters";
}

}  // namespace
}  // namespace trainyard
