// The inodes that a stream may name: what it has made, and what its base has brought here. So none of the receiver's own.
//
// Threads:   one user at a time.
// Ownership: the constructor's arguments, and those of begin(), must outlive it.
// Memory:    about 50 bytes for each inode that the stream names.
// Failure:   kCorruption for all others, and for more inodes than there are; errors of the filesystem, with the path.
#pragma once

#include <cstdint>
#include <optional>
#include <set>
#include <string>
#include <unordered_map>

#include "base/result.h"
#include "fs/namespace/filesystem.h"
#include "fs/transfer/received_folder.h"
#include "fs/transfer/records.h"
#include "fs/transfer/stream_changes.h"

namespace dedupfs::transfer {

class StreamInodes {
 public:
  StreamInodes(Filesystem& filesystem, const ReceivedFolder& folder)
      : filesystem_(filesystem), folder_(folder), numbers_{{kRootInode, folder.inode()}} {}

  // `names`: of ReceivedFolder::received_names().
  void use_base(const ReceivedFolder::Copy& base, std::set<std::string> names);
  const std::set<std::string>& base_names() const { return base_names_; }
  // `most`: inodes that there can be; the stream may make more.
  void begin(const StreamChanges& changes, std::uint64_t most);

  // From the sender's number to that of the live tree.
  Result<InodeNumber> find(InodeNumber inode) const;
  // 0 for one that find() does not know.
  InodeNumber number_of(InodeNumber inode) const;
  Result<void> apply(const KnownInode& known);
  Result<void> found(InodeNumber inode, InodeNumber number);
  Result<void> made(InodeNumber inode, InodeNumber number);
  // That the base has brought this name into the folder of the live tree. In the root of a volume, not all are.
  Result<void> check_brought(InodeNumber folder, const std::string& name) const;

 private:
  Filesystem& filesystem_;
  const ReceivedFolder& folder_;
  std::optional<ReceivedFolder::Copy> base_;
  std::set<std::string> base_names_;
  const StreamChanges* changes_ = nullptr;
  std::uint64_t most_ = 0;
  std::unordered_map<InodeNumber, InodeNumber> numbers_;
};

}  // namespace dedupfs::transfer
