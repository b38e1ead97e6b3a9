#include "base/visible_text.h"

#include <gtest/gtest.h>

#include "base/random.h"

namespace trainyard {
namespace {

TEST(VisibleText, WhatIsPrintableIsShownAsItIs) {
  for (const char* text : {"", "train resnet", "café", "日本語", "ελ", "a\\b", "😀", "\u2013"}) {
    EXPECT_EQ(visible(text), text);
    EXPECT_TRUE(is_visible(text));
  }
}

TEST(VisibleText, WhatATerminalActsOnOrHidesIsEscaped) {
  const std::pair<std::string, std::string> cases[] = {
      {"a\x1b[2Jb", "a\\x1b[2Jb"},
      {"a\nb\r\t", "a\\x0ab\\x0d\\x09"},
      {std::string("a\0b", 3), "a\\x00b"},
      {"\x7f", "\\x7f"},
      {"\u009b2J", "\\u{009b}2J"},                  // C1: CSI in one character
      {"\x9b", "\\x9b"},                            // ... and in one byte, which is no UTF-8
      {"ada\u202egpj.exe", "ada\\u{202e}gpj.exe"},  // right-to-left override
      {"\u2066x\u2069", "\\u{2066}x\\u{2069}"},     // isolates
      {"ro\u200bot", "ro\\u{200b}ot"},              // zero-width space
      {"\ufeffx", "\\u{feff}x"},                    // byte-order mark
      {"a\u2028b\u2029", "a\\u{2028}b\\u{2029}"},
      {"a\u00adb", "a\\u{00ad}b"},   // soft hyphen
      {"\U000e0041", "\\u{e0041}"},  // tag
      {"\xff", "\\xff"},
      {"\xc0\xaf", "\\xc0\\xaf"},           // overlong
      {"\xe0\x80\xaf", "\\xe0\\x80\\xaf"},  // overlong
      {"\xed\xa0\x80", "\\xed\\xa0\\x80"},  // a surrogate
      {"\xf4\x90\x80\x80", "\\xf4\\x90\\x80\\x80"},
      {"x\xe2\x82", "x\\xe2\\x82"},  // cut off
  };
  for (const auto& [text, shown] : cases) {
    EXPECT_EQ(visible(text), shown);
    EXPECT_FALSE(is_visible(text)) << shown;
    EXPECT_TRUE(is_visible(visible(text))) << shown;
  }
}

std::string streamed(std::string_view text, std::size_t each) {
  VisibleStream stream;
  std::string shown;
  for (; !text.empty(); text.remove_prefix(std::min(each, text.size())))
    shown += stream.take(text.substr(0, each));
  return shown + stream.finish();
}

TEST(VisibleStream, ColoursAndLinesPassAndOtherSequencesAreShown) {
  const std::pair<std::string, std::string> cases[] = {
      {"epoch 1\r\nloss\t2\n", "epoch 1\r\nloss\t2\n"},
      {"\x1b[32mok\x1b[0m\n", "\x1b[32mok\x1b[0m\n\x1b[0m"},
      {"\x1b[1;38;5;8mgrey", "\x1b[1;38;5;8mgrey\x1b[0m"},
      {"\x1b[38;2;8;8;8mgrey", "\x1b[38;2;8;8;8mgrey\x1b[0m"},
      {"\x1b[8mhidden", "\\x1b[8mhidden"},
      {"\x1b[0;8mhidden", "\\x1b[0;8mhidden"},
      {"\x1b[2J", "\\x1b[2J"},
      {"\x1b]0;title\a", "\\x1b]0;title\\x07"},
      {"\x1b]52;c;cm0gLXJm\x1b\\", "\\x1b]52;c;cm0gLXJm\\x1b\\"},
      {"\x1b[6n\b", "\\x1b[6n\\x08"},
      {"\u009b31m", "\\u{009b}31m"},
      {"caf\u00e9 \u202ex", "caf\u00e9 \\u{202e}x"},
      {"\x1b[" + std::string(100, '1') + "m", "\\x1b[" + std::string(100, '1') + "m"},
      {"cut \x1b[3", "cut \\x1b[3"},
      {"cut \xe2\x82", "cut \\xe2\\x82"},
  };
  for (const auto& [text, shown] : cases)
    for (const std::size_t each : {1, 2, 3, 5, 1000}) EXPECT_EQ(streamed(text, each), shown);
}

/// Whatever comes, in whatever parts: nothing but colours begins with an escape character.
TEST(VisibleStream, RandomBytesNeverControlATerminal) {
  for (std::uint64_t seed = 1; seed <= 300; ++seed) {
    Random lots(seed, 1);
    std::string text;
    const std::string letters = "\x1b[]0123;:mJ8\xc2\x9b\xe2\x80\xaeH\a\\";
    for (std::uint64_t i = lots.below(60); i > 0; --i) text += letters[lots.below(letters.size())];
    const std::string shown = streamed(text, 1 + lots.below(7));
    SCOPED_TRACE(seed);
    EXPECT_EQ(shown, streamed(text, 1000));
    for (std::size_t i = 0; i < shown.size(); ++i) {
      const auto byte = static_cast<unsigned char>(shown[i]);
      if (byte != 0x1b) {
        EXPECT_TRUE(byte >= 0x20 && byte != 0x7f) << i;
        continue;
      }
      const std::size_t end = shown.find_first_not_of("0123456789;:", i + 2);
      ASSERT_TRUE(shown[i + 1] == '[' && end != std::string::npos && shown[end] == 'm') << shown;
    }
  }
}

}  // namespace
}  // namespace trainyard
