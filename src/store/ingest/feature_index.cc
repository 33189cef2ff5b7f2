#include "store/ingest/feature_index.h"

#include <algorithm>
#include <array>
#include <optional>

#include "base/check.h"
#include "base/coding.h"
#include "store/chunks/chunk_index.h"

namespace dedupfs {
namespace {

// The part of a super-feature's 64 bits that is the key. With a thousand million chunks, one look-up in some hundred meets an
// unrelated chunk. That costs an attempt at a delta.
constexpr int kKeyBytes = 5;
constexpr std::size_t kForgottenTogetherBytes = 1 << 20;
// A key and its value, as RocksDB stores them; measured.
constexpr std::uint64_t kDiskBytesPerChunk = 16 * kSuperFeatures;

std::uint64_t key_number(std::uint64_t super_feature) {
  return super_feature >> (64 - 8 * kKeyBytes);
}

std::string encode_key(std::uint64_t number) {
  std::string key;
  Encoder(key).big_u64(number);
  return key.substr(sizeof number - kKeyBytes);
}

}  // namespace

FeatureIndex::FeatureIndex(Database& database, std::uint64_t disk_bytes)
    : database_(database), max_ids_(std::max<std::uint64_t>(disk_bytes / kDiskBytesPerChunk, 1)) {}

Result<std::vector<ChunkId>> FeatureIndex::find(const Sketch& sketch) const {
  std::vector<ChunkId> found;
  for (const std::uint64_t super_feature : sketch.super_features) {
    const std::uint64_t number = key_number(super_feature);
    std::optional<ChunkId> id;
    {
      const ReaderLock lock(mutex_);
      for (const Group* group : {&open_, &frozen_}) {
        if (id) break;
        if (const auto entry = group->find(number); entry != group->end()) id = entry->second;
      }
    }
    if (!id) {
      DEDUPFS_ASSIGN(const auto value, database_.get(Family::kFeatureIndex, encode_key(number)));
      if (!value) continue;
      DEDUPFS_ASSIGN(id, decode_chunk_id(*value));
    }
    found.push_back(*id);
  }
  // Few: counting is quicker than anything clever.
  const std::vector<ChunkId> all = found;
  std::ranges::sort(found, [&](ChunkId a, ChunkId b) {
    const auto shared_by_a = std::ranges::count(all, a);
    const auto shared_by_b = std::ranges::count(all, b);
    return shared_by_a != shared_by_b ? shared_by_a > shared_by_b : a > b;
  });
  found.erase(std::unique(found.begin(), found.end()), found.end());
  return found;
}

void FeatureIndex::insert(const Sketch& sketch, ChunkId id) {
  const WriterLock lock(mutex_);
  for (const std::uint64_t super_feature : sketch.super_features) open_[key_number(super_feature)] = id;
  newest_ = std::max(newest_, number_of(id));
}

// This may lose entries that a commit puts meanwhile. That costs only a delta.
Result<void> FeatureIndex::forget(const std::function<bool(ChunkId)>& is_dead) {
  Result<void> result;
  Database::Batch batch(database_);
  const auto snapshot = database_.snapshot();
  DEDUPFS_TRY(database_.walk(*snapshot, Family::kFeatureIndex, [&](std::string_view key, std::string_view value) {
    const auto id = decode_chunk_id(value);
    if (id && !is_dead(*id)) return true;
    batch.erase(Family::kFeatureIndex, key);
    if (batch.size_bytes() < kForgottenTogetherBytes) return true;
    result = database_.write(batch);
    batch = Database::Batch(database_);
    return result.has_value();
  }));
  DEDUPFS_TRY(result);
  return batch.empty() ? Result<void>() : database_.write(batch);
}

void FeatureIndex::freeze() {
  const WriterLock lock(mutex_);
  DEDUPFS_CHECK(frozen_.empty());  // Volume::freeze() follows a commit
  std::swap(open_, frozen_);
  newest_frozen_ = newest_;
}

Result<void> FeatureIndex::append_to(Database::Batch& batch) {
  const ReaderLock lock(mutex_);
  for (const auto& [number, id] : frozen_) batch.put(Family::kFeatureIndex, encode_key(number), encode_chunk_id(id));
  return {};
}

void FeatureIndex::committed() {
  Group dropped;  // outlives the lock: freeing it takes a while
  const WriterLock lock(mutex_);
  std::swap(frozen_, dropped);
  if (newest_frozen_ > max_ids_) database_.forget_features_before(newest_frozen_ - max_ids_);
}

std::size_t FeatureIndex::open_bytes() const {
  static constexpr std::size_t kBytesPerEntry = 48;
  const ReaderLock lock(mutex_);
  return open_.size() * kBytesPerEntry;
}

}  // namespace dedupfs
