// Sends the content of files: what is new as bytes or as a delta, everything else by its place at the receiver.
//
// Threads:   one user at a time.
// Ownership: all constructor arguments must outlive it.
// Failure:   errors of the volume, the trees and the frames.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>

#include "base/result.h"
#include "fs/transfer/chunk_places.h"
#include "fs/transfer/file_changes.h"
#include "fs/transfer/records.h"
#include "fs/transfer/sender.h"
#include "fs/trees/committed_tree.h"
#include "store/volume/volume.h"

namespace dedupfs::transfer {

class ContentSender {
 public:
  // Writes a record. It sees to it that the receiver knows the inodes in it.
  using Emit = std::function<Result<void>(const Record& record)>;

  ContentSender(Volume& volume, const CommittedTree* base, const CommittedTree& sent, SendTotals& totals, Emit emit)
      : volume_(volume), base_(base), sent_(sent), totals_(totals), emit_(std::move(emit)), places_(sent, base) {}

  // `was_there`: the file is in the base, too. What ends at `begin` or in front of it, the receiver has got already.
  Result<void> send(InodeNumber inode, std::uint64_t size, bool was_there, std::uint64_t begin);

 private:
  Result<void> send_entry(InodeNumber inode, const ChangedEntry& changed, bool was_there);
  Result<void> send_chunk(InodeNumber inode, const ChangedEntry& changed);
  Result<void> send_bytes(InodeNumber inode, std::uint64_t offset, ByteSpan bytes);
  // False: the receiver lacks a source.
  Result<bool> send_delta(InodeNumber inode, const ChangedEntry& changed);
  // Copies that follow each other are one.
  Result<void> add_copy(InodeNumber inode, std::uint64_t offset, const ContentPlace& place);
  Result<void> flush_copy();

  Volume& volume_;
  const CommittedTree* const base_;
  const CommittedTree& sent_;
  SendTotals& totals_;
  const Emit emit_;
  ChunkPlaces places_;
  std::optional<CopiedContent> copy_;
};

}  // namespace dedupfs::transfer
