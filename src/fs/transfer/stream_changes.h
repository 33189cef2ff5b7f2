// What a stream has changed in a folder so far: which inodes it has made, begun, finished and removed. Every other change there is somebody
// else's, and so is one to a finished inode, whose ctime tells. It is kept in a file of the work folder, as a stream that goes on does
// not say again what it did before.
//
// Threads:   one user at a time.
// Ownership: the filesystem must outlive it.
// Memory:    about 60 bytes for each inode.
// Failure:   kCorruption for more inodes than there can be; errors of the filesystem.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "base/result.h"
#include "fs/namespace/filesystem.h"
#include "fs/trees/committed_tree.h"

namespace dedupfs::transfer {

class StreamChanges {
 public:
  // In the work folder, where all others have numbers as names.
  static constexpr std::string_view kFileName = "changes";

  static bool is_in(Filesystem& filesystem, InodeNumber work_folder);
  // `goes_on`: reads what an interrupted stream has noted. Otherwise it begins anew. `most`: inodes that there can be.
  static Result<StreamChanges> open(Filesystem& filesystem, InodeNumber work_folder, bool goes_on, std::uint64_t most);

  Result<void> note_made(InodeNumber inode);
  // What a stream may name without a base.
  bool has_made(InodeNumber inode) const;
  // Call it before content or attributes of an inode change. False: somebody else has changed it since the stream finished it, or since the
  // base.
  Result<bool> begin(InodeNumber inode, std::optional<TreeNumber> base);
  Result<void> note_finished(InodeNumber inode, const Timestamp& ctime);
  Result<void> note_removed(InodeNumber inode);
  // What was noted will be there whenever something later is.
  Result<void> save();

  // The work folder, and the file in it: no stream may change them.
  bool is_own(InodeNumber inode) const { return own_.contains(inode); }
  bool has_finished(InodeNumber inode) const { return is(Kind::kFinished, inode) || is_own(inode); }
  bool has_removed(InodeNumber inode) const { return is(Kind::kRemoved, inode); }
  // The finished ones that are not as the stream left them, in that tree. Of a whole stream, also what lies in these folders, or in one that it has made, and
  // is not the stream's.
  Result<std::vector<InodeNumber>> find_changed(const CommittedTree& tree,
                                                const std::optional<std::vector<InodeNumber>>& whole = {}) const;

 private:
  enum class Kind : std::uint8_t { kBegun = 1, kFinished, kRemoved, kMade };
  struct State {
    Kind kind = Kind::kMade;  // the last note
    bool is_made = false;
    Timestamp ctime;  // of a finished one
  };

  explicit StreamChanges(Filesystem& filesystem) : filesystem_(&filesystem) {}
  Result<void> load(std::uint64_t size);
  Result<void> note(Kind kind, InodeNumber inode, const Timestamp& ctime);
  Result<void> take(Kind kind, InodeNumber inode, const Timestamp& ctime);
  bool is(Kind kind, InodeNumber inode) const;
  Result<void> find_foreign(const CommittedTree& tree, InodeNumber folder, std::vector<InodeNumber>& found) const;

  Filesystem* filesystem_;
  std::uint64_t most_ = 0;
  InodeNumber file_ = 0;
  std::uint64_t saved_bytes_ = 0;
  std::string unsaved_;
  std::unordered_set<InodeNumber> own_;
  std::unordered_map<InodeNumber, State> states_;
};

}  // namespace dedupfs::transfer
