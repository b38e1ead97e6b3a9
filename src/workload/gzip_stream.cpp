#include "workload/gzip_stream.h"

#include <new>

namespace trainyard {

GzipBuffer::GzipBuffer(std::ostream& out) : out_(out) {
  constexpr int kWithGzipHeader = MAX_WBITS + 16, kMemory = 8;
  if (deflateInit2(&stream_, Z_DEFAULT_COMPRESSION, Z_DEFLATED, kWithGzipHeader, kMemory,
                   Z_DEFAULT_STRATEGY) != Z_OK)
    throw std::bad_alloc();
  setp(text_.data(), text_.data() + text_.size());
}

GzipBuffer::~GzipBuffer() {
  deflateEnd(&stream_);
}

void GzipBuffer::finish() {
  pack(Z_FINISH);
}

int GzipBuffer::overflow(int c) {
  pack(Z_NO_FLUSH);
  if (c != traits_type::eof()) sputc(traits_type::to_char_type(c));
  return traits_type::not_eof(c);
}

void GzipBuffer::pack(int flush) {
  std::array<char, kBytes> packed;
  stream_.next_in = reinterpret_cast<Bytef*>(pbase());
  stream_.avail_in = static_cast<uInt>(pptr() - pbase());
  do {
    stream_.next_out = reinterpret_cast<Bytef*>(packed.data());
    stream_.avail_out = kBytes;
    deflate(&stream_, flush);
    out_.write(packed.data(), static_cast<std::streamsize>(kBytes - stream_.avail_out));
  } while (stream_.avail_out == 0);
  setp(text_.data(), text_.data() + text_.size());
}

}  // namespace trainyard
