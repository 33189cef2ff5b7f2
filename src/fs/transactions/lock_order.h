// The levels of docs/namespace.md, "Order of the daemon's locks", as names for the declarations of locks. So clang finds a
// thread that takes a lock while it holds one of a later level, also if the two belong to different classes.
//
// A lock of a level is declared with DEDUPFS_ACQUIRED_AFTER(its level) and DEDUPFS_ACQUIRED_BEFORE(the next level). Nothing locks the
// levels themselves, and they are defined nowhere.
#pragma once

#include "base/thread_annotations.h"

namespace dedupfs::lock_order {

class DEDUPFS_CAPABILITY("level of locks") Level {};

extern const Level requests;                                   // 0: the gate of requests, operations on snapshots
extern const Level renames DEDUPFS_ACQUIRED_AFTER(requests);   // 1: the rename mutex
extern const Level quiescing DEDUPFS_ACQUIRED_AFTER(renames);  // 2: the gate of operations, flush_mutex
extern const Level names DEDUPFS_ACQUIRED_AFTER(quiescing);    // 3: the locks of names
extern const Level inodes DEDUPFS_ACQUIRED_AFTER(names);       // 4: the mutexes of inodes
extern const Level leaves DEDUPFS_ACQUIRED_AFTER(inodes);      // 5: nothing of the levels above is taken under these

}  // namespace dedupfs::lock_order
