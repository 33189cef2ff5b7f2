#include "mount/system/mount_record.h"

#include <fmt/format.h>

#include <algorithm>

#include "mount/system/libmount_handles.h"
#include "mount/system/mount_table.h"

namespace dedupfs {

namespace {

constexpr const char* kOptions = "helper=dedupfs";  // umount.dedupfs

Error from_libmount(int result, std::string_view what) {
  return Error::from_errno(-result, fmt::format("libmount: {}", what));
}

Result<std::ptrdiff_t> mounts_at(const Path& mountpoint) {
  DEDUPFS_ASSIGN(const auto table, read_mount_table());
  return std::ranges::count(table, mountpoint, &MountEntry::mountpoint);
}

// `target` for a removal, `description` for an addition.
Result<void> update(const char* target, libmnt_fs* description) {
  const MountUpdate update(mnt_new_update());
  if (!update) return from_libmount(-ENOMEM, "update");
  if (const int result = mnt_update_set_fs(update.get(), 0, target, description); result != 0)
    return from_libmount(result < 0 ? result : -EINVAL, "preparing its table of mounts");
  if (const int result = mnt_update_table(update.get(), nullptr); result != 0)
    return from_libmount(result, "writing its table of mounts");
  return {};
}

}  // namespace

Result<void> record_mount(const Path& mountpoint, const std::string& volume) {
  DEDUPFS_ASSIGN(const std::ptrdiff_t mounts, mounts_at(mountpoint));
  if (mounts == 1) DEDUPFS_TRY(update(mountpoint.c_str(), nullptr));  // of a mount that is gone: this one has none yet

  const MountDescription description(mnt_new_fs());
  if (!description) return from_libmount(-ENOMEM, "description of a mount");
  for (const int result :
       {mnt_fs_set_source(description.get(), volume.c_str()), mnt_fs_set_target(description.get(), mountpoint.c_str()),
        mnt_fs_set_fstype(description.get(), std::string(kMountType).c_str()),
        mnt_fs_set_options(description.get(), kOptions)})
    if (result != 0) return from_libmount(result, "description of a mount");
  return update(nullptr, description.get());
}

Result<void> forget_mount(const Path& mountpoint) {
  DEDUPFS_ASSIGN(const std::ptrdiff_t mounts, mounts_at(mountpoint));
  if (mounts != 0) return {};
  return update(mountpoint.c_str(), nullptr);
}

}  // namespace dedupfs
