#include "base/result.h"

#include <gtest/gtest.h>

#include <cerrno>
#include <set>
#include <string>

namespace dedupfs {
namespace {

Result<int> half_of(int number) {
  if (number % 2 != 0) return Error{ErrorCode::kInvalidArgument, "odd"};
  return number / 2;
}

Result<int> quarter_of(int number) {
  DEDUPFS_ASSIGN(const int half, half_of(number));
  DEDUPFS_TRY(half_of(half));
  return half / 2;
}

TEST(Result, MacrosPassTheValueOrTheErrorOn) {
  EXPECT_EQ(quarter_of(12).value(), 3);
  EXPECT_EQ(quarter_of(7).error().message(), "odd");
  EXPECT_EQ(quarter_of(6).error().code(), ErrorCode::kInvalidArgument);
}

TEST(Error, OfASystemCallHasItsCodeAndNamesTheObject) {
  EXPECT_EQ(Error::from_errno(ENOENT, "/x").code(), ErrorCode::kNotFound);
  EXPECT_EQ(Error::from_errno(EDQUOT, "/x").code(), ErrorCode::kNoSpace);
  EXPECT_EQ(Error::from_errno(ECONNRESET, "/x").code(), ErrorCode::kIo);
  EXPECT_EQ(Error::from_errno(ENOENT, "/x").message(), "/x: No such file or directory");
}

TEST(Error, WithContextKeepsTheCodeAndPutsTheContextInFront) {
  const Error error = Error{ErrorCode::kBusy, "locked"}.with("opening /v");

  EXPECT_EQ(error.code(), ErrorCode::kBusy);
  EXPECT_EQ(error.message(), "opening /v: locked");
}

TEST(ErrorCode, EachHasANameOfItsOwn) {
  std::set<std::string_view> names;
  for (int code = 0; code <= static_cast<int>(ErrorCode::kCrossesTrees); ++code)
    EXPECT_TRUE(names.insert(name_of(static_cast<ErrorCode>(code))).second) << code;
  EXPECT_FALSE(names.contains("unknown error"));
}

}  // namespace
}  // namespace dedupfs
