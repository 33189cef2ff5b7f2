#include "replica/store_patience.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>

namespace dedupfs {
namespace {

using testing::HasSubstr;

class StorePatience : public testing::Test {
 protected:
  ~StorePatience() override { ::unsetenv(kStorePatienceVariable); }
  static Result<std::chrono::seconds> of(const char* text) {
    ::setenv(kStorePatienceVariable, text, 1);
    return store_patience();
  }
};

TEST_F(StorePatience, IsAMinuteUnlessTheEnvironmentSaysMore) {
  ::unsetenv(kStorePatienceVariable);
  EXPECT_EQ(store_patience().value(), std::chrono::minutes(1));
  EXPECT_EQ(of("").value(), std::chrono::minutes(1));
  EXPECT_EQ(of("1").value(), std::chrono::seconds(1));
  EXPECT_EQ(of("3600").value(), std::chrono::hours(1));
}

TEST_F(StorePatience, RefusesWhatIsNoNumberOfSeconds) {
  for (const char* const text : {"0", "-5", "3601", "10s", " 10", "ten", "99999999999999999999"}) {
    const auto refused = of(text);
    ASSERT_FALSE(refused) << text;
    EXPECT_EQ(refused.error().code(), ErrorCode::kInvalidArgument);
    EXPECT_THAT(refused.error().message(), HasSubstr(std::string("DEDUPFS_STORE_PATIENCE is '") + text));
  }
}

}  // namespace
}  // namespace dedupfs
