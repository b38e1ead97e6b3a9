// Writes a text as gzip, piece by piece: a timeline of gigabytes shrinks to a thirtieth.
#pragma once

#include <zlib.h>

#include <array>
#include <ostream>
#include <streambuf>

namespace trainyard {

/// What is written into it comes out packed at `out`. Whole only after finish().
class GzipBuffer final : public std::streambuf {
 public:
  explicit GzipBuffer(std::ostream& out);
  ~GzipBuffer() override;
  GzipBuffer(const GzipBuffer&) = delete;
  GzipBuffer& operator=(const GzipBuffer&) = delete;

  /// Writes what is left and the end of the format.
  void finish();

 private:
  int overflow(int c) override;
  void pack(int flush);

  static constexpr std::size_t kBytes = std::size_t{1} << 16;
  std::ostream& out_;
  z_stream stream_{};
  std::array<char, kBytes> text_;
};

}  // namespace trainyard
