// A disk in memory: a volume on it takes no space anywhere, and is gone with it. For those who want to know what a volume would be
// like, without making one.
//
// Sizes and the space of names are those that a disk with blocks of 4 KiB would report. Memory is taken in larger blocks, and only
// for what was written: each is charged when it is taken.
//
// Threads:   any thread, also files and folders.
// Ownership: files and folders keep the disk alive.
// Failure:   kNoSpace for a write that would take more than the limit; what fits before it is written. Otherwise as in backing.h:
//            kNotFound, kExists, kNotEmpty, kNotDirectory and so on. Nothing is ever lost or late, so syncs do nothing.
#pragma once

#include <cstdint>
#include <memory>

#include "base/backing.h"

namespace dedupfs {

class ScratchBacking final : public Backing {
 public:
  static constexpr std::uint64_t kBlockBytes = 64 << 10;

  // An empty disk: the root "/" only.
  explicit ScratchBacking(std::uint64_t max_bytes);
  ~ScratchBacking() override;
  ScratchBacking(const ScratchBacking&) = delete;
  ScratchBacking& operator=(const ScratchBacking&) = delete;

  // An absolute path.
  Result<std::shared_ptr<BackingFolder>> open_root(const Path& path) override;

  // The memory that the content of all files takes now, and the most that it took.
  std::uint64_t used_bytes() const;
  std::uint64_t peak_bytes() const;

 private:
  class File;
  class Folder;
  struct Memory;
  struct Node;
  struct Content;
  struct Tree;

  const std::shared_ptr<Tree> tree_;
};

}  // namespace dedupfs
