// What RocksDB takes for its file system: every file operation of it goes through a Backing, and nothing past it.
//
// Threads: as Backing. Failure: errors become the IOStatus that RocksDB's own POSIX file system would return; of what it does
// not offer (links aside: mmap, direct I/O, preallocation, modification times) nothing is used by Database.
#pragma once

#include <rocksdb/file_system.h>

#include <memory>

#include "base/backing.h"
#include "store/backing_files.h"

namespace dedupfs {

std::shared_ptr<rocksdb::FileSystem> make_backing_filesystem(
    std::shared_ptr<Backing> backing, std::shared_ptr<LostAppends> lost = std::make_shared<LostAppends>(0));

}  // namespace dedupfs
