// The chunks of a part of a file, as a volume would cut the whole file: the parts of a file have each of its chunks once, and no
// chunk is cut at the border of a part. That is sure for chunks of one size, and nearly so for others: a chunker that starts in the
// middle of a file may need some chunks more to find the cuts.
//
// Threads: one user at a time.
// Failure: what cannot be read is told in the result. An Error of the visitor ends the reading.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <vector>

#include "base/result.h"
#include "chunkers/chunker.h"
#include "fs/content/content_cutter.h"
#include "fs/estimate/sample_plan.h"
#include "fs/estimate/source_tree.h"

namespace dedupfs {

class PieceReader {
 public:
  PieceReader(const SourceTree& tree, const Chunker& chunker);

  struct Found {
    std::uint64_t bytes = 0;          // of the chunks
    bool changed = false;             // the file got shorter meanwhile
    std::optional<Error> unreadable;  // from somewhere on
  };
  // `offset` is that of the chunk in the file. The bytes are there during the call.
  using Visit = std::function<Result<void>(std::uint64_t offset, ByteSpan chunk)>;
  Result<Found> read(const SamplePiece& piece, const Visit& visit);

 private:
  struct Span;
  Result<bool> read_extent(const SourceFile& file, SourceFile::Extent extent, const Span& span, const Visit& visit,
                           Found& found);

  const SourceTree& tree_;
  const ContentCutter cutter_;
  const std::uint64_t avg_chunk_bytes_;
  const std::uint64_t max_chunk_bytes_;
  ByteBuffer buffer_;
  std::vector<Piece> cuts_;
};

}  // namespace dedupfs
