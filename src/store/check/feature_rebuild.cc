#include "store/check/feature_rebuild.h"

#include <memory>
#include <string>

#include "base/isa.h"
#include "delta/resemblance.h"
#include "store/chunks/chunk_reader.h"
#include "store/chunks/pending_chunks.h"
#include "store/ingest/feature_index.h"

namespace dedupfs {
namespace {

constexpr std::size_t kFeatureRebuildCacheBytes = 64 << 20;
constexpr std::size_t kWrittenTogetherBytes = 16 << 20;
constexpr std::size_t kFeaturesErasedTogether = 1 << 14;

Result<void> erase_all(Database& database) {
  for (;;) {
    DEDUPFS_ASSIGN(const auto entries, database.list(Family::kFeatureIndex, {}, {}, kFeaturesErasedTogether));
    if (entries.empty()) return {};
    Database::Batch batch(database);
    for (const auto& [key, value] : entries) batch.erase(Family::kFeatureIndex, key);
    DEDUPFS_TRY(database.write(batch));
  }
}

Result<void> commit(Database& database, FeatureIndex& features) {
  features.freeze();
  Database::Batch batch(database);
  DEDUPFS_TRY(features.append_to(batch));
  if (!batch.empty()) DEDUPFS_TRY(database.write(batch));
  features.committed();
  return {};
}

}  // namespace

Result<FeatureRebuild> rebuild_feature_index(Volume& volume) {
  const DeltaSettings& settings = volume.superblock().delta;
  if (!settings.enabled())
    return Error{ErrorCode::kInvalidArgument,
                 volume.path().string() + " has no similarity index: it was created with --delta none"};
  return rebuild_feature_index(volume.containers(), volume.database(), settings, no_progress, 0, 0);
}

Result<FeatureRebuild> rebuild_feature_index(const ContainerStore& containers, Database& database,
                                             const DeltaSettings& settings, const Progress& progress, int pass,
                                             std::uint64_t end_of_chunks) {
  DEDUPFS_ASSIGN(const Isa isa, default_isa());
  DEDUPFS_ASSIGN(const auto detector, make_resemblance_detector(settings.method, isa));
  DEDUPFS_TRY(erase_all(database));

  const PendingChunks nothing_pending;
  ChunkReader reader(containers, database, nothing_pending, kFeatureRebuildCacheBytes);
  FeatureIndex features(database, settings.index_bytes);
  FeatureRebuild rebuilt;
  const auto index_extent = [&](const ChunkExtent& extent) -> Result<void> {
    DEDUPFS_TRY(progress(pass, number_of(extent.first), end_of_chunks));
    for (std::size_t i = 0; i < extent.chunks.size(); ++i) {
      const ChunkId id = extent.id_of(i);
      const auto chunk = reader.get(id);
      if (!chunk) {
        ++rebuilt.unreadable;
      } else {
        features.insert(detector->sketch_of(chunk->bytes.bytes), id);
        ++rebuilt.indexed;
      }
    }
    return features.open_bytes() < kWrittenTogetherBytes ? Result<void>() : commit(database, features);
  };
  DEDUPFS_TRY(walk_extents(database, *database.snapshot(), index_extent));
  DEDUPFS_TRY(commit(database, features));
  return rebuilt;
}

}  // namespace dedupfs
