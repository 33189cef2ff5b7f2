// The mount options with their values. Plain values.
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>

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
  std::uint64_t payback_months = 3;             // of fetches from a bucket
  std::uint64_t remote_min_age_days = 0;        // before a reclaim stores anew what is in a container
  std::uint64_t remote_delta_budget_bytes = 0;  // an hour, for deltas of what is in the bucket only
  Durability durability = Durability::kLocal;
  std::chrono::seconds remote_lag{60};  // 0: only when somebody asks, and at the unmount
  // Of a volume in a bucket: memory for its blocks, 0: chosen for the machine. Of one that is shipped: disk for its containers, 0: all stay.
  std::uint64_t remote_cache_bytes = 0;
  std::optional<std::uint64_t>
      remote_unshipped_bytes;             // before writers wait; absent: as remote_cache_bytes, 0: no limit
  std::chrono::seconds remote_follow{0};  // between looks for a newer state of a volume in a bucket; 0: never
  std::uint64_t remote_parallel = 4;      // requests to a bucket at once
  std::uint64_t remote_grace_hours = 24;  // until what a head has dropped is deleted
  // Of a volume in a bucket, here and in the next three.
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

}  // namespace dedupfs
