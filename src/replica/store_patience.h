// How long one waits for a store that does not answer, or does not take what it gets.
//
// Threads: free functions, safe from any thread.
// Failure: kInvalidArgument for a setting that is no number of seconds.
#pragma once

#include <chrono>

#include "base/result.h"

namespace dedupfs {

inline constexpr const char* kStorePatienceVariable = "DEDUPFS_STORE_PATIENCE";
inline constexpr std::chrono::seconds kStorePatience{60};
inline constexpr std::chrono::seconds kLongestStorePatience{3600};

// As the environment has it, from 1 second to an hour; kStorePatience if it says nothing.
Result<std::chrono::seconds> store_patience();

}  // namespace dedupfs
