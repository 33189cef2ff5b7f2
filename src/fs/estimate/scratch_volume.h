// A volume that lies in memory, and the copying of files into it by the calls that a mount makes. So what it holds is chunked,
// deduplicated, delta-encoded and compressed as in a volume on a disk.
//
// Threads: one user at a time.
// Failure: kNoMemory as soon as the volume takes the memory that it may. What was copied by then can still be counted. kNoSpace if
//          settling needs more than that and a quarter.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string_view>

#include "base/result.h"
#include "base/scratch_backing.h"
#include "fs/estimate/source_tree.h"
#include "fs/namespace/filesystem.h"
#include "fs/statistics/statistics.h"

namespace dedupfs {

struct ScratchVolumeSettings {
  VolumeSettings volume;         // as mkfs gets them
  VolumeOptions volume_options;  // as a mount has them, here and in the next
  FilesystemOptions filesystem;
  std::uint64_t memory_bytes = 0;  // for what would be on the disk; the caches of the filesystem come on top
};

// Whether the memory of the volume ended.
bool is_lack_of_memory(const Error& error);

class ScratchVolume {
 public:
  static Result<std::unique_ptr<ScratchVolume>> make(const ScratchVolumeSettings& settings);
  ~ScratchVolume();
  ScratchVolume(const ScratchVolume&) = delete;
  ScratchVolume& operator=(const ScratchVolume&) = delete;

  Filesystem& filesystem() { return *filesystem_; }
  std::uint64_t peak_bytes() const { return disk_->peak_bytes(); }

  // Called with the bytes that were just copied. An Error ends the copy.
  using Progress = std::function<Result<void>(std::uint64_t bytes)>;
  struct CopiedFile {
    InodeNumber inode = 0;
    std::uint64_t bytes = 0;          // that were read
    bool changed = false;             // the file got shorter meanwhile
    std::optional<Error> unreadable;  // from somewhere on
  };
  Result<CopiedFile> copy_file(const SourceFile& source, InodeNumber parent, std::string_view name,
                               const Progress& progress);

  // A new file in the root, with what `fill` writes.
  using Append = std::function<Result<void>(std::uint64_t offset, ByteSpan bytes)>;
  using Fill = std::function<Result<void>(const Append& append)>;
  Result<InodeNumber> make_file(std::string_view name, const Fill& fill);

  // Compresses for good what has landed (docs/settling.md). Asks `progress` now and then, with no bytes.
  Result<void> settle(const Progress& progress);

  // Commits, and counts.
  Result<Statistics> statistics();
  // The same with all of the index in tables, as in a volume that is larger or was unmounted: its log takes more.
  Result<Statistics> statistics_without_log();

 private:
  explicit ScratchVolume(const ScratchVolumeSettings& settings);
  Result<void> open(const ScratchVolumeSettings& settings);
  Result<void> copy_content(const SourceFile& source, const Progress& progress, CopiedFile& copied);
  using Write = std::function<Result<void>(InodeNumber inode)>;
  Result<InodeNumber> write_new(InodeNumber parent, std::string_view name, const Write& write);
  Result<void> require_room() const;

  const std::uint64_t memory_bytes_;
  const std::shared_ptr<ScratchBacking> disk_;
  std::unique_ptr<Filesystem> filesystem_;
  ByteBuffer buffer_;
};

}  // namespace dedupfs
