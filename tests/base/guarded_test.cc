#include "base/guarded.h"

#include <gtest/gtest.h>

#include <new>
#include <stdexcept>
#include <string>

namespace dedupfs {
namespace {

std::string reported_error;

void keep_report(const char* where, const Error& error) {
  reported_error = std::string(where) + ": " + error.message();
}

class Reports {
 public:
  Reports() {
    reported_error.clear();
    set_error_report(&keep_report);
  }
  Reports(const Reports&) = delete;
  Reports& operator=(const Reports&) = delete;
  ~Reports() { set_error_report(nullptr); }
};

TEST(Guarded, ReturnsTheResultOfTheBody) {
  EXPECT_EQ(guarded([]() -> Result<int> { return 7; }).value(), 7);
  EXPECT_EQ(guarded([]() -> Result<int> { return Error{ErrorCode::kBusy, "locked"}; }).error().message(), "locked");
}

TEST(Guarded, MakesAnErrorOfAnException) {
  const auto no_memory = guarded([]() -> Result<void> { throw std::bad_alloc(); });
  const auto other = guarded([]() -> Result<void> { throw std::runtime_error("a bug"); });

  EXPECT_EQ(no_memory.error().code(), ErrorCode::kNoMemory);
  EXPECT_EQ(other.error().code(), ErrorCode::kIo);
  EXPECT_EQ(other.error().message(), "unexpected: a bug");
}

TEST(Survive, ReportsAnExceptionAndGoesOn) {
  const Reports reports;

  EXPECT_FALSE(survive("cleaning", [] { throw std::bad_alloc(); }));

  EXPECT_EQ(reported_error, "cleaning: out of memory");
}

TEST(Survive, SaysNothingOfSuccess) {
  const Reports reports;

  EXPECT_TRUE(survive("cleaning", [] {}));

  EXPECT_EQ(reported_error, "");
}

}  // namespace
}  // namespace dedupfs
