// For tests: whether JSON follows a schema of docs/schema.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <fstream>
#include <nlohmann/json.hpp>
#include <sstream>
#include <string>
#include <vector>

namespace trainyard {

using Problems = std::vector<std::string>;

/// A file of the project, in whose root the tests run.
inline std::string read_text(const std::string& file) {
  std::ifstream in(file);
  EXPECT_TRUE(in) << file;
  std::ostringstream text;
  text << in.rdbuf();
  return text.str();
}

/// As much of JSON Schema as docs/schema uses: an unknown keyword is a failure, so that none is
/// taken for checked which is not.
class SchemaChecker {
 public:
  explicit SchemaChecker(const std::string& file)
      : root_(nlohmann::ordered_json::parse(read_text("docs/schema/" + file))) {}

  /// What is wrong with `value`, a line each.
  std::vector<std::string> operator()(const nlohmann::ordered_json& value) {
    problems_.clear();
    check(value, root_, "$");
    return problems_;
  }

 private:
  using ordered_json = nlohmann::ordered_json;

  void report(const std::string& where, const std::string& what) {
    problems_.push_back(where + ": " + what);
  }

  void check(const ordered_json& value, const ordered_json& schema, const std::string& where) {
    for (const auto& [keyword, rule] : schema.items()) {
      if (keyword == "$ref") {
        check_reference(value, rule.get<std::string>(), where);
      } else if (keyword == "type") {
        const auto matches = [&](const auto& type) { return has_type(value, type); };
        const ordered_json types = rule.is_array() ? rule : ordered_json{rule};
        if (std::ranges::none_of(types, matches)) report(where, "is no " + rule.dump());
      } else if (keyword == "required") {
        for (const auto& key : rule)
          if (!value.contains(key.get<std::string>())) report(where, "has no " + key.dump());
      } else if (keyword == "minimum") {
        if (value.get<double>() < rule.get<double>()) report(where, "is too small");
      } else if (keyword == "maximum") {
        if (value.get<double>() > rule.get<double>()) report(where, "is too large");
      } else if (keyword == "items") {
        for (const auto& item : value) check(item, rule, where + "[]");
      } else if (keyword == "properties" || keyword == "additionalProperties") {
        continue;  // together, below
      } else if (keyword != "$schema" && keyword != "title" && keyword != "$defs") {
        report(where, "unknown keyword " + keyword);
      }
    }
    if (value.is_object()) check_members(value, schema, where);
  }

  void check_members(const ordered_json& value, const ordered_json& schema,
                     const std::string& where) {
    const ordered_json properties = schema.value("properties", ordered_json::object());
    const ordered_json others = schema.value("additionalProperties", ordered_json(true));
    for (const auto& [key, member] : value.items()) {
      const std::string here = where + "." + key;
      if (properties.contains(key)) {
        check(member, properties[key], here);
      } else if (others.is_object()) {
        check(member, others, here);
      } else if (others == false) {
        report(here, "is not in the schema");
      }
    }
  }

  void check_reference(const ordered_json& value, const std::string& target,
                       const std::string& where) {
    if (target.starts_with("#")) {
      check(value, root_.at(ordered_json::json_pointer(target.substr(1))), where);
      return;
    }
    for (const std::string& problem : SchemaChecker(target)(value)) report(where, problem);
  }

  static bool has_type(const ordered_json& value, const std::string& type) {
    if (type == "integer") return value.is_number_integer();
    if (type == "number") return value.is_number();
    if (type == "string") return value.is_string();
    if (type == "boolean") return value.is_boolean();
    if (type == "array") return value.is_array();
    if (type == "null") return value.is_null();
    return type == "object" && value.is_object();
  }

  ordered_json root_;
  std::vector<std::string> problems_;
};

}  // namespace trainyard
