#include "index/database_options.h"

#include <rocksdb/convenience.h>
#include <rocksdb/env.h>
#include <rocksdb/filter_policy.h>
#include <rocksdb/listener.h>
#include <rocksdb/table.h>
#include <rocksdb/write_buffer_manager.h>
#include <spdlog/spdlog.h>

#include <algorithm>
#include <array>
#include <cstdarg>
#include <cstdio>
#include <limits>
#include <utility>

#include "base/coding.h"

namespace dedupfs {
namespace {

// RocksDB's warnings go to our log. Without it RocksDB would write a file LOG into the volume, even on opening it
// read-only.
class LogBridge final : public rocksdb::Logger {
 public:
  LogBridge() : Logger(rocksdb::WARN_LEVEL) {}

  using Logger::Logv;
  void Logv(const char* format, va_list arguments) override { Logv(rocksdb::INFO_LEVEL, format, arguments); }
  void LogHeader(const char* /*format*/, va_list /*arguments*/) override {}  // pages of options at every start
  void Logv(const rocksdb::InfoLogLevel level, const char* format, va_list arguments) override {
    if (level < GetInfoLogLevel()) return;
    std::array<char, 1024> line;
    std::vsnprintf(line.data(), line.size(), format, arguments);
    spdlog::log(level >= rocksdb::ERROR_LEVEL ? spdlog::level::err : spdlog::level::warn, "index: {}", line.data());
  }
};

// Left alone, RocksDB takes a full disk for cured only when as much is free as all write buffers can hold, looks for
// that every few seconds, and refuses Resume() meanwhile. Database::write() resumes by itself.
class NoAutomaticRecovery final : public rocksdb::EventListener {
 public:
  void OnErrorRecoveryBegin(rocksdb::BackgroundErrorReason /*reason*/, rocksdb::Status /*error*/,
                            bool* automatic) override {
    *automatic = false;
  }
};

struct Traits {
  bool filtered;    // asked for single keys that are often absent
  bool compressed;  // worth it: fingerprints and features are random bytes
};

Traits traits_of(Family family) {
  switch (family) {
    case Family::kFingerprints: return {.filtered = true, .compressed = true};
    case Family::kFeatureIndex: return {.filtered = true, .compressed = true};
    case Family::kChunks: return {.filtered = false, .compressed = true};  // by find_at_or_before() only
    case Family::kInodes: return {.filtered = false, .compressed = true};  // nobody asks for an inode that is not there
    case Family::kDirents: return {.filtered = true, .compressed = true};  // every create looks its name up first
    case Family::kCookies: return {.filtered = false, .compressed = true};  // by list() only
    case Family::kXattrs: return {.filtered = true, .compressed = true};  // the kernel asks for security.* all the time
    case Family::kRecipes: return {.filtered = false, .compressed = true};  // by find_at_or_before() and list()
    case Family::kOrphans: return {.filtered = false, .compressed = false};
    case Family::kCounters: return {.filtered = false, .compressed = false};
    case Family::kSnapshots: return {.filtered = false, .compressed = false};
    case Family::kBeforeImages: return {.filtered = true, .compressed = true};  // each change asks whether there is one
  }
  return {};
}

// The best that the library was built with: distributions differ.
rocksdb::CompressionType best_compression() {
  const auto supported = rocksdb::GetSupportedCompressions();
  for (const auto wanted : {rocksdb::kZSTD, rocksdb::kLZ4Compression})
    if (std::ranges::find(supported, wanted) != supported.end()) return wanted;
  return rocksdb::kNoCompression;
}

rocksdb::BlockBasedTableOptions table_options(const Traits& traits, const std::shared_ptr<rocksdb::Cache>& memory) {
  rocksdb::BlockBasedTableOptions table;
  table.block_cache = memory;
  // Indexes and filters in the cache, in pieces that come and go as blocks do: otherwise they would grow with the
  // volume, outside of any cap. Only the small index above the pieces stays.
  table.cache_index_and_filter_blocks = true;
  table.cache_index_and_filter_blocks_with_high_priority = true;
  table.index_type = rocksdb::BlockBasedTableOptions::kTwoLevelIndexSearch;
  table.metadata_cache_options.top_level_index_pinning = rocksdb::PinningTier::kAll;
  // RocksDB reads single blocks only, so that index_guard.h can judge each. The kernel reads ahead.
  table.format_version = 5;
  table.initial_auto_readahead_size = 0;
  table.max_auto_readahead_size = 0;
  table.block_size = traits.compressed ? 16 << 10 : 4 << 10;
  if (traits.filtered) {
    // Ribbon takes 1.13 bytes a key where Bloom takes 1.50, at the same rate of false positives. It was 10 % slower for absent
    // keys (1.67 against 1.86 million a second; RocksDB 7.8.3, 10 million keys of 32 bytes, one thread). Fresh tables from a
    // flush get Bloom, because Ribbon is slower to build.
    table.filter_policy.reset(rocksdb::NewRibbonFilterPolicy(10));
    table.partition_filters = true;
  }
  return table;
}

rocksdb::ColumnFamilyOptions family_options(Family family, const std::shared_ptr<rocksdb::Cache>& memory,
                                            std::size_t write_buffer_bytes) {
  const Traits traits = traits_of(family);
  rocksdb::ColumnFamilyOptions options;
  options.table_factory.reset(rocksdb::NewBlockBasedTableFactory(table_options(traits, memory)));
  options.compression = traits.compressed ? best_compression() : rocksdb::kNoCompression;
  options.bottommost_compression = options.compression;
  options.level_compaction_dynamic_level_bytes =
      true;  // the last level holds 90 %: the least space for overwritten records
  options.write_buffer_size = write_buffer_bytes;
  options.max_write_buffer_number = 2;
  options.arena_block_size = std::min<std::size_t>(write_buffer_bytes / 8, 256 << 10);  // a family takes at least one
  return options;
}

}  // namespace

bool is_filtered(Family family) {
  return traits_of(family).filtered;
}

bool FeatureFilter::Filter(int /*level*/, const rocksdb::Slice& /*key*/, const rocksdb::Slice& value,
                           std::string* /*changed*/, bool* /*is_changed*/) const {
  Decoder decoder(value.ToStringView());
  const std::uint64_t chunk = decoder.varint();
  return !decoder.ok_at_end() || chunk < oldest_id.load(std::memory_order_relaxed);
}

DatabaseOptions make_database_options(std::uint64_t memory_bytes, const std::shared_ptr<BackingFolder>& folder) {
  DatabaseOptions options;

  options.lost_appends = std::make_shared<LostAppends>(0);
  const auto blocks = std::make_shared<BlockMemory>();
  options.env = rocksdb::NewCompositeEnv(make_backing_filesystem(folder, options.lost_appends, blocks));
  options.database.env = options.env.get();

  rocksdb::LRUCacheOptions cache;
  cache.capacity = memory_bytes;
  cache.memory_allocator = blocks;
  options.memory = rocksdb::NewLRUCache(cache);
  const std::size_t write_buffers_bytes = memory_bytes / 4;

  rocksdb::DBOptions& database = options.database;
  database.write_buffer_manager = std::make_shared<rocksdb::WriteBufferManager>(write_buffers_bytes, options.memory);
  database.info_log = std::make_shared<LogBridge>();
  database.info_log_level = rocksdb::WARN_LEVEL;

  database.listeners.push_back(std::make_shared<NoAutomaticRecovery>());
  database.max_bgerror_resume_count = 0;

  // The possible results of a crash. Every batch is synced before write() returns and before the next one begins. So only the
  // last batch of the log can be torn, and nobody was told that it is durable. It may be cut off, zeros, or have pages in any
  // mixture of old and new. kPointInTimeRecovery ends the replay there. kTolerateCorruptedTailRecords forgives only a log that is
  // cut off. It would refuse to open after a power cut that left a page of zeros inside the last batch. The price: earlier
  // damage, which is no tear, would end the replay, too. Database::open() looks for that itself.
  database.wal_recovery_mode = rocksdb::WALRecoveryMode::kPointInTimeRecovery;
  database.track_and_verify_wals_in_manifest = true;  // a log that is gone or cut off, but for the last, is an error
  database.paranoid_checks = true;
  database.create_missing_column_families = true;                           // volumes of before there were snapshots
  database.max_total_wal_size = std::numeric_limits<std::uint64_t>::max();  // Database::write() flushes in time
  database.recycle_log_file_num = 0;  // old records behind the end of the log would blur where it ends

  // Nothing is flushed by the way when it is closed: DatabaseState does that, and may have to close one that cannot flush any more.
  database.avoid_flush_during_shutdown = true;

  // A small volume stays small: no preallocated files.
  database.allow_fallocate = false;
  database.manifest_preallocation_size = 64 << 10;
  database.max_manifest_file_size = 4 << 20;

  // One process, often on a small machine, with thousands of other files to open.
  database.max_open_files = 256;
  database.max_file_opening_threads = 1;
  database.max_background_jobs = 2;
  database.skip_stats_update_on_db_open = true;
  database.compaction_readahead_size = 0;  // as with auto_readahead_size above
  database.stats_dump_period_sec = 0;
  database.stats_persist_period_sec = 0;
  database.db_host_id = "";  // a volume does not tell where it was written

  // One thread writes, at commit: nothing to coordinate.
  database.allow_concurrent_memtable_write = false;
  database.enable_write_thread_adaptive_yield = false;

  for (std::size_t i = 0; i < kFamilyCount; ++i)
    options.families[i] = family_options(static_cast<Family>(i), options.memory, write_buffers_bytes / 2);
  options.feature_filter = std::make_shared<FeatureFilter>();
  options.families[static_cast<std::size_t>(Family::kFeatureIndex)].compaction_filter = options.feature_filter.get();
  return options;
}

}  // namespace dedupfs
