// Looks for damage in the logs of RocksDB before it replays them, and tells it from the torn end that a power cut leaves.
//
// RocksDB gives up the rest of a block of 32 KiB at its first bad record. Where the type of a record is zero or that of a recycled log, it says
// nothing at all, in the strictest mode, too. So all records are checked here. In the block of the first bad record, whole ones are looked for
// byte by byte: the length of the bad record may be what is damaged.
// (rocksdb/db/log_format.h: blocks of 32 KiB, never a record over their bounds. Records begin with a checksum of 4 bytes, a length of 2, a
// type of 1. A batch begins with the number of its first change, 8 bytes, and how many it has, 4.)
//
// Whoever can put bytes into the last batch before a power cut, and knows the numbers of changes, can make a torn end look like damage. Then a
// mount refuses what it could have dropped; it never drops what it should have refused.
//
// Threads: a free function, safe from any thread. Writes nothing.
// Failure: that of listing, opening and reading; kCorruption names a log that is larger than any of dedupfs.
#pragma once

#include <cstdint>

#include "base/backing.h"
#include "base/result.h"

namespace dedupfs {

// How many changes lie in whole batches behind the first bad record of the logs in the folder of an index. 0: nothing was lost but, it may be, a
// torn end.
Result<std::uint64_t> changes_behind_damage(BackingFolder& index);

// Where the first bad record of a log begins, or its torn end. RocksDB must read no farther: not all versions of it come to an end there. A log
// whose size was not judged must not be given here.
Result<std::uint64_t> sound_end(const BackingFile& log);

}  // namespace dedupfs
