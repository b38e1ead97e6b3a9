#include "workload/decompress.h"

#include <zlib.h>
#include <zstd.h>

#include <algorithm>
#include <limits>
#include <memory>
#include <vector>

namespace trainyard {
namespace {

constexpr std::string_view kGzip = "\x1f\x8b";
constexpr std::string_view kZstd = "\x28\xb5\x2f\xfd";
constexpr std::size_t kPart = std::size_t{1} << 18;

tl::unexpected<Error> damaged(std::string_view format, std::string_view why) {
  return fail("the {} data is damaged: {}", format, why);
}

tl::unexpected<Error> cut_short(std::string_view format) {
  return fail("the {} data ends too soon; is the file cut short?", format);
}

/// Appends, unless that makes the text longer than it may be.
class Unpacked {
 public:
  Unpacked(std::size_t packed, const UnpackLimits& limits)
      : most_(std::min(limits.most_bytes,
                       std::max(limits.unquestioned, packed > limits.most_bytes / limits.most_growth
                                                         ? limits.most_bytes
                                                         : packed * limits.most_growth))) {}

  Expected<void> add(std::string_view part) {
    if (part.size() > most_ - text_.size())
      return fail(
          "unpacks to more than {} bytes, which no trace of this size does; if it is one, unpack "
          "it yourself and read the file",
          most_);
    text_ += part;
    return {};
  }
  std::string take() { return std::move(text_); }

 private:
  std::size_t most_;
  std::string text_;
};

Expected<std::string> gunzip(std::string_view bytes, Unpacked out) {
  z_stream stream{};
  constexpr int kGzipOnly = MAX_WBITS + 16;
  if (inflateInit2(&stream, kGzipOnly) != Z_OK) return fail("gzip: not enough memory");
  const std::unique_ptr<z_stream, int (*)(z_stream*)> end(&stream, inflateEnd);
  std::vector<Bytef> part(kPart);
  while (true) {
    if (stream.avail_in == 0) {
      const std::size_t next =
          std::min<std::size_t>(bytes.size(), std::numeric_limits<uInt>::max());
      // zlib's interface lacks a const.
      stream.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(bytes.data()));
      stream.avail_in = static_cast<uInt>(next);
      bytes.remove_prefix(next);
    }
    stream.next_out = part.data();
    stream.avail_out = static_cast<uInt>(part.size());
    const int status = inflate(&stream, Z_NO_FLUSH);
    const std::string_view got(reinterpret_cast<const char*>(part.data()),
                               part.size() - stream.avail_out);
    if (auto ok = out.add(got); !ok) return tl::make_unexpected(ok.error());
    const bool is_used_up = stream.avail_in == 0 && bytes.empty();
    if (status == Z_STREAM_END) {
      if (is_used_up) return out.take();
      if (inflateReset(&stream) != Z_OK) return damaged("gzip", "it cannot be read on");
    } else if (status == Z_BUF_ERROR || (status == Z_OK && is_used_up && stream.avail_out > 0)) {
      return cut_short("gzip");
    } else if (status != Z_OK) {
      return damaged("gzip", stream.msg == nullptr ? "no reason is known" : stream.msg);
    }
  }
}

Expected<std::string> unzstd(std::string_view bytes, Unpacked out) {
  const std::unique_ptr<ZSTD_DStream, std::size_t (*)(ZSTD_DStream*)> stream(ZSTD_createDStream(),
                                                                             ZSTD_freeDStream);
  if (!stream) return fail("zstd: not enough memory");
  std::vector<char> part(kPart);
  ZSTD_inBuffer in{bytes.data(), bytes.size(), 0};
  while (true) {
    ZSTD_outBuffer room{part.data(), part.size(), 0};
    const std::size_t left = ZSTD_decompressStream(stream.get(), &room, &in);
    if (ZSTD_isError(left) != 0) return damaged("zstd", ZSTD_getErrorName(left));
    if (auto ok = out.add({part.data(), room.pos}); !ok) return tl::make_unexpected(ok.error());
    const bool is_used_up = in.pos == in.size;
    if (is_used_up && left == 0) return out.take();
    if (is_used_up && room.pos < room.size) return cut_short("zstd");
  }
}

}  // namespace

bool is_compressed(std::string_view bytes) {
  return bytes.starts_with(kGzip) || bytes.starts_with(kZstd);
}

Expected<std::string> decompress(std::string_view bytes, const UnpackLimits& limits) {
  Unpacked out(bytes.size(), limits);
  return bytes.starts_with(kGzip) ? gunzip(bytes, std::move(out)) : unzstd(bytes, std::move(out));
}

}  // namespace trainyard
