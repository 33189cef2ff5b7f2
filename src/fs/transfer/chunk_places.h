// Where the receiver has the content of a chunk: in the base, or in what the stream has made so far. Consecutive chunks of a segment of a
// recipe are one run, so that whole volumes take little memory.
//
// Threads:   one user at a time.
// Ownership: the trees must outlive it.
// Memory:    about 100 bytes for each run.
// Failure:   errors of the trees.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <vector>

#include "base/result.h"
#include "fs/transfer/records.h"
#include "fs/trees/committed_tree.h"
#include "store/format/types.h"

namespace dedupfs::transfer {

class ChunkPlaces {
 public:
  // `base` none: the receiver has nothing yet.
  ChunkPlaces(const CommittedTree& sent, const CommittedTree* base) : sent_(sent), base_(base) {}

  // The chunk will be at this offset of the file when what follows is read. `segment`: the offset of the segment of its recipe.
  void note_sent(ChunkId chunk, std::uint64_t length, InodeNumber inode, std::uint64_t offset, std::uint64_t segment);
  // Nothing: the receiver has not got it.
  Result<std::optional<ContentPlace>> find(ChunkId chunk);

 private:
  struct Run {
    std::uint64_t end = 0;  // of the chunk ids
    Tree tree = Tree::kNow;
    InodeNumber inode = 0;
    std::uint64_t segment = 0;
    std::uint64_t offset = 0;
    std::uint64_t bytes = 0;
  };
  using Runs = std::map<std::uint64_t, Run>;  // by their first chunk id; they do not overlap

  Result<void> read_base();
  void note(ChunkId chunk, const Run& place);
  Result<void> measure(Runs::const_iterator run);

  const CommittedTree& sent_;
  const CommittedTree* const base_;
  bool has_read_base_ = false;
  Runs runs_;
  Runs::iterator last_ = runs_.end();  // that was made or grew
  // The chunks of the run that was used last.
  std::uint64_t measured_ = 0;          // its first chunk id; 0: none
  std::vector<std::uint64_t> offsets_;  // in the file, of its chunks, and of the end
};

}  // namespace dedupfs::transfer
