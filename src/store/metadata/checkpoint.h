// Checkpoints: compact copies of the records that cannot be rebuilt from containers (inodes, names, attributes, recipes).
// fsck.dedupfs restores from them if the index is lost. Each is one file, VOLUME/checkpoints/NNNNNNNNNN.checkpoint. It is written
// beside the commits, and is independent of RocksDB's files: damage of those does not damage it.
//
// Threads:   Checkpoints: one at a time. Checkpoint: every function from any thread.
// Failure:   errors name the file; one that is damaged is kCorruption, one of another volume is refused.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/backing.h"
#include "base/result.h"
#include "index/database.h"
#include "index/record_source.h"
#include "store/metadata/checkpoint_format.h"

namespace dedupfs {

// A checkpoint that can be read.
class Checkpoint final : public RecordSource {
 public:
  // Reads and verifies its header only.
  static Result<Checkpoint> open(BackingFolder& folder, std::string_view name);

  const CheckpointHeader& header() const { return header_; }
  const Path& path() const { return path_; }

  // Finds nothing for kCookies, which is derived from kDirents, and for the families that are rebuilt from containers.
  Result<void> walk(Family family, const Visit& visit) const override;
  // Reads all of it.
  Result<void> verify() const;

 private:
  Checkpoint(std::unique_ptr<BackingFile> file, Path path, CheckpointHeader header)
      : file_(std::move(file)), path_(std::move(path)), header_(header) {}

  // Calls visit(header, offset of the stored bytes) for each block.
  Result<void> walk_blocks(
      const std::function<Result<bool>(const CheckpointBlockHeader& header, std::uint64_t offset)>& visit) const;
  Result<RawBuffer> read_block(const CheckpointBlockHeader& header, std::uint64_t offset) const;

  std::unique_ptr<BackingFile> file_;
  Path path_;
  CheckpointHeader header_;
};

// Those of a volume.
class Checkpoints {
 public:
  static constexpr std::size_t kKept = 2;

  // Keeps the folder of the checkpoints open from when it first sees it.
  Checkpoints(std::shared_ptr<BackingFolder> volume, const UuidBytes& uuid) : volume_(std::move(volume)), uuid_(uuid) {}

  // Is told now and then how many records the checkpoint has so far. False: it is not to be finished.
  using GoesOn = std::function<bool(std::uint64_t records)>;
  // Writes the committed state. Durable when it returns; then it removes older checkpoints, except the newest kKept. kInterrupted
  // if `goes_on` said no: nothing has changed.
  Result<void> write(const Database& database, const GoesOn& goes_on) const;

  // One that was begun and not finished, which write() leaves behind only in a crash; or the note that one is missing.
  bool has_unfinished() const;
  void leave_unfinished() const;  // as far as the disk lets us

  struct File {
    std::uint32_t number = 0;
    std::string name;
    std::uint64_t bytes = 0;
  };
  // The newest first; whether they can be read shows when they are opened.
  Result<std::vector<File>> list() const;

  // The newest checkpoint that is whole and of this volume. The errors of newer ones are appended to `damage`.
  Result<std::optional<Checkpoint>> newest(std::vector<Error>& damage) const;

 private:
  // Null: there is none.
  Result<std::shared_ptr<BackingFolder>> folder() const;
  Result<std::vector<File>> list(BackingFolder& folder) const;
  Result<void> write(BackingFolder& folder, const Database& database, const GoesOn& goes_on) const;

  const std::shared_ptr<BackingFolder> volume_;
  mutable std::shared_ptr<BackingFolder> folder_;
  const UuidBytes uuid_;
};

}  // namespace dedupfs
