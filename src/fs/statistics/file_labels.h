// Labels for the files of the live tree: who has a file, by the directories that hold its names.
//
// Threads: one user at a time.
// Cost:    of label_files() and add_users(): a walk over all names of the volume.
// Memory:  some bits for each directory and file with a label.
// Failure: as CommittedView; kNoMemory.
#pragma once

#include <cstdint>
#include <map>
#include <span>
#include <utility>

#include "base/result.h"
#include "fs/statistics/committed_view.h"
#include "fs/statistics/labels.h"
#include "store/chunks/chunk_set.h"

namespace dedupfs {

class FileLabels {
 public:
  // Both must outlive it. No group may be added to the tree any more.
  FileLabels(const CommittedView& view, const GroupTree& groups, std::uint64_t max_bytes)
      : view_(view), groups_(groups), directories_(groups, max_bytes / 2), files_(groups, max_bytes / 2) {}

  // First: the directories, and single names of files. The names in a directory with a label have that label.
  void add_directory(InodeNumber directory, Label group) { directories_.join(directory, group); }
  // And all below it. kInvalidArgument if one of them has the label of another group.
  Result<void> add_tree(InodeNumber directory, Label group);
  // Of a file that is no directory. Call it again for another name in the same directory.
  void add_name(InodeNumber file, InodeNumber parent, Label group);

  // Then: the files. kNotFound if a file does not have a name that was added.
  Result<void> label_files();
  // Of a file or directory. kOthers if no group has it.
  Label of(InodeNumber inode) const {
    const Label label = files_.get(inode);
    return label == kNeededByNobody ? kOthers : label;
  }
  Label of_directory(InodeNumber inode) const { return directories_.get(inode); }
  // Adds to the set at its position the files that a group has a name of, but not alone.
  Result<void> add_users(std::span<const Label> groups, std::span<ChunkSet* const> users) const;

 private:
  struct Name {
    Label group = kNeededByNobody;
    std::uint64_t missing = 0;
  };

  const CommittedView& view_;
  const GroupTree& groups_;
  LabelMap directories_;
  LabelMap files_;
  std::map<std::pair<InodeNumber, InodeNumber>, Name> names_;  // by file and parent
};

}  // namespace dedupfs
