// Low priority for background threads.
#pragma once

#include <unistd.h>

namespace dedupfs {

// Lowers the priority of this thread, for good. Only a little: others wait for it while it holds a lock or is in a transaction group.
inline void lower_priority_of_this_thread() {
  constexpr int kNicer = 5;
  (void)!::nice(kNicer);
}

}  // namespace dedupfs
