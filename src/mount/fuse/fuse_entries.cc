#include "mount/fuse/fuse_entries.h"

#include <sys/sysmacros.h>

#include <cstdint>

namespace dedupfs {

namespace {

// The number of blocks of a file is known when the file is stored.
constexpr double kValidWhileWrittenSeconds = 1;
// The volume changes elsewhere.
constexpr double kWhileFollowedSeconds = 1;
// Inode numbers are never reused.
constexpr std::uint64_t kGeneration = 1;

timespec to_timespec(const Timestamp& time) {
  return {time.seconds, static_cast<long>(time.nanoseconds)};
}

// How long the kernel may keep the name.
double entry_valid_seconds(const FuseMount& mount, InodeNumber inode) {
  const bool is_snapshot = tree_of(inode) != kLiveTree && inode_of(inode) == kRootInode;
  return is_snapshot ? 0 : name_valid_seconds(mount);  // snapshots come and go without the kernel
}

double valid_seconds(FuseMount& mount, InodeNumber inode) {
  if (inode == kSnapshotsInode) return 0;
  if (mount.is_following()) return kWhileFollowedSeconds;
  return mount.open_files().has_writer(inode) ? kValidWhileWrittenSeconds : kValidSeconds;
}

}  // namespace

double name_valid_seconds(const FuseMount& mount) {
  return mount.is_following() ? kWhileFollowedSeconds : kValidSeconds;
}

struct stat to_stat(const Attributes& attributes) {
  struct stat result {};
  result.st_ino = attributes.inode;
  result.st_mode = attributes.mode;
  result.st_nlink = attributes.links;
  result.st_uid = attributes.uid;
  result.st_gid = attributes.gid;
  result.st_rdev = attributes.device;
  result.st_size = static_cast<off_t>(attributes.size);
  result.st_blksize = 4096;
  result.st_blocks = static_cast<blkcnt_t>((attributes.data_bytes + 511) / 512);
  result.st_atim = to_timespec(attributes.atime);
  result.st_mtim = to_timespec(attributes.mtime);
  result.st_ctim = to_timespec(attributes.ctime);
  return result;
}

struct statx to_statx(const struct stat& attributes, const Timestamp& btime) {
  const auto time = [](const timespec& from) {
    struct statx_timestamp to {};
    to.tv_sec = from.tv_sec;
    to.tv_nsec = static_cast<std::uint32_t>(from.tv_nsec);
    return to;
  };
  struct statx result {};
  result.stx_mask = STATX_BASIC_STATS | STATX_BTIME;
  result.stx_ino = attributes.st_ino;
  result.stx_mode = static_cast<std::uint16_t>(attributes.st_mode);
  result.stx_nlink = static_cast<std::uint32_t>(attributes.st_nlink);
  result.stx_uid = attributes.st_uid;
  result.stx_gid = attributes.st_gid;
  result.stx_rdev_major = gnu_dev_major(attributes.st_rdev);
  result.stx_rdev_minor = gnu_dev_minor(attributes.st_rdev);
  result.stx_size = static_cast<std::uint64_t>(attributes.st_size);
  result.stx_blksize = static_cast<std::uint32_t>(attributes.st_blksize);
  result.stx_blocks = static_cast<std::uint64_t>(attributes.st_blocks);
  result.stx_atime = time(attributes.st_atim);
  result.stx_mtime = time(attributes.st_mtim);
  result.stx_ctime = time(attributes.st_ctim);
  result.stx_btime = time(to_timespec(btime));
  return result;
}

Entry to_entry(FuseMount& mount, const Attributes& attributes) {
  Entry entry;
  entry.parameters.ino = attributes.inode;
  entry.parameters.generation = kGeneration;
  entry.parameters.attr = to_stat(attributes);
  entry.parameters.attr_timeout = valid_seconds(mount, attributes.inode);
  entry.parameters.entry_timeout = entry_valid_seconds(mount, attributes.inode);
  return entry;
}

Result<Entry> to_entry(FuseMount& mount, const Result<Attributes>& attributes) {
  if (!attributes) return attributes.error();
  return to_entry(mount, *attributes);
}

Result<AttributeReply> to_reply(FuseMount& mount, const Result<Attributes>& attributes) {
  if (!attributes) return attributes.error();
  return AttributeReply{to_stat(*attributes), valid_seconds(mount, attributes->inode)};
}

}  // namespace dedupfs
