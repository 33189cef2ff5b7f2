// How the database of a volume configures RocksDB. For database.cc alone.
#pragma once

#include <rocksdb/cache.h>
#include <rocksdb/options.h>

#include <array>
#include <cstdint>
#include <memory>

#include "store/database.h"

namespace dedupfs {

struct DatabaseOptions {
  std::shared_ptr<rocksdb::Cache> memory;  // blocks, filters, indexes, write buffers: everything is charged to it
  rocksdb::DBOptions database;
  std::array<rocksdb::ColumnFamilyOptions, kFamilyCount> families;
};

DatabaseOptions make_database_options(std::uint64_t memory_bytes);

}  // namespace dedupfs
