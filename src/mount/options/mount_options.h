// The list of mount options after -o, from mount(8), fstab or the command line.
//
// Three kinds of options come in one list: those of mount(8) that concern every filesystem (many are for mount(8) itself
// and mean nothing here), those of FUSE, and those of dedupfs.
//
// Threads: values; free functions are safe from any thread.
// Order:   the last of equal options or contrary flags (ro, rw) wins, as with mount(8), which puts the options of fstab before those
//          of the command line.
// Failure: kInvalidArgument with a message for the user: an unknown option, a bad value, a value out of range.
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "codec/compression.h"
#include "fs/namespace/filesystem.h"

namespace dedupfs {

// Which opens bypass the kernel's page cache.
enum class DirectIo { kWriteOnly, kOff, kAll };

// Where data is when fsync returns. kRemote: in the bucket of the volume, too.
enum class Durability { kLocal, kRemote };

struct MountOptions {
  // of mount(8)
  bool read_only = false;
  bool remount = false;
  // Not given: off at a mount, since the volume may come from another user; unchanged at a remount.
  std::optional<bool> suid;
  std::optional<bool> dev;
  bool exec = true;
  bool sync = false;     // every write is durable when it returns
  bool dirsync = false;  // ... and every change of a name
  bool noatime = false;  // the flag for the kernel; `atime` is the policy of the filesystem
  FilesystemOptions::Atime atime = FilesystemOptions::Atime::kRelative;
  std::string security_context;  // "context=...,fscontext=...", as given, for SELinux

  // of FUSE
  std::optional<bool> allow_other;  // not given: on for root, as with other filesystems; off for other users

  bool auto_unmount = false;  // when the daemon dies

  // of dedupfs, with their defaults
  bool foreign = false;           // as root: others who can write to the volume are trusted
  std::uint64_t cache_bytes = 0;  // 0, here and in the next two: chosen for the machine (mount/options/memory_limits.h)
  std::uint64_t index_memory_bytes = 0;
  std::uint64_t dirty_bytes = 0;
  std::chrono::seconds commit_interval{5};
  std::chrono::seconds checkpoint_interval{600};
  std::uint64_t threads = 0;  // of the ingest pipeline; 0: one a core
  std::uint64_t read_ahead_bytes = 4 << 20;
  std::uint64_t defragment_percent = 5;
  std::optional<Compression> landing;  // absent, here and in the next: as the volume says
  std::optional<Compression> settled;
  std::uint64_t slow_source_bytes = 32 << 20;  // a second
  SettleMode settle = SettleMode::kIdle;
  std::uint64_t settle_cpu_percent = 100;
  std::uint64_t gather_percent = 100;
  Durability durability = Durability::kLocal;
  std::chrono::seconds remote_lag{60};  // 0: only when somebody asks, and at the unmount
  // Of a volume in a bucket, here and in the next four. 0: chosen for the machine.
  std::uint64_t remote_cache_bytes = 0;
  std::string endpoint;  // empty: see RemoteAddress
  std::string region;
  std::string credentials_file;
  std::string ca_file;
  DirectIo direct_io = DirectIo::kWriteOnly;
  FilesystemOptions::SnapshotAccess snapshots = FilesystemOptions::SnapshotAccess::kOwner;
  std::string log_file;  // empty: syslog
  std::string key_file;  // of an encrypted volume, here and in the next two; empty: not given
  std::string passphrase_command;
  std::string keyring;
  bool core_dump = false;  // write a core file when the daemon crashes

  bool operator==(const MountOptions&) const = default;
};

// Commas inside of double quotes do not separate (context="system_u:object_r:tmp_t:s0:c1,c2"). With `sloppy`, which automounters
// ask for, unknown options are ignored.
Result<MountOptions> parse_mount_options(std::string_view list, bool sloppy = false);

// The options of dedupfs that differ from their defaults, as a list that parses back; for messages and `info`.
std::string format_own_options(const MountOptions& options);

// A line for each option of dedupfs and of FUSE, with its default.
std::string mount_options_help();

// The same options as words to begin with: "commit=", "foreign".
std::vector<std::string> mount_option_words();

// The list for libfuse's -o. `source` is the absolute path of the volume.
std::string libfuse_options(const MountOptions& options, std::string_view source, bool privileged);

// Whether a remount can change `current` options to `requested` ones. From ro to rw it needs a daemon that can write. The options of
// dedupfs cannot change. An error says what to do instead.
Result<void> check_remount(const MountOptions& current, const MountOptions& requested);

// The flags of mount(2), without MS_REMOUNT.
unsigned long mount_flags(const MountOptions& options);

}  // namespace dedupfs
