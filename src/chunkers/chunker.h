// The one interface of all chunking algorithms.
//
// A chunker cuts a stream into chunks. It carries no state from one chunk to the next: where a chunk ends depends on
// the bytes from its start on, and on nothing else. Boundaries do not depend on how the stream is cut into calls, nor
// on the CPU.
//
// Ownership: none; the bytes are only read.
// Threads:   const and stateless after construction: one chunker serves any number of streams and threads.
// Failure:   split() cannot fail; bad parameters are refused when the chunker is made (registry.h).
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/bytes.h"

namespace dedupfs {

// No chunk of any volume is longer than this.
inline constexpr std::uint32_t kMaxChunkBytesLimit = 1 << 20;

struct ChunkSizes {
  std::uint32_t min_bytes = 0;
  std::uint32_t avg_bytes = 0;
  std::uint32_t max_bytes = 0;
};

class Chunker {
 public:
  virtual ~Chunker() = default;

  // Cuts `data`, which begins at the start of a chunk. Appends to `ends` the end offset, in `data`, of each chunk that
  // is certain whatever bytes follow, and returns the last of them (0 if there is none): the caller hands in the rest
  // again, in front of the bytes that follow it. With `last` no bytes follow, and everything is cut.
  //
  // Progress: data of max_bytes + 1 bytes or more always yields a chunk.
  virtual std::size_t split(ByteSpan data, bool last, std::vector<std::size_t>& ends) const = 0;

  virtual ChunkSizes sizes() const = 0;

  // The canonical spec string, with every parameter: the registry makes the same chunker of it.
  virtual std::string spec() const = 0;

  // The name of the instruction set (isa.h) that serves this chunker.
  virtual std::string_view isa() const = 0;
};

}  // namespace dedupfs
