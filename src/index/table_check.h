// Judges everything in a table of the index, before RocksDB reads it. RocksDB believes much of a block whose checksum is right:
// that lengths fit, that keys are in order, that blocks lie behind each other. If they do not, an assertion ends the process.
// Without assertions, RocksDB reads foreign memory.
//
// It reads the whole table, so it is for an index that somebody else may have written.
//
// Threads: free function, safe from any thread.
// Failure: an Error says that the folder cannot be read.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "base/backing.h"
#include "base/result.h"

namespace dedupfs {

struct HarmfulTable {
  std::string name;
  std::string harm;  // for people: the file, and its fault
};

// Those that say what no table of dedupfs says, and that RocksDB would not notice. Damage that RocksDB tells by itself (a checksum that
// does not fit, a disk that fails) is no matter here: the rest of such a table is worth reading.
Result<std::vector<HarmfulTable>> harmful_tables(const std::shared_ptr<BackingFolder>& index);

}  // namespace dedupfs
