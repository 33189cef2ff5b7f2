// The common part of hash-based chunkers: the two stages of SS-CDC (Ni, Lin, Jiang: "SS-CDC: a two-stage parallel content-defined
// chunking for deduplicating backup storage", SYSTOR '19, section 3). The first stage finds all positions whose hash asks for a
// cut, in any chunk. So it can run on all of the data at once. The second, sequential stage picks those that minimum and maximum
// allow. The boundaries are those of the algorithm run byte by byte.
//
// Threads and ownership as chunker.h says.
#pragma once

#include <vector>

#include "chunkers/candidates.h"
#include "chunkers/chunker.h"

namespace dedupfs {

class TwoStageChunker : public Chunker {
 public:
  // Both stages, the first a block ahead of the second.
  std::size_t split(ByteSpan data, bool last, std::vector<std::size_t>& ends) const final;

  // The first stage alone, for data[from, to), where `from` is a multiple of 64: bit i of `bits` says whether byte
  // from + i is a candidate. Writes whole words; bits of bytes behind `to` are zero.
  void mark(ByteSpan data, std::size_t from, std::size_t to, std::uint64_t* bits) const;

  // The second stage alone: split() with the bits of all of `data`. data[start] is the start of a chunk. Returns `start` if no
  // chunk is certain.
  std::size_t select(ByteSpan data, std::size_t start, const std::uint64_t* bits, bool last,
                     std::vector<std::size_t>& ends) const;

 protected:
  virtual CandidateMarker marker() const = 0;

  // See cut_stream().
  virtual std::size_t find_cut(Candidates& candidates, ByteSpan data, std::size_t start, std::size_t n,
                               bool complete) const = 0;

 private:
  std::size_t pick_cuts(Candidates& candidates, ByteSpan data, std::size_t start, bool last,
                        std::vector<std::size_t>& ends) const;
};

}  // namespace dedupfs
