// Strings by dense number: users, models and GPU kinds appear a million times in a trace, and are
// kept once.
#pragma once

#include <cstdint>
#include <deque>
#include <string>
#include <string_view>
#include <unordered_map>

namespace trainyard {

class Names {
 public:
  Names() = default;
  Names(const Names& other) { *this = other; }
  Names& operator=(const Names& other) {
    if (this == &other) return *this;
    names_.clear(), numbers_.clear();
    for (const std::string& name : other.names_) add(name);
    return *this;
  }
  Names(Names&&) = default;
  Names& operator=(Names&&) = default;

  /// The name's number, given in order of first appearance.
  std::uint32_t add(std::string_view name) {
    if (const auto found = numbers_.find(name); found != numbers_.end()) return found->second;
    names_.emplace_back(name);
    const auto number = static_cast<std::uint32_t>(names_.size() - 1);
    numbers_.emplace(names_.back(), number);
    return number;
  }

  /// The name's number, or size() when it was never added.
  [[nodiscard]] std::uint32_t find(std::string_view name) const {
    const auto found = numbers_.find(name);
    return found == numbers_.end() ? static_cast<std::uint32_t>(size()) : found->second;
  }

  [[nodiscard]] const std::string& operator[](std::size_t number) const { return names_[number]; }
  [[nodiscard]] std::size_t size() const { return names_.size(); }
  [[nodiscard]] auto begin() const { return names_.begin(); }
  [[nodiscard]] auto end() const { return names_.end(); }

 private:
  std::deque<std::string> names_;  // a deque: the keys below point into it
  std::unordered_map<std::string_view, std::uint32_t> numbers_;
};

}  // namespace trainyard
