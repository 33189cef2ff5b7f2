#include "base/memory_reserve.h"

#include <gtest/gtest.h>

#include <new>

namespace dedupfs {
namespace {

// operator new calls the handler when there is no memory, and tries again when the handler returns.
TEST(MemoryReserve, IsGivenUpOnceAndThenTakenAgain) {
  EXPECT_TRUE(memory_reserve_is_whole());  // none is installed
  install_memory_reserve(1 << 20);
  const std::new_handler handler = std::get_new_handler();
  ASSERT_NE(handler, nullptr);

  EXPECT_NO_THROW(handler());
  EXPECT_THROW(handler(), std::bad_alloc);  // nothing is left to give

  EXPECT_TRUE(memory_reserve_is_whole());  // takes it again
  EXPECT_NO_THROW(handler());

  std::set_new_handler(nullptr);
}

}  // namespace
}  // namespace dedupfs
