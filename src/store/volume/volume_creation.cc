// How a volume is made: everything or nothing is left in its folder.
#include <chrono>
#include <memory>
#include <string>
#include <string_view>
#include <utility>

#include "base/crash_point.h"
#include "base/uuid.h"
#include "chunkers/registry.h"
#include "index/counters.h"
#include "index/database.h"
#include "store/format/container_format.h"
#include "store/format/superblock.h"
#include "store/volume/ownership.h"
#include "store/volume/vacant_folder.h"
#include "store/volume/volume.h"

namespace dedupfs {
namespace {

Result<void> create_index(const std::shared_ptr<BackingFolder>& folder, const Superblock& superblock) {
  DEDUPFS_TRY(Database::create(folder));
  DEDUPFS_ASSIGN(const auto database, Database::open(folder, {.memory_bytes = Database::kMinMemoryBytes}));
  Database::Batch batch(*database);
  batch.put(Family::kCounters, kVolumeUuidCounter, superblock.uuid);
  return database->write(batch);
}

}  // namespace

Result<Superblock> Volume::create(const Path& path, const VolumeSettings& settings,
                                  const std::shared_ptr<Backing>& backing) {
  const std::string_view spec = settings.chunker.empty() ? kDefaultChunkerSpec : std::string_view(settings.chunker);
  DEDUPFS_ASSIGN(const auto chunker, make_chunker(spec));
  Superblock superblock;
  superblock.uuid = make_uuid();
  superblock.label = settings.label;
  superblock.created_unix_seconds =
      std::chrono::duration_cast<std::chrono::seconds>(std::chrono::system_clock::now().time_since_epoch()).count();
  superblock.chunker = chunker->spec();
  superblock.compression = settings.compression;
  DEDUPFS_ASSIGN(superblock.delta,
                 settings.delta ? Result<DeltaSettings>(*settings.delta) : parse_delta_settings(kDefaultDeltaSettings));
  superblock.region_bytes = settings.region_bytes;
  if (superblock.delta.enabled()) superblock.incompatible_features.emplace_back(kDeltaFeature);

  UnfinishedVolume unfinished;
  DEDUPFS_ASSIGN(const auto volume, vacant_folder(whole_path(path), *backing, unfinished));
  if (!settings.foreign) DEDUPFS_TRY(require_own(*volume));
  DEDUPFS_TRY(volume->make_folder(kContainersDirectory));  // fails for the second of two at once
  unfinished.made(volume, names_of_new_volume());
  crash_point("mkfs.folder-made");
  DEDUPFS_TRY(volume->open(kLockFile, Backing::Mode::kCreate));
  DEDUPFS_ASSIGN(const auto index, volume->make_and_open_folder(kIndexDirectory));
  DEDUPFS_TRY(create_index(index, superblock));
  crash_point("mkfs.index-made");
  DEDUPFS_TRY(volume->sync());
  // Last: a folder without a superblock is no volume, and with it everything is there.
  DEDUPFS_TRY(write_superblock(*volume, superblock));
  crash_point("mkfs.superblock-written");
  unfinished.keep();
  return superblock;
}

}  // namespace dedupfs
