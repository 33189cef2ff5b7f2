// For threads that work in the background for nobody who waits.
#pragma once

#include <unistd.h>

namespace dedupfs {

// This thread alone, on Linux, and for good. Not much: others wait for it where it holds a lock or is within a transaction group.
inline void lower_priority_of_this_thread() {
  constexpr int kNicer = 5;
  (void)!::nice(kNicer);
}

}  // namespace dedupfs
