// Gives free memory of the C library back to the system. In a daemon, buffers of all sizes are allocated and freed, and free
// pieces collect between used ones: after some tens of generations with reclaims, a third of the heap was free and still
// resident.
//
// Threads: any. Cost: some milliseconds, in which allocations wait for one arena of the heap at a time.
#pragma once

namespace dedupfs {

void give_back_idle_memory();
// The same, but at most once in half a minute.
void give_back_idle_memory_now_and_then();

}  // namespace dedupfs
