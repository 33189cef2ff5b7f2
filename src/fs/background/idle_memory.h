// Gives memory back to the system that the C library holds and nobody uses. Buffers of all sizes come and go in a daemon, so free pieces
// collect between those in use: after some tens of generations with reclaims a third of the heap was free and still resident.
//
// Threads: any. Cost: some milliseconds, in which allocations wait for one arena of the heap at a time.
#pragma once

namespace dedupfs {

void give_back_idle_memory();
// The same, unless it was done in the last half minute.
void give_back_idle_memory_now_and_then();

}  // namespace dedupfs
