// Cuts new content into pieces: chunks, and holes where zeros run long. The places of the cuts depend on the content only, not
// on the writes that brought it. So equal content has equal recipes.
//
// A maximal run of kHoleRunBytes zero bytes or more is a hole. The chunk before it ends at the start of the run. Between these
// runs the volume's chunker decides.
//
// Threads: const; any number of streams.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "base/bytes.h"
#include "chunkers/chunker.h"

namespace dedupfs {

// Long enough that unused space in database pages does not split chunks, and short enough to find unused space in disk images.
inline constexpr std::size_t kHoleRunBytes = 16 * 1024;

struct Piece {
  std::uint64_t length = 0;
  bool is_hole = false;

  bool operator==(const Piece&) const = default;
};

class ContentCutter {
 public:
  explicit ContentCutter(const Chunker& chunker) : chunker_(chunker) {}

  // `window` starts at the start of a piece. Appends the pieces that later bytes cannot change, and returns how many bytes they
  // cover. With `last` nothing follows, and the pieces cover everything.
  // Progress: at most largest_rest() bytes stay uncovered.
  std::size_t cut(ByteSpan window, bool last, std::vector<Piece>& pieces) const;

  std::size_t largest_rest() const { return chunker_.sizes().max_bytes + kHoleRunBytes; }

 private:
  const Chunker& chunker_;
};

}  // namespace dedupfs
