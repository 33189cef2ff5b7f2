#include "mount/daemon/remount.h"

#include <fmt/format.h>
#include <sys/mount.h>

#include <cerrno>
#include <string>

#include "mount/control/control_socket.h"
#include "mount/daemon/daemonize.h"
#include "mount/options/mount_request.h"
#include "mount/system/mount_table.h"

namespace dedupfs {

namespace {

// The options that the daemon was started with.
Result<MountOptions> options_of_daemon(const Path& volume) {
  DEDUPFS_ASSIGN(const nlohmann::json info, control_request(volume, {{"command", "info"}}));
  DEDUPFS_ASSIGN(const std::string text, read_answer([&] { return info.value("options", std::string()); }));
  DEDUPFS_ASSIGN(MountOptions options, parse_mount_options(text));
  DEDUPFS_ASSIGN(options.read_only, read_answer([&] { return info.value("read_only", false); }));
  return options;
}

Error not_without_daemon(const MountEntry& entry) {
  return {ErrorCode::kNotPermitted,
          fmt::format(
              "{} cannot be remounted: its daemon does not answer, because it is dead or because the volume is on a "
              "read-only disk. Unmount it, and mount it again with the options you want",
              entry.mountpoint.string())};
}

Result<void> set_flags(const Path& mountpoint, unsigned long flags) {
  if (::mount(nullptr, mountpoint.c_str(), nullptr, MS_REMOUNT | flags, nullptr) != 0) {
    return Error::from_errno(errno, "remounting " + mountpoint.string());
  }
  return {};
}

// A remount leaves `suid` and `dev` as they are unless it names them, and the mount table shows only that they are off.
MountOptions completed(MountOptions options, const MountEntry& entry) {
  const auto current = parse_mount_options(entry.mount_options, /*sloppy=*/true);
  if (!options.suid) options.suid = !current || current->suid.value_or(true);
  if (!options.dev) options.dev = !current || current->dev.value_or(true);
  return options;
}

Result<void> remount(const Path& mountpoint, const MountOptions& requested) {
  DEDUPFS_ASSIGN(const Path canonical, canonical_mountpoint(mountpoint));
  DEDUPFS_ASSIGN(const auto table, read_mount_table());
  const auto entry = find_dedupfs_mount(table, canonical);
  if (!entry) return Error{ErrorCode::kNotFound, "no volume is mounted at " + canonical.string()};
  if (!is_credible(*entry))
    return Error{ErrorCode::kAccessDenied, fmt::format("{} is a mount by user {}, who does not own {}: unmount it",
                                                       canonical.string(), entry->user.value_or(0), entry->source)};
  const auto current = options_of_daemon(entry->source);
  if (!current && current.error().code() == ErrorCode::kNotFound) return not_without_daemon(*entry);
  if (!current) return current.error();
  DEDUPFS_TRY(check_remount(*current, requested));
  DEDUPFS_TRY(set_flags(entry->mountpoint, mount_flags(completed(requested, *entry))));
  // The kernel keeps these two to itself.
  DEDUPFS_TRY(control_request(entry->source,
                              {{"command", "remount"}, {"sync", requested.sync}, {"dirsync", requested.dirsync}}));
  if (!requested.read_only) return {};
  // From here on nothing can be written. Makes earlier changes durable.
  DEDUPFS_TRY(control_request(entry->source, {{"command", "sync"}}));
  return {};
}

}  // namespace

int run_remount(const Path& mountpoint, const MountOptions& requested) {
  const Result<void> result = remount(mountpoint, requested);
  if (result) return kMounted;
  print_error(result.error().message());
  return result.error().code() == ErrorCode::kNotPermitted ? kMountUsage : kMountFailed;
}

Result<void> remount_read_only(const MountEntry& entry) {
  DEDUPFS_ASSIGN(MountOptions options, parse_mount_options(entry.mount_options, /*sloppy=*/true));
  options.read_only = true;
  return set_flags(entry.mountpoint, mount_flags(completed(options, entry)));
}

}  // namespace dedupfs
