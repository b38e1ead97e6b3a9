#include "workload/gzip_stream.h"

#include <gtest/gtest.h>

#include <sstream>

#include "workload/decompress.h"

namespace trainyard {
namespace {

TEST(GzipBuffer, WhatIsWrittenCanBeReadBack) {
  for (const std::size_t lines : {0, 1, 10'000, 100'000}) {
    std::ostringstream packed;
    std::string text;
    GzipBuffer buffer(packed);
    std::ostream out(&buffer);
    for (std::size_t i = 0; i < lines; ++i) {
      out << i << " of " << lines << '\n';
      text += std::to_string(i) + " of " + std::to_string(lines) + "\n";
    }
    buffer.finish();
    EXPECT_TRUE(is_compressed(packed.str()));
    EXPECT_EQ(decompress(packed.str()).value(), text) << lines;
  }
}

}  // namespace
}  // namespace trainyard
