// What the tests across modules share.
#pragma once

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cctype>
#include <stdexcept>
#include <string>
#include <vector>

#include "kind_speeds.h"
#include "perf/catalogue.h"
#include "policy/registry.h"
#include "random_case.h"

namespace trainyard {

/// The value, or the end of the test.
template <class T>
T unwrap(Expected<T> value) {
  if (!value) throw std::runtime_error(value.error().message);
  return *std::move(value);
}

inline PolicySpec parse_policy(const std::string& line,
                               const std::vector<std::string>& settings = {}) {
  return unwrap(PolicySpec::parse(line, settings));
}

/// How fast kinds of GPU are, as the reference knows it, and the models of the TOML.
inline Catalogue kinds_and(std::string models) {
  for (const auto& [kind, speed] : kKindSpeeds)
    models += fmt::format("[[kind]]\nname = \"{}\"\nrelative = {}\n", kind, speed);
  Catalogue made;
  if (auto ok = made.add_toml(models, "test"); !ok) throw std::runtime_error(ok.error().message);
  return made;
}

inline const Catalogue& kinds_alone() {
  static const Catalogue catalogue = kinds_and("");
  return catalogue;
}

inline JobId job_id(std::size_t j) {
  return JobId{static_cast<std::uint32_t>(j)};
}

/// As GoogleTest allows a name to be: letters, digits and underscores.
inline std::string as_test_name(std::string name) {
  std::replace_if(
      name.begin(), name.end(), [](unsigned char c) { return std::isalnum(c) == 0; }, '_');
  return name;
}

/// Calls body(random, seed) for every seed, until one of them fails. Tests with another stream see
/// other cases.
template <class Body>
void for_seeds(std::uint64_t count, std::uint64_t stream, Body body) {
  const Seeds all = seeds(count);
  for (std::uint64_t seed = all.first; seed < all.first + all.count; ++seed) {
    SCOPED_TRACE(fmt::format("TRAINYARD_TEST_SEED={}", seed));
    Random random(seed, stream);
    body(random, seed);
    if (testing::Test::HasFailure()) return;
  }
}

}  // namespace trainyard
