#pragma once

#include <gtest/gtest.h>

#include <utility>

#include "bench/input.h"

namespace dedupfs::bench {

// The input of that name ("random:5m"), loaded; a failed test where that fails.
inline Input loaded(const char* name) {
  auto plan = plan_input(name);
  EXPECT_TRUE(plan);
  auto input = load_input(*plan);
  EXPECT_TRUE(input);
  return std::move(*input);
}

}  // namespace dedupfs::bench
