// A reserve of memory that is freed when memory runs out, so that running operations can finish. Until the reserve is back, callers
// should refuse new operations.
//
// It helps against limits that make an allocation fail (ulimit -v, strict overcommit). At the limit of a cgroup the kernel kills
// the process instead.
//
// Threads: every function from any thread.
#pragma once

#include <cstddef>

namespace dedupfs {

// Allocates the reserve, and installs the handler of operator new.
void install_memory_reserve(std::size_t bytes);
// False: the reserve is used, and cannot be allocated again yet. True without an installed reserve.
bool memory_reserve_is_whole() noexcept;

}  // namespace dedupfs
