#include "fs/extract/readable_volume.h"

#include <fmt/format.h>
#include <unistd.h>

#include <utility>

#include "fs/check/index_repair.h"
#include "fs/extract/read_only_folder.h"
#include "index/table_check.h"
#include "store/format/superblock.h"
#include "store/seal/sealed_folder.h"
#include "store/volume/ownership.h"

namespace dedupfs {
namespace {

constexpr int kMostScratchNames = 1000;

// Damage that a new index gets around.
bool is_of_index(const Error& error) {
  return error.code() == ErrorCode::kCorruption || error.code() == ErrorCode::kIo;
}

Result<std::vector<HarmfulTable>> harmful_tables_in(BackingFolder& volume) {
  const auto index = volume.open_folder(kIndexDirectory);
  if (!index) return std::vector<HarmfulTable>();  // none is there
  return harmful_tables(*index);
}

}  // namespace

ReadableVolume::~ReadableVolume() {
  filesystem_.reset();
  scratch_.reset();
  if (!scratch_name_.empty()) (void)remove_tree(*scratch_parent_, scratch_name_);
}

Result<std::unique_ptr<ReadableVolume>> ReadableVolume::open(const Path& path, const ReadableVolumeOptions& options,
                                                             const std::shared_ptr<Backing>& backing) {
  std::unique_ptr<ReadableVolume> volume(new ReadableVolume);
  DEDUPFS_ASSIGN(auto folder, Volume::open_folder(path, backing));
  volume->real_folder_ = folder;
  volume->folder_ = std::make_shared<ReadOnlyFolder>(std::move(folder));
  if (!options.volume.foreign) DEDUPFS_TRY(require_own(*volume->folder_));
  DEDUPFS_TRY(read_superblock(*volume->folder_));  // first: a folder without one is no volume
  DEDUPFS_ASSIGN(volume->lock_, Volume::lock(*volume->folder_, /*read_only=*/true));
  if (!options.rebuild_index) {
    const auto harmful = options.volume.foreign ? harmful_tables_in(*volume->folder_) : std::vector<HarmfulTable>();
    if (!harmful) return harmful.error();
    const auto opened =
        harmful->empty() ? volume->open_filesystem(volume->folder_, options) : corruption(harmful->front().harm);
    if (opened) return volume;
    if (!is_of_index(opened.error())) return opened.error();
    options.say("the index of the volume cannot be read: " + opened.error().message());
  }
  DEDUPFS_TRY(volume->rebuild_index(options));
  return volume;
}

Result<void> ReadableVolume::open_filesystem(std::shared_ptr<BackingFolder> folder,
                                             const ReadableVolumeOptions& options) {
  VolumeOptions volume_options = options.volume;
  volume_options.read_only = true;
  volume_options.locked = true;
  DEDUPFS_ASSIGN(auto volume, Volume::open(std::move(folder), volume_options));
  FilesystemOptions filesystem_options;
  filesystem_options.atime = FilesystemOptions::Atime::kNever;
  filesystem_options.snapshot_access = SnapshotAccess::kVisible;
  DEDUPFS_ASSIGN(filesystem_, Filesystem::open(std::move(volume), filesystem_options));
  DEDUPFS_TRY(filesystem_->attributes(kRootInode));
  return {};
}

// Whatever others left in the folder, it is no volume here, and needs no key.
Result<void> ReadableVolume::make_scratch(const Path& parent) {
  DEDUPFS_ASSIGN(scratch_parent_, Backing::posix()->open_root(parent));
  for (int attempt = 0; attempt < kMostScratchNames; ++attempt) {
    const std::string name = fmt::format("dedupfs-index.{}.{}", ::getpid(), attempt);
    const auto made = scratch_parent_->make_folder(name);
    if (!made && made.error().code() == ErrorCode::kExists) continue;
    if (!made) return made.error();
    scratch_name_ = name;
    DEDUPFS_ASSIGN(auto scratch, scratch_parent_->open_folder(name));
    scratch_ = sealed_like(*real_folder_, std::move(scratch));
    return {};
  }
  return Error{ErrorCode::kExists, parent.string() + ": no free name for a folder"};
}

// The repair believes that it works in the volume.
Result<void> ReadableVolume::rebuild_index(const ReadableVolumeOptions& options) {
  filesystem_.reset();
  DEDUPFS_TRY(make_scratch(options.scratch));
  options.say(fmt::format("a new one is made in {}: all containers are read for that",
                          (scratch_parent_->path() / scratch_name_).string()));
  DEDUPFS_ASSIGN(Superblock superblock, read_superblock(*folder_));
  superblock.delta = {};  // whoever only reads asks no similarity index
  const auto volume = std::make_shared<ReadOnlyFolder>(
      folder_,
      ReadOnlyFolder::Elsewhere{{std::string(IndexRepair::kNewIndex), {scratch_, std::string(IndexRepair::kNewIndex)}},
                                {std::string(IndexRepair::kSalvage), {scratch_, std::string(IndexRepair::kSalvage)}}});
  DEDUPFS_ASSIGN(const auto harmful, harmful_tables_in(*volume));
  CheckReport notes([&](const std::string& line) { options.say(line); });
  const RepairLog log{.repaired = [](const std::string&) {},
                      .lost =
                          [&](const std::string& what) {
                            ++losses_;
                            options.say("lost: " + what);
                          }};
  DEDUPFS_TRY(IndexRepair(volume, superblock).build({}, harmful, notes, log, options.progress, 1));
  return open_filesystem(std::make_shared<ReadOnlyFolder>(
                             folder_, ReadOnlyFolder::Elsewhere{{std::string(kIndexDirectory),
                                                                 {scratch_, std::string(IndexRepair::kNewIndex)}}}),
                         options);
}

}  // namespace dedupfs
