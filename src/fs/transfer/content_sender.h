// Sends the content of files: what is new as bytes or as a delta, everything else by its place at the receiver.
//
// A chunk that is stored as a delta is sent as that delta, if the receiver has its sources. After a reclaim it may be the other way
// round: the older content is a delta of the newer one. So what is stored whole is compared with the part of the base that follows
// the last match, or that was at its offset.
//
// Threads:   one user at a time.
// Ownership: all constructor arguments must outlive it.
// Failure:   errors of the volume, the trees and the frames.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <utility>

#include "base/result.h"
#include "fs/namespace/filesystem.h"
#include "fs/transfer/chunk_places.h"
#include "fs/transfer/file_changes.h"
#include "fs/transfer/records.h"
#include "fs/transfer/send_totals.h"
#include "fs/trees/committed_tree.h"

namespace dedupfs::transfer {

class ContentSender {
 public:
  // Writes a record. It sees to it that the receiver knows the inodes in it.
  using Emit = std::function<Result<void>(const Record& record)>;

  ContentSender(Filesystem& filesystem, const CommittedTree* base, const CommittedTree& sent, SendTotals& totals,
                Emit emit)
      : filesystem_(filesystem),
        base_(base),
        sent_(sent),
        totals_(totals),
        emit_(std::move(emit)),
        places_(sent, base) {}

  struct File {
    InodeNumber inode = 0;
    std::uint64_t size = 0;
    bool was_there = false;         // in the base, as the same inode
    InodeNumber older_version = 0;  // an inode of the base that had its name, maybe the same one; 0: none
  };
  // What ends at `begin` or in front of it, the receiver has got already.
  Result<void> send(const File& file, std::uint64_t begin);

 private:
  // Where in the base the content at an offset of the file is likely to have come from.
  struct Guess {
    std::uint64_t offset = 0;  // in the file
    InodeNumber inode = 0;     // of the base
    std::uint64_t base_offset = 0;
  };

  Result<void> send_entry(const File& file, const ChangedEntry& changed);
  Result<void> send_chunk(const File& file, const ChangedEntry& changed);
  Result<void> send_bytes(InodeNumber inode, std::uint64_t offset, ByteSpan bytes);
  // False: the receiver lacks a source, or there is no delta.
  Result<bool> send_stored_delta(InodeNumber inode, const ChangedEntry& changed);
  Result<bool> send_new_delta(const File& file, std::uint64_t offset, ByteSpan bytes);
  void note_match(std::uint64_t end, const ContentPlace& place);
  // Copies that follow each other are one.
  Result<void> add_copy(InodeNumber inode, std::uint64_t offset, const ContentPlace& place);
  Result<void> flush_copy();

  Filesystem& filesystem_;
  const CommittedTree* const base_;
  const CommittedTree& sent_;
  SendTotals& totals_;
  const Emit emit_;
  ChunkPlaces places_;
  std::optional<CopiedContent> copy_;
  std::optional<Guess> guess_;  // of what follows the last match
};

}  // namespace dedupfs::transfer
