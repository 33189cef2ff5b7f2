#include "base/printable.h"

#include <gtest/gtest.h>

#include <string>

namespace dedupfs {
namespace {

using namespace std::string_literals;

TEST(Printable, TextStaysAsItIs) {
  for (const std::string text : {"", "a b/c.txt", "Grüße", "日本", "😀", "\"'$"}) {
    EXPECT_TRUE(is_utf8(text)) << text;
    EXPECT_EQ(printable(text), text);
  }
}

TEST(Printable, EscapesWhatATerminalWouldObey) {
  EXPECT_EQ(printable("a\nb\tc\rd\\e"), R"(a\nb\tc\rd\\e)");
  EXPECT_EQ(printable("\x1b[31m"), R"(\033[31m)");
  EXPECT_EQ(printable("\x7f"), R"(\177)");
  EXPECT_EQ(printable("\xc2\x9b"), R"(\302\233)");          // CSI of the C1 block
  EXPECT_EQ(printable("\xe2\x80\xae"), R"(\342\200\256)");  // turns the direction of text
  EXPECT_EQ(printable("a\0b"s), R"(a\000b)");
}

TEST(Printable, EscapesBytesThatAreNotUtf8) {
  struct Case {
    std::string bytes, text;
  };
  const Case cases[] = {
      {"\xff", R"(\377)"},
      {"a\x80z", R"(a\200z)"},
      {"\xc3", R"(\303)"},                          // cut off
      {"\xc0\xaf", R"(\300\257)"},                  // overlong
      {"\xe0\x80\xaf", R"(\340\200\257)"},          // overlong
      {"\xed\xa0\x80", R"(\355\240\200)"},          // a surrogate
      {"\xf4\x90\x80\x80", R"(\364\220\200\200)"},  // behind the last
      {"\xf5\x80\x80\x80", R"(\365\200\200\200)"},
      {"\xc3(", R"(\303()"},
  };
  for (const Case& c : cases) {
    EXPECT_FALSE(is_utf8(c.bytes)) << c.text;
    EXPECT_EQ(printable(c.bytes), c.text);
  }
}

TEST(WithoutControlCharacters, IsOneLineWhateverAPathHolds) {
  EXPECT_EQ(without_control_characters("a\nREADY=1\x1b[0m\x7f"), "a?READY=1?[0m?");
}

}  // namespace
}  // namespace dedupfs
