// How a volume is made: everything or nothing is left in its folder.
#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/crash_point.h"
#include "chunkers/registry.h"
#include "index/counters.h"
#include "index/database.h"
#include "store/format/container_format.h"
#include "store/format/superblock.h"
#include "store/volume/ownership.h"
#include "store/volume/volume.h"

namespace dedupfs {
namespace {

// All that create() makes, with what an interrupted replace_file() leaves of a superblock.
std::vector<std::string> names_made_by_create() {
  std::vector<std::string> names;
  for (const auto name : {kContainersDirectory, kLockFile, kIndexDirectory}) names.emplace_back(name);
  for (const auto name : {kSuperblockCopyFile, kSuperblockFile}) {
    names.emplace_back(name);
    names.emplace_back(std::string(name) + ".new");
  }
  return names;
}

bool is_among(std::string_view name, const std::vector<std::string>& names) {
  return std::ranges::find(names, name) != names.end();
}

Result<void> require_vacant(BackingFolder& volume) {
  DEDUPFS_ASSIGN(const std::vector<std::string> names, volume.list());
  if (names.empty()) return {};
  if (is_among(kSuperblockFile, names) || is_among(kSuperblockCopyFile, names))
    return Error{ErrorCode::kExists, volume.path().string() + " is a dedupfs volume already"};

  const std::vector<std::string> ours = names_made_by_create();
  const bool interrupted = std::ranges::all_of(names, [&](const auto& name) { return is_among(name, ours); });
  const std::string found = names.size() == 1 ? fmt::format("'{}'", names[0])
                            : names.size() == 2
                                ? fmt::format("'{}' and '{}'", names[0], names[1])
                                : fmt::format("'{}', '{}' and {} more", names[0], names[1], names.size() - 2);
  return Error{ErrorCode::kNotEmpty,
               fmt::format("{} is not empty, it holds {}{}; choose an empty folder", volume.path().string(), found,
                           interrupted ? " (it looks like a volume whose making was interrupted: remove them)" : "")};
}

// Removes what create() has made so far, the superblock first, and nothing that others made meanwhile.
class Unfinished {
 public:
  Unfinished() = default;
  Unfinished(const Unfinished&) = delete;
  Unfinished& operator=(const Unfinished&) = delete;
  ~Unfinished() {
    // As far as the disk lets us; the failure that brought us here is reported by the caller.
    for (auto name = contents_.rbegin(); name != contents_.rend(); ++name) (void)remove_tree(*volume_, *name);
    if (parent_) (void)parent_->remove_folder(folder_);
  }

  void made_folder(std::shared_ptr<BackingFolder> parent, std::string name) {
    parent_ = std::move(parent);
    folder_ = std::move(name);
  }
  void made(std::shared_ptr<BackingFolder> volume, std::vector<std::string> names) {
    volume_ = std::move(volume);
    contents_ = std::move(names);
  }
  void keep() {
    contents_.clear();
    parent_ = nullptr;
  }

 private:
  std::shared_ptr<BackingFolder> parent_;  // null: the volume's folder was there
  std::string folder_;
  std::shared_ptr<BackingFolder> volume_;
  std::vector<std::string> contents_;
};

// The folder for a new volume: it must be empty, and is made if it is missing.
Result<std::shared_ptr<BackingFolder>> vacant_folder(const Path& path, Backing& backing, Unfinished& unfinished) {
  auto there = backing.open_root(path);
  if (there) {
    DEDUPFS_TRY(require_vacant(**there));
    return there;
  }
  if (there.error().code() != ErrorCode::kNotFound) return there;
  DEDUPFS_ASSIGN(auto parent, backing.open_root(path.parent_path()));
  const std::string name = path.filename().string();
  DEDUPFS_TRY(parent->make_folder(name));
  unfinished.made_folder(parent, name);
  DEDUPFS_TRY(parent->sync());
  return parent->open_folder(name);
}

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

  Unfinished unfinished;
  DEDUPFS_ASSIGN(const auto volume, vacant_folder(absolute_folder(path), *backing, unfinished));
  if (!settings.foreign) DEDUPFS_TRY(require_own(*volume));
  DEDUPFS_TRY(volume->make_folder(kContainersDirectory));  // fails for the second of two at once
  unfinished.made(volume, names_made_by_create());
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
