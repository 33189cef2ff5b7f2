#include "fs/sync_volume.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>

#include "base/unique_fd.h"
#include "fs/in_time.h"
#include "fs/mount_table.h"

namespace dedupfs {
namespace {

Result<MountEntry> find_mount_of(const Path& given) {
  DEDUPFS_ASSIGN(const Path volume, find_volume(given));
  DEDUPFS_ASSIGN(const auto table, read_mount_table());
  if (auto entry = find_dedupfs_mount(table, volume)) return std::move(*entry);
  return Error{ErrorCode::kNotFound, given.string() + " is not mounted: nothing has to be made durable"};
}

Result<UniqueFd> open_root(const MountEntry& entry) {
  UniqueFd root(::open(entry.mountpoint.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (!root) return Error::from_errno(errno, entry.mountpoint.string());
  struct stat status {};
  if (::fstat(root.get(), &status) != 0) return Error::from_errno(errno, entry.mountpoint.string());
  if (find_dedupfs_mount({entry}, status.st_dev)) return root;
  return Error{ErrorCode::kBusy,
               fmt::format("another filesystem is mounted over {}: unmount that one first", entry.mountpoint.string())};
}

}  // namespace

Result<void> sync_volume(const Path& given) {
  DEDUPFS_ASSIGN(const MountEntry entry, find_mount_of(given));
  DEDUPFS_ASSIGN(const UniqueFd root, open_root(entry));
  return do_in_time("the daemon of " + entry.mountpoint.string() + " to make everything durable", {},
                    [&]() -> Result<void> {
                      // The first sends the daemon what programs have changed through mappings, the second commits.
                      if (::syncfs(root.get()) == 0 && ::fsync(root.get()) == 0) return {};
                      return Error::from_errno(errno, entry.mountpoint.string())
                          .with("not everything could be made durable (the log of the daemon says what)");
                    });
}

}  // namespace dedupfs
