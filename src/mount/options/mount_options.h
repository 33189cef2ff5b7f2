// The option list of a mount: what follows -o, from mount(8), fstab or the command line.
//
// Three kinds of options come in one list: those of mount(8) that concern every filesystem (many are for mount(8) itself
// and mean nothing here), those of FUSE, and those of dedupfs.
//
// Threads: values; free functions are safe from any thread.
// Order:   of two equal options, and of contrary flags (ro, rw), the last one counts, as mount(8) has it: it puts the options of
//          fstab in front of those of the command line.
// Failure: kInvalidArgument with a message for people: an unknown option, a value that does not parse or is out of range.
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "base/result.h"
#include "fs/namespace/filesystem.h"

namespace dedupfs {

// Which opens bypass the kernel's page cache.
enum class DirectIo { kWriteOnly, kOff, kAll };

struct MountOptions {
  // of mount(8)
  bool read_only = false;
  bool remount = false;
  // Not given: off at a mount, since a volume may come from somebody else; at a remount, as they are.
  std::optional<bool> suid;
  std::optional<bool> dev;
  bool exec = true;
  bool sync = false;     // every write is durable when it returns
  bool dirsync = false;  // ... and every change of a name
  bool noatime = false;  // as the kernel is told; `atime` is what the filesystem does
  FilesystemOptions::Atime atime = FilesystemOptions::Atime::kRelative;
  std::string security_context;  // "context=...,fscontext=...", as given, for SELinux

  // of FUSE
  std::optional<bool> allow_other;  // not given: on for root, as every other filesystem; off for anybody else

  bool auto_unmount = false;  // when the daemon dies

  // of dedupfs; what is not given has the default that stands beside it
  bool foreign = false;           // as root: others who can write to the volume are trusted
  std::uint64_t cache_bytes = 0;  // 0, of this and the next two: what fits the machine (mount/options/memory_limits.h)
  std::uint64_t index_memory_bytes = 0;
  std::uint64_t dirty_bytes = 0;
  std::chrono::seconds commit_interval{5};
  std::chrono::seconds checkpoint_interval{600};
  std::uint64_t threads = 0;  // of the ingest pipeline; 0: one a core
  std::uint64_t read_ahead_bytes = 4 << 20;
  std::uint64_t defragment_percent = 5;
  DirectIo direct_io = DirectIo::kWriteOnly;
  FilesystemOptions::SnapshotAccess snapshots = FilesystemOptions::SnapshotAccess::kOwner;
  std::string log_file;    // empty: syslog
  bool core_dump = false;  // leave one when the daemon crashes

  bool operator==(const MountOptions&) const = default;
};

// Commas inside of double quotes do not separate (context="system_u:object_r:tmp_t:s0:c1,c2"). With `sloppy`, which automounters
// ask for, unknown options are ignored.
Result<MountOptions> parse_mount_options(std::string_view list, bool sloppy = false);

// The options of dedupfs that differ from their defaults, as a list that parses back; for messages and `info`.
std::string format_own_options(const MountOptions& options);

// A line for each option of dedupfs and of FUSE, with its default.
std::string mount_options_help();

// The list for libfuse's -o. `source` is the absolute path of the volume.
std::string libfuse_options(const MountOptions& options, std::string_view source, bool privileged);

// Whether a mount with `current` options can become one with `requested` ones without being made anew: between ro and rw
// only if the daemon can write, and without a change of dedupfs' own options. An error says what to do instead.
Result<void> check_remount(const MountOptions& current, const MountOptions& requested);

// The flags of mount(2), without MS_REMOUNT.
unsigned long mount_flags(const MountOptions& options);

}  // namespace dedupfs
