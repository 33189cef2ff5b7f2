#include "mount/clients/sync_volume.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include <cerrno>

#include "base/unique_fd.h"
#include "mount/system/in_time.h"
#include "mount/system/mount_table.h"

namespace dedupfs {
namespace {

Result<MountEntry> find_mount_of(const Path& given) {
  DEDUPFS_ASSIGN(const auto table, read_mount_table());
  DEDUPFS_ASSIGN(const Path path, canonical_in_time(given));
  if (auto entry = find_dedupfs_mount_above(table, path)) return std::move(*entry);  // of whatever user
  DEDUPFS_ASSIGN(const Path volume, find_volume(given));
  if (auto entry = find_dedupfs_mount(table, volume)) return std::move(*entry);
  return Error{ErrorCode::kNotFound, given.string() + " is not mounted: there is nothing to make durable"};
}

Result<void> commit_through(const MountEntry& entry) {
  const UniqueFd root(::open(entry.mountpoint.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  struct stat status {};
  if (!root || ::fstat(root.get(), &status) != 0) return Error::from_errno(errno, entry.mountpoint.string());
  if (fmt::format("{}:{}", major(status.st_dev), minor(status.st_dev)) != entry.device)
    return Error{ErrorCode::kBusy, fmt::format("another filesystem is mounted on top of {}: unmount that one first",
                                               entry.mountpoint.string())};
  // syncfs() sends the daemon the changes that programs made through mappings, fsync() commits.
  if (::syncfs(root.get()) == 0 && ::fsync(root.get()) == 0) return {};
  return Error::from_errno(errno, entry.mountpoint.string())
      .with("some changes could not be made durable (see the log of the daemon)");
}

}  // namespace

Result<void> sync_volume(const Path& given) {
  DEDUPFS_ASSIGN(const MountEntry entry, find_mount_of(given));
  return sync_mount(entry, {});
}

Result<void> sync_mount(const MountEntry& entry, const Patience& patience) {
  return do_in_time("the daemon of " + entry.mountpoint.string() + " to make everything durable", patience,
                    [&] { return commit_through(entry); });
}

}  // namespace dedupfs
