// Whether a delta of a chunk pays: whether it takes less disk than the chunk would, with a margin. Compressed among its
// neighbours the chunk gets smaller than alone, and a delta costs reads another region. The rule was found by trial, see
// docs/delta.md: compressed by itself, the delta is to have less than 0.6 of the chunk.
//
// To compress the chunk for that alone takes longer than to make the delta. So a sample of the chunk is compressed first, and
// the rest only where the delta is not clearly smaller.
//
// Threads: one user per object.
#pragma once

#include <cstddef>
#include <optional>

#include "base/bytes.h"

namespace dedupfs {

class DeltaWorth {
 public:
  enum class Method { kSample, kExact };

  // The chunk must outlive it.
  explicit DeltaWorth(ByteSpan chunk, Method method = Method::kSample) : chunk_(chunk), method_(method) {}

  bool pays(ByteSpan delta);
  bool has_compressed_chunk() const { return chunk_bytes_.has_value(); }  // for tests

 private:
  bool pays_by_sample(std::size_t delta_bytes);
  std::size_t sampled_bytes();
  std::size_t chunk_bytes();

  const ByteSpan chunk_;
  const Method method_;
  // Compressed; known once they were asked for.
  std::optional<std::size_t> sampled_bytes_;
  std::optional<std::size_t> chunk_bytes_;
};

}  // namespace dedupfs
