// An open volume: the superblock, the lock, the database with its overlay, the chunk store; and the commit of a
// transaction group over both.
//
// Ownership: owns everything below; whoever owns the Volume closes it last.
// Threads:   parts are safe as they say; freeze() needs that no operation is half done, commit() runs beside operations,
//            one at a time.
// Failure:   opening says what is wrong and what to do; after a failed commit the group stays frozen and commit() may be
//            called again, unless the error is final (see ContainerStore::sync): then the volume is aborted() for good.
#pragma once

#include <memory>
#include <string>

#include "base/backing.h"
#include "base/result.h"
#include "base/unique_fd.h"
#include "chunkers/chunker.h"
#include "store/chunk_store.h"
#include "store/database.h"
#include "store/metadata.h"
#include "store/superblock.h"

namespace dedupfs {

struct VolumeOptions {
  bool read_only = false;
  std::uint64_t index_memory_bytes = 256 << 20;
  std::uint64_t cache_bytes = 256 << 20;  // decoded regions
  std::size_t threads = 0;                // of the ingest pipeline; 0: one a core
};

// What mkfs is told.
struct VolumeSettings {
  std::string chunker;  // spec; empty: the default
  Compression compression;
  std::string label;
};

class Volume {
 public:
  // Makes a volume in `path`, which must not exist or be an empty folder (kNotEmpty / kExists otherwise).
  static Result<Superblock> create(const Path& path, const VolumeSettings& settings,
                                   std::shared_ptr<Backing> backing = Backing::posix());
  // kBusy when another process has it open (read-only openers share it with each other, not with a writer).
  static Result<std::unique_ptr<Volume>> open(const Path& path, const VolumeOptions& options,
                                              std::shared_ptr<Backing> backing = Backing::posix());
  ~Volume();

  const Path& path() const { return path_; }
  const Superblock& superblock() const { return superblock_; }
  const Chunker& chunker() const { return *chunker_; }
  bool read_only() const { return options_.read_only; }
  Metadata& metadata() { return *metadata_; }
  ChunkStore& chunks() { return *chunks_; }
  Database& database() { return *database_; }
  Backing& backing() { return *backing_; }

  // Ends the open transaction group and opens the next. No operation and no put may be half done.
  void freeze();
  // Makes the frozen group durable: chunks first, then one atomic batch.
  Result<void> commit();

 private:
  Volume() = default;

  Path path_;
  VolumeOptions options_;
  std::shared_ptr<Backing> backing_;
  UniqueFd lock_;
  Superblock superblock_;
  std::unique_ptr<Chunker> chunker_;
  std::unique_ptr<Database> database_;
  std::unique_ptr<Metadata> metadata_;
  std::unique_ptr<ChunkStore> chunks_;
};

}  // namespace dedupfs
