#include "policy/params.h"

#include <gtest/gtest.h>

namespace trainyard {
namespace {

std::string error_of(ParamType type, std::string_view value) {
  const ParamSpec spec{"p", type, "", "", {"all", "skewed"}};
  const auto checked = check_param(spec, value);
  return checked ? "" : checked.error().message;
}

Params param(std::string value) {
  Params params;
  params.set("p", std::move(value));
  return params;
}

TEST(Params, Durations) {
  EXPECT_EQ(error_of(ParamType::duration, "10m"), "");
  EXPECT_EQ(param("10m").duration("p"), minutes(10));
  EXPECT_EQ(error_of(ParamType::duration, "never"), "");
  EXPECT_EQ(param("never").duration("p"), Duration::max());
  EXPECT_EQ(error_of(ParamType::duration, "soon"),
            "'soon' is not a duration; write seconds or units, as in 90, 1.5h, 2d12h, 250ms");
  EXPECT_EQ(error_of(ParamType::duration, "-1h"), "'-1h' is negative; a duration is 0 or more");
}

TEST(Params, WholeNumbers) {
  EXPECT_EQ(error_of(ParamType::whole, "0"), "");
  EXPECT_EQ(error_of(ParamType::whole, "1000000000"), "");
  EXPECT_EQ(param("64").whole("p"), 64);
  for (const char* value : {"", "-1", "1.5", "ten", "1000000001", "99999999999999999999", "1 "})
    EXPECT_EQ(error_of(ParamType::whole, value),
              fmt::format("'{}' is not a whole number from 0 to 1000000000", value));
}

TEST(Params, RealNumbers) {
  EXPECT_EQ(error_of(ParamType::real, "0.5"), "");
  EXPECT_EQ(param("0.5").real("p"), 0.5);
  EXPECT_EQ(param("1e3").real("p"), 1000);
  for (const char* value : {"", "-0.1", "nan", "inf", "half", "1e999"})
    EXPECT_EQ(error_of(ParamType::real, value),
              fmt::format("'{}' is not a number of 0 or more", value));
}

TEST(Params, Choices) {
  EXPECT_EQ(error_of(ParamType::choice, "skewed"), "");
  EXPECT_EQ(param("skewed").choice("p"), "skewed");
  EXPECT_EQ(error_of(ParamType::choice, "some"), "'some' is not one of: all, skewed");
}

TEST(Params, ListsOfDurationsAscend) {
  EXPECT_EQ(error_of(ParamType::durations, "1h/10h"), "");
  EXPECT_EQ(param("1h/10h").durations("p"), (std::vector{hours(1), hours(10)}));
  EXPECT_EQ(param("90").durations("p"), std::vector{seconds(90)});
  EXPECT_EQ(error_of(ParamType::durations, "2h/1h"), "'1h' is out of order; the list must ascend");
  EXPECT_EQ(error_of(ParamType::durations, "1h/60m"),
            "'60m' is out of order; the list must ascend");
  EXPECT_EQ(error_of(ParamType::durations, "1h/"),
            "'' is not a duration; write seconds or units, as in 90, 1.5h, 2d12h, 250ms");
  EXPECT_EQ(error_of(ParamType::durations, "1/2/3/4/5/6/7/8/9/10/11/12/13/14/15"), "");
  EXPECT_EQ(error_of(ParamType::durations, "1/2/3/4/5/6/7/8/9/10/11/12/13/14/15/16"),
            "more than 15 values");
}

}  // namespace
}  // namespace trainyard
