// A file's bytes without reading it: pages come in as they are looked at, so that a wrong file of
// many gigabytes costs no more than the part that shows it is wrong.
#pragma once

#include <string>
#include <string_view>
#include <utility>

#include "base/error.h"

namespace trainyard {

/// All that standard input gives, at most kMostBytes (decompress.h).
Expected<std::string> read_standard_input();

/// Read-only. The file must not be shortened by others while it is mapped.
class MappedFile {
 public:
  static Expected<MappedFile> open(const std::string& path);

  MappedFile(MappedFile&& other) noexcept : text_(std::exchange(other.text_, {})) {}
  MappedFile& operator=(MappedFile&& other) noexcept {
    std::swap(text_, other.text_);
    return *this;
  }
  MappedFile(const MappedFile&) = delete;
  MappedFile& operator=(const MappedFile&) = delete;
  ~MappedFile();

  [[nodiscard]] std::string_view text() const { return text_; }

 private:
  explicit MappedFile(std::string_view text) : text_(text) {}

  std::string_view text_;
};

}  // namespace trainyard
