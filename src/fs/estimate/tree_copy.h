// The copy of whole trees into a ScratchVolume: folders and files with their extended attributes and access control lists, symbolic
// links, hard links, special files.
//
// Threads: one user at a time.
// Failure: what cannot be read is counted and left out. Errors of the volume, and those of `progress`, end the copy.
#pragma once

#include <cstdint>
#include <map>
#include <utility>
#include <vector>

#include "base/result.h"
#include "fs/estimate/scratch_volume.h"
#include "fs/estimate/source_tree.h"

namespace dedupfs {

// What was not as it should be.
struct SourceProblems {
  std::uint64_t unreadable = 0;
  std::uint64_t changed = 0;  // got shorter while they were read
  std::vector<Error> first;   // of the unreadable ones

  void note(const Error& error);
  void note(const ScratchVolume::CopiedFile& copied);
};

class TreeCopy final : public SourceVisitor {
 public:
  TreeCopy(const SourceTree& tree, ScratchVolume& volume, ScratchVolume::Progress progress)
      : tree_(tree), volume_(volume), progress_(std::move(progress)) {}

  Result<void> visit(const SourceEntry& entry) override;
  void note_unreadable(const Error& error) override { problems_.note(error); }
  Result<void> go_on() override { return progress_(0); }

  const SourceProblems& problems() const { return problems_; }

 private:
  Result<void> copy_folder(const SourceEntry& entry, const std::string& name);
  Result<void> copy_regular(const SourceEntry& entry, const std::string& name);
  Result<void> copy_xattrs(const SourceEntry& entry, InodeNumber inode);
  Result<void> copy_symlink(const SourceEntry& entry, const std::string& name);
  InodeNumber parent_of(const SourceEntry& entry) const;

  const SourceTree& tree_;
  ScratchVolume& volume_;
  const ScratchVolume::Progress progress_;
  std::vector<InodeNumber> folders_;                       // that the walk is in, the root first
  std::map<std::pair<dev_t, ino_t>, InodeNumber> linked_;  // files with more names
  SourceProblems problems_;
};

}  // namespace dedupfs
