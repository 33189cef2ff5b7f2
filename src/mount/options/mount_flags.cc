#include "mount/options/mount_flags.h"

#include <map>

namespace dedupfs {
namespace {

using Atime = FilesystemOptions::Atime;

void ignore(MountOptions&) {}

const std::map<std::string_view, MountFlag>& flags() {
  static const std::map<std::string_view, MountFlag> table = {
      {"ro", [](MountOptions& o) { o.read_only = true; }},
      {"rw", [](MountOptions& o) { o.read_only = false; }},
      {"remount", [](MountOptions& o) { o.remount = true; }},
      {"suid", [](MountOptions& o) { o.suid = true; }},
      // mount(8) keeps "suid" and "dev" to itself and passes on what takes them away only; these it does not know.
      {"allow_suid", [](MountOptions& o) { o.suid = true; }},
      {"allow_dev", [](MountOptions& o) { o.dev = true; }},
      {"nosuid", [](MountOptions& o) { o.suid = false; }},
      {"dev", [](MountOptions& o) { o.dev = true; }},
      {"nodev", [](MountOptions& o) { o.dev = false; }},
      {"exec", [](MountOptions& o) { o.exec = true; }},
      {"noexec", [](MountOptions& o) { o.exec = false; }},
      {"sync", [](MountOptions& o) { o.sync = true; }},
      {"async", [](MountOptions& o) { o.sync = false; }},
      {"dirsync", [](MountOptions& o) { o.dirsync = true; }},
      {"atime",
       [](MountOptions& o) {
         o.noatime = false;
         o.atime = Atime::kRelative;
       }},
      {"noatime",
       [](MountOptions& o) {
         o.noatime = true;
         o.atime = Atime::kNever;
       }},
      {"relatime",
       [](MountOptions& o) {
         o.noatime = false;
         o.atime = Atime::kRelative;
       }},
      {"norelatime", ignore},
      {"strictatime",
       [](MountOptions& o) {
         o.noatime = false;
         o.atime = Atime::kAlways;
       }},
      {"nostrictatime", ignore},
      {"foreign", [](MountOptions& o) { o.foreign = true; }},
      {"noforeign", [](MountOptions& o) { o.foreign = false; }},
      {"allow_other", [](MountOptions& o) { o.allow_other = true; }},
      {"noallow_other", [](MountOptions& o) { o.allow_other = false; }},
      {"auto_unmount", [](MountOptions& o) { o.auto_unmount = true; }},
      {"core_dump", [](MountOptions& o) { o.core_dump = true; }},
      {"nocore_dump", [](MountOptions& o) { o.core_dump = false; }},
      {"noauto_unmount", [](MountOptions& o) { o.auto_unmount = false; }},
      // For mount(8) and fstab, or already so.
      {"defaults", ignore},
      {"auto", ignore},
      {"noauto", ignore},
      {"user", ignore},
      {"nouser", ignore},
      {"users", ignore},
      {"owner", ignore},
      {"group", ignore},
      {"nofail", ignore},
      {"_netdev", ignore},
      {"default_permissions", ignore},
      {"silent", ignore},
      {"loud", ignore},
      {"nomand", ignore},
      {"diratime", ignore},
      {"nodiratime", ignore},
      {"lazytime", ignore},
      {"nolazytime", ignore},
      {"iversion", ignore},
      {"noiversion", ignore},
  };
  return table;
}

}  // namespace

MountFlag find_mount_flag(std::string_view name) {
  const auto flag = flags().find(name);
  return flag == flags().end() ? nullptr : flag->second;
}

}  // namespace dedupfs
