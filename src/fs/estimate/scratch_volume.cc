#include "fs/estimate/scratch_volume.h"

#include <algorithm>
#include <chrono>
#include <utility>

#include "fs/format/mode.h"

namespace dedupfs {
namespace {

constexpr std::size_t kWriteBytes = 1 << 20;  // of a request of the kernel
// A copy ends when it reaches its memory. What is still on its way then must find room.
constexpr std::uint64_t kSlackShare = 4;
constexpr std::uint64_t kMinSlackBytes = 64 << 20;

constexpr std::chrono::milliseconds kSettleLookInterval{20};

constexpr std::string_view kVolumePath = "/volume";

}  // namespace

bool is_lack_of_memory(const Error& error) {
  return error.code() == ErrorCode::kNoMemory || error.code() == ErrorCode::kNoSpace;
}

ScratchVolume::ScratchVolume(const ScratchVolumeSettings& settings)
    : memory_bytes_(settings.memory_bytes),
      disk_(std::make_shared<ScratchBacking>(settings.memory_bytes +
                                             std::max(settings.memory_bytes / kSlackShare, kMinSlackBytes))),
      buffer_(kWriteBytes) {}

ScratchVolume::~ScratchVolume() {
  // Nobody will ever open it again: no time for a checkpoint.
  if (filesystem_) (void)filesystem_->close([](std::uint64_t) { return false; });
}

Result<std::unique_ptr<ScratchVolume>> ScratchVolume::make(const ScratchVolumeSettings& settings) {
  std::unique_ptr<ScratchVolume> volume(new ScratchVolume(settings));
  DEDUPFS_TRY(volume->open(settings));
  return volume;
}

Result<void> ScratchVolume::open(const ScratchVolumeSettings& settings) {
  DEDUPFS_TRY(Volume::create(kVolumePath, settings.volume, disk_));
  DEDUPFS_ASSIGN(auto volume, Volume::open(kVolumePath, settings.volume_options, disk_));
  FilesystemOptions options = settings.filesystem;
  options.checkpoint_interval = std::chrono::milliseconds(0);
  DEDUPFS_ASSIGN(filesystem_, Filesystem::open(std::move(volume), options));
  return {};
}

Result<ScratchVolume::CopiedFile> ScratchVolume::copy_file(const SourceFile& source, InodeNumber parent,
                                                           std::string_view name, const Progress& progress) {
  CopiedFile copied;
  const auto written = write_new(parent, name, [&](InodeNumber inode) {
    copied.inode = inode;
    return copy_content(source, progress, copied);
  });
  if (!written) return written.error();
  return copied;
}

Result<InodeNumber> ScratchVolume::make_file(std::string_view name, const Fill& fill) {
  return write_new(kRootInode, name, [&](InodeNumber inode) {
    return fill([&](std::uint64_t offset, ByteSpan bytes) -> Result<void> {
      DEDUPFS_TRY(require_room());
      return filesystem_->write(inode, offset, bytes, {}, nullptr);
    });
  });
}

Result<InodeNumber> ScratchVolume::write_new(InodeNumber parent, std::string_view name, const Write& write) {
  DEDUPFS_ASSIGN(const Attributes made, filesystem_->create(parent, name, 0644, {}));
  Result<void> done = filesystem_->open_file(made.inode, false, {});
  if (done) {
    done = write(made.inode);
    if (const auto flushed = filesystem_->flush_file(made.inode); done && !flushed) done = flushed;
    filesystem_->release_file(made.inode, true);
  }
  filesystem_->forget(made.inode, 1);
  if (!done) return done.error();
  return made.inode;
}

Result<void> ScratchVolume::copy_content(const SourceFile& source, const Progress& progress, CopiedFile& copied) {
  for (SourceFile::Extent extent : source.extents()) {
    while (extent.begin < extent.end) {
      const std::size_t wanted = std::min<std::uint64_t>(kWriteBytes, extent.end - extent.begin);
      const auto read = source.read(extent.begin, MutableByteSpan(buffer_).first(wanted));
      if (!read) copied.unreadable = read.error();
      const std::size_t got = read.value_or(0);
      copied.changed |= read && got == 0;
      if (got == 0) return {};
      DEDUPFS_TRY(require_room());
      DEDUPFS_TRY(filesystem_->write(copied.inode, extent.begin, ByteSpan(buffer_).first(got), {}, nullptr));
      extent.begin += got;
      copied.bytes += got;
      DEDUPFS_TRY(progress(got));
    }
  }
  const std::uint64_t end = source.extents().empty() ? 0 : source.extents().back().end;
  if (end < source.size()) DEDUPFS_TRY(filesystem_->set_attributes(copied.inode, {.size = source.size()}, {}));
  return {};
}

Result<void> ScratchVolume::settle(const Progress& progress) {
  Result<void> told;
  DEDUPFS_ASSIGN(const ReclaimStatus status, run_reclaim(filesystem_->reclaimer(), {.goal = ReclaimGoal::kSettle},
                                                         kSettleLookInterval, [&](const ReclaimStatus&) {
                                                           told = progress(0);
                                                           return told.has_value();
                                                         }));
  DEDUPFS_TRY(told);
  if (status.last && status.last->error) return *status.last->error;
  return {};
}

Result<void> ScratchVolume::require_room() const {
  if (disk_->used_bytes() + filesystem_->dirty_bytes() < memory_bytes_) return {};
  return Error{ErrorCode::kNoMemory, "the memory for the estimate is used up"};
}

Result<Statistics> ScratchVolume::statistics() {
  DEDUPFS_TRY(filesystem_->sync());
  return compute_statistics(filesystem_->volume());
}

Result<Statistics> ScratchVolume::statistics_without_log() {
  DEDUPFS_TRY(filesystem_->sync());
  DEDUPFS_TRY(filesystem_->volume().database().empty_log());
  return compute_statistics(filesystem_->volume());
}

}  // namespace dedupfs
