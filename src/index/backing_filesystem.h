// The file system that RocksDB sees: the one folder that holds a database.
//
// RocksDB names files by paths. This splits a path below the folder into names, and looks each name up in the folder before it.
// Every other path is refused. So RocksDB touches only the folder that was opened, even if another one stands at its path by now.
//
// Threads: as Backing.
// Failure: errors become the IOStatus that RocksDB's own POSIX file system returns. It offers no mmap, direct I/O, preallocation
//          or modification times: Database uses none of them.
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
