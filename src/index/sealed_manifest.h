// The form of RocksDB's manifests on the disk. With it, a power cut leaves no manifest that RocksDB refuses to open.
//
// RocksDB appends records to its manifest, then syncs them. A power cut in between may leave any part of them. If a part in the
// middle is missing, RocksDB takes the manifest for damaged, although nothing that was promised depends on these records. So
// appended records are *sealed*. They are written with 0 in place of the type of the first record, and synced. Only then the type
// is written, and synced in turn. A manifest ends where a record of type 0 begins; RocksDB writes no record of that type.
// (rocksdb/db/log_format.h: blocks of 32 KiB, never a record over their bounds. Records begin with a checksum of 4 bytes, a
// length of 2, a type of 1. A rest of a block that is too short for that is zeros.)
//
// Threads: one at a time.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "base/backing.h"

namespace dedupfs {

bool is_manifest(const Path& path);

class SealedManifest {
 public:
  // Appends behind `size` bytes, which are in the file and sealed.
  SealedManifest(BackingFile& file, std::uint64_t size) : file_(file), sealed_bytes_(size) {}

  void append(ByteSpan data) { pending_.insert(pending_.end(), data.begin(), data.end()); }
  // When it returns, all appended records are durable. After an error they may be there or not, as a whole.
  Result<void> sync();

  std::uint64_t size() const { return sealed_bytes_ + pending_.size(); }

 private:
  BackingFile& file_;
  std::uint64_t sealed_bytes_;
  std::vector<std::uint8_t> pending_;
};

// The end of the sealed part of a manifest.
Result<std::uint64_t> sealed_end(const BackingFile& manifest);

}  // namespace dedupfs
