// What was packed is unpacked; what is cut, damaged or a bomb is refused.
#include "workload/decompress.h"

#include <gtest/gtest.h>
#include <zlib.h>
#include <zstd.h>

#include "workload/read.h"

namespace trainyard {
namespace {

std::string gzip(std::string_view text) {
  z_stream stream{};
  EXPECT_EQ(deflateInit2(&stream, 9, Z_DEFLATED, MAX_WBITS + 16, 8, Z_DEFAULT_STRATEGY), Z_OK);
  std::string packed(deflateBound(&stream, text.size()), '\0');
  stream.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(text.data()));
  stream.avail_in = static_cast<uInt>(text.size());
  stream.next_out = reinterpret_cast<Bytef*>(packed.data());
  stream.avail_out = static_cast<uInt>(packed.size());
  EXPECT_EQ(deflate(&stream, Z_FINISH), Z_STREAM_END);
  packed.resize(stream.total_out);
  deflateEnd(&stream);
  return packed;
}

std::string zstd(std::string_view text) {
  std::string packed(ZSTD_compressBound(text.size()), '\0');
  const std::size_t size = ZSTD_compress(packed.data(), packed.size(), text.data(), text.size(), 3);
  EXPECT_FALSE(ZSTD_isError(size));
  packed.resize(size);
  return packed;
}

const std::string kJobs = "id,submit,duration\na,0,60\nb,5,30\n";

class Decompress : public testing::TestWithParam<std::string (*)(std::string_view)> {
 protected:
  static std::string pack(std::string_view text) { return GetParam()(text); }
  static std::string error_of(std::string_view bytes, const UnpackLimits& limits = {}) {
    const auto text = decompress(bytes, limits);
    return text ? "" : text.error().message;
  }
};

TEST_P(Decompress, GivesBackWhatWasPacked) {
  std::string longer;
  for (std::int64_t i = 0; longer.size() < 3'000'000; ++i) longer += std::to_string(i * i) + ",";
  for (const std::string& text : {std::string(), kJobs, longer}) {
    EXPECT_TRUE(is_compressed(pack(text)));
    EXPECT_EQ(decompress(pack(text)).value(), text);
    EXPECT_EQ(decompress(pack(text) + pack("more")).value(), text + "more");
  }
}

TEST_P(Decompress, IsReadAsAWorkload) {
  const auto workload = parse_workload(pack(kJobs), "jobs.csv");
  ASSERT_TRUE(workload) << workload.error().message;
  EXPECT_EQ(workload->names, (std::vector<std::string>{"a", "b"}));
  EXPECT_EQ(parse_workload(pack(pack(kJobs)), "jobs.csv").error().message,
            "jobs.csv: is compressed twice; unpack it once");
  EXPECT_EQ(
      parse_workload(pack("submit,duration\n0,x\n"), "jobs.csv").error().message.substr(0, 11),
      "jobs.csv:2:");
}

TEST_P(Decompress, WhatIsCutShortIsRefused) {
  const std::string whole = pack(kJobs);
  for (std::size_t cut = 4; cut < whole.size(); ++cut)
    EXPECT_NE(error_of(whole.substr(0, cut)).find("ends too soon"), std::string::npos) << cut;
}

TEST_P(Decompress, WhatIsDamagedIsRefused) {
  std::string spoilt = pack(kJobs);
  spoilt += "and some text";
  EXPECT_NE(error_of(spoilt).find("is damaged"), std::string::npos) << error_of(spoilt);
}

TEST_P(Decompress, ABombIsRefused) {
  const std::string bomb = pack(std::string(5'000'000, '0'));
  EXPECT_TRUE(error_of(bomb).empty()) << "small enough not to matter";
  EXPECT_NE(error_of(bomb, {.most_growth = 100, .unquestioned = 1'000'000})
                .find("unpacks to more than 1000000 bytes"),
            std::string::npos);
  EXPECT_NE(error_of(bomb, {.most_bytes = 4'999'999}).find("more than 4999999 bytes"),
            std::string::npos);
  EXPECT_TRUE(error_of(bomb, {.most_bytes = 5'000'000}).empty());
}

INSTANTIATE_TEST_SUITE_P(Of, Decompress, testing::Values(gzip, zstd),
                         [](const auto& test) { return test.index == 0 ? "gzip" : "zstd"; });

}  // namespace
}  // namespace trainyard
