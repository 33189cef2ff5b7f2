// How the database of a volume configures RocksDB. For database*.cc alone.
#pragma once

#include <rocksdb/compaction_filter.h>
#include <rocksdb/env.h>
#include <rocksdb/options.h>

#include <array>
#include <atomic>
#include <cstdint>
#include <memory>

#include "index/backing_filesystem.h"
#include "index/family.h"
#include "index/rocksdb_cache.h"

namespace dedupfs {

// Lets compactions drop super-features of chunks that are too old.
class FeatureFilter final : public rocksdb::CompactionFilter {
 public:
  const char* Name() const override { return "dedupfs.features"; }
  bool Filter(int level, const rocksdb::Slice& key, const rocksdb::Slice& value, std::string* changed,
              bool* is_changed) const override;

  std::atomic<std::uint64_t> oldest_id = 0;
};

struct DatabaseOptions {
  std::shared_ptr<rocksdb::Env> env;  // files in the one folder; the opener of a database keeps it
  std::shared_ptr<LostAppends> lost_appends;
  std::shared_ptr<rocksdb::Cache> memory;  // blocks, filters, indexes, write buffers: everything is charged to it
  std::shared_ptr<FeatureFilter> feature_filter;  // the family's options point to it
  rocksdb::DBOptions database;
  std::array<rocksdb::ColumnFamilyOptions, kFamilyCount> families;
};

// Whether tables of the family have filters, and their size.
bool is_filtered(Family family);
inline constexpr std::uint64_t kFilterBytesOf8Keys = 9;

// `memory_bytes`: at least Database::kMinMemoryBytes.
DatabaseOptions make_database_options(std::uint64_t memory_bytes, const std::shared_ptr<BackingFolder>& folder);

}  // namespace dedupfs
