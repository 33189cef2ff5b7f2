// Writes the content that a stream has to files of the live tree: bytes, deltas, copies, holes.
//
// Threads:   one user at a time.
// Ownership: the filesystem must outlive it. It keeps the file open that was written last.
// Failure:   kCorruption for content that is not here or gives other bytes than at the sender; errors of the filesystem.
#pragma once

#include <functional>
#include <optional>
#include <utility>

#include "base/go_on.h"
#include "base/result.h"
#include "fs/namespace/filesystem.h"
#include "fs/transfer/records.h"

namespace dedupfs::transfer {

class ContentReceiver {
 public:
  // From the sender's number of an inode to that of the live tree. An Error: the stream has not said where it is.
  using FindInode = std::function<Result<InodeNumber>(InodeNumber)>;

  // Long work asks `go_on`.
  ContentReceiver(Filesystem& filesystem, FindInode find, GoOn go_on)
      : filesystem_(filesystem), find_(std::move(find)), go_on_(std::move(go_on)) {}
  ~ContentReceiver() { close(); }
  ContentReceiver(const ContentReceiver&) = delete;
  ContentReceiver& operator=(const ContentReceiver&) = delete;

  // The snapshot of this volume that the stream's base is.
  void use_base(TreeNumber tree) { base_ = tree; }

  Result<void> apply(const NewContent& content);
  Result<void> apply(const DeltaContent& content);
  Result<void> apply(const CopiedContent& content);
  Result<void> apply(const Hole& hole);
  void close();
  // The file that was written last, until it is closed. 0: none.
  InodeNumber opened() const { return opened_; }

 private:
  Result<InodeNumber> open(InodeNumber inode);
  Result<void> write(InodeNumber inode, std::uint64_t offset, ByteSpan bytes);
  Result<std::uint64_t> long_hole_at(InodeNumber inode, std::uint64_t offset, std::uint64_t length);
  Result<InodeNumber> node_of_source(const ContentPlace& place) const;

  Filesystem& filesystem_;
  const FindInode find_;
  const GoOn go_on_;
  std::optional<TreeNumber> base_;
  InodeNumber opened_ = 0;  // 0: none
};

}  // namespace dedupfs::transfer
