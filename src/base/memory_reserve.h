// Memory that is given up when there is none left, so that what is under way can end well. Until it is back, who could begin
// something new should refuse to.
//
// It helps against a limit (ulimit -v, strict overcommit), where an allocation fails. Against a cgroup's limit nothing helps: the
// kernel ends the process there.
//
// Threads: every function from any thread.
#pragma once

#include <cstddef>

namespace dedupfs {

// Takes the reserve, and becomes the handler of operator new.
void install_memory_reserve(std::size_t bytes);
// False: it was given up, and cannot be had again yet. True without an installed one.
bool memory_reserve_is_whole() noexcept;

}  // namespace dedupfs
