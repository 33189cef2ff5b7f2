// What RocksDB takes for its file system: the one folder that holds a database.
//
// RocksDB calls files by paths. A path that begins with the path of the folder is taken apart into names, each of which is looked
// up in the folder before it; every other path is refused. So RocksDB touches nothing but the folder that was opened, whatever
// stands at its path by now.
//
// Threads: as Backing. Failure: errors become the IOStatus that RocksDB's own POSIX file system would return; of what it does
// not offer (links aside: mmap, direct I/O, preallocation, modification times) nothing is used by Database.
#pragma once

#include <rocksdb/file_system.h>

#include <memory>

#include "base/backing.h"
#include "index/backing_files.h"

namespace dedupfs {

std::shared_ptr<rocksdb::FileSystem> make_backing_filesystem(
    std::shared_ptr<BackingFolder> folder, std::shared_ptr<LostAppends> lost = std::make_shared<LostAppends>(0),
    std::shared_ptr<const BlockMemory> memory = std::make_shared<const BlockMemory>());

}  // namespace dedupfs
