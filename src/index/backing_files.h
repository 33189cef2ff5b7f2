// The files of RocksDB, each kind as it must lie on the disk; see backing_filesystem.h.
#pragma once

#include <rocksdb/file_system.h>

#include <atomic>
#include <cstdint>
#include <memory>
#include <string>

#include "base/backing.h"
#include "index/index_guard.h"

namespace dedupfs {

// Counts appends to logs that had ended already. Those bytes are lost. See LogFile.
using LostAppends = std::atomic<std::uint64_t>;

rocksdb::IOStatus status_of(const Error& error);
template <class T>
rocksdb::IOStatus status_of(const Result<T>& result) {
  return result ? rocksdb::IOStatus::OK() : status_of(result.error());
}

rocksdb::IOStatus open_sequential(BackingFolder& folder, const std::string& name,
                                  std::unique_ptr<rocksdb::FSSequentialFile>* result);
// A table, or CURRENT.
rocksdb::IOStatus open_random_access(BackingFolder& folder, const std::string& name,
                                     const std::shared_ptr<const BlockMemory>& memory,
                                     std::unique_ptr<rocksdb::FSRandomAccessFile>* result);
// `empty`: removes its old content.
rocksdb::IOStatus open_writable(BackingFolder& folder, const std::string& name, Backing::Mode mode, bool empty,
                                const rocksdb::FileOptions& options, std::unique_ptr<rocksdb::FSWritableFile>* result);
rocksdb::IOStatus open_log(BackingFolder& folder, const std::string& name, const std::shared_ptr<LostAppends>& lost,
                           const rocksdb::FileOptions& options, std::unique_ptr<rocksdb::FSWritableFile>* result);

}  // namespace dedupfs
