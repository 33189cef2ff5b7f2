#include "store/seal/recovery_key.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cctype>
#include <string>
#include <string_view>

namespace dedupfs {
namespace {

std::string words_of(const Secret& secret) {
  return {secret.bytes().begin(), secret.bytes().end()};
}

Result<std::string> tidied(std::string_view typed) {
  const auto tidy = tidy_recovery_key(bytes_of(typed));
  if (!tidy) return tidy.error();
  return words_of(*tidy);
}

TEST(RecoveryKey, HasNineGroupsOfSymbolsThatPeopleDoNotMixUp) {
  const std::string key = words_of(make_recovery_key());

  EXPECT_THAT(key,
              testing::MatchesRegex("([0-9A-HJKMNP-TV-Z][0-9A-HJKMNP-TV-Z][0-9A-HJKMNP-TV-Z][0-9A-HJKMNP-TV-Z]-?)+"));
  EXPECT_EQ(key.size(), 44U);
  EXPECT_EQ(std::ranges::count(key, '-'), 8);
  EXPECT_NE(key, words_of(make_recovery_key()));
}

TEST(RecoveryKey, IsReadAsPeopleTypeIt) {
  const std::string key = words_of(make_recovery_key());
  EXPECT_EQ(tidied(key).value(), key);

  std::string typed;
  for (char symbol : key) {
    if (symbol == '-')
      typed += "  ";
    else if (symbol == '0')
      typed += 'o';
    else if (symbol == '1')
      typed += 'l';
    else
      typed += static_cast<char>(std::tolower(static_cast<unsigned char>(symbol)));
  }
  EXPECT_EQ(tidied(typed + "\n").value(), key);
}

TEST(RecoveryKey, FindsMistakes) {
  const std::string key = words_of(make_recovery_key());
  int missed = 0;
  for (std::size_t i = 0; i < key.size(); ++i) {
    if (key[i] == '-') continue;
    std::string wrong = key;
    wrong[i] = wrong[i] == '7' ? '8' : '7';
    const auto tidy = tidied(wrong);
    if (tidy)
      ++missed;
    else
      EXPECT_EQ(tidy.error().code(), ErrorCode::kInvalidArgument);
  }
  EXPECT_LE(missed, 1);  // one in a million is missed

  EXPECT_FALSE(tidied(key.substr(1)));
  EXPECT_FALSE(tidied(key + "7"));
  EXPECT_FALSE(tidied("a passphrase!"));
  EXPECT_FALSE(tidied(""));
}

// A printed key must open its volume for ever.
TEST(RecoveryKey, TheCheckStaysAsItIs) {
  EXPECT_EQ(tidied("0123456789abcdefghjkmnpqrstvwxyzmcw2").value(), "0123-4567-89AB-CDEF-GHJK-MNPQ-RSTV-WXYZ-MCW2");
}

}  // namespace
}  // namespace dedupfs
