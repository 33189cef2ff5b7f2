// How the manifests of RocksDB lie on the disk, so that a power cut leaves none that RocksDB refuses to open.
//
// RocksDB appends records to its manifest and syncs them then. A power cut in between may leave any part of them, and with a
// part that is missing in the middle RocksDB takes the manifest for damaged, although nothing that was promised depends on
// it. So what is appended is *sealed*: it is written with 0 in place of the type of its first record, synced, and only then
// gets that byte, which is synced in turn. A manifest ends where a record of type 0 begins; no record of RocksDB's has it.
// (rocksdb/db/log_format.h: blocks of 32 KiB, never a record over their bounds; records begin with a checksum of 4 bytes, a
// length of 2, a type of 1; what is too short for that at the end of a block is zeros.)
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
  // What was appended is durable when it returns. After an error it may be there or not, as a whole.
  Result<void> sync();

  std::uint64_t size() const { return sealed_bytes_ + pending_.size(); }

 private:
  BackingFile& file_;
  std::uint64_t sealed_bytes_;
  std::vector<std::uint8_t> pending_;
};

// Where the sealed part of a manifest ends.
Result<std::uint64_t> sealed_end(const BackingFile& manifest);

}  // namespace dedupfs
