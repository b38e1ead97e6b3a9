// A number for a sequence of texts, FNV-1a over their lengths and bytes: the same texts give the
// same number, others by all likelihood another one. Not against someone who means harm.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "base/error.h"

namespace trainyard {

class Fingerprint {
 public:
  Fingerprint& add(std::string_view text) {
    mix(std::to_string(text.size()));
    mix(":");
    mix(text);
    return *this;
  }
  /// The bytes of a file.
  Expected<void> add_file(const std::string& path);

  [[nodiscard]] std::string hex() const { return fmt::format("{:016x}", hash_); }

 private:
  void mix(std::string_view bytes) {
    for (const char c : bytes) hash_ = (hash_ ^ static_cast<unsigned char>(c)) * 0x100000001B3ULL;
  }

  std::uint64_t hash_ = 0xCBF29CE484222325ULL;
};

/// Of the program that is running: another build has another one.
Expected<std::string> program_fingerprint();

}  // namespace trainyard
