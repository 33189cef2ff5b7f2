// Delta encoding of one buffer against another in VCDIFF (RFC 3284), written and read by xdelta3.
//
// Settings: one window, no secondary compression (the region that a delta lands in is compressed as a whole), no Adler-32
//           (a chunk has its fingerprint), the "faster" matcher (hashes every 15th byte of the source: larger steps make
//           deltas larger and the coder slower).
// Threads:  no state; any number of calls at once.
// Memory:   a call takes at most kMaxMemoryBytes beside its arguments, whatever a delta asks for.
#pragma once

#include <cstddef>
#include <optional>

#include "base/bytes.h"
#include "base/result.h"

namespace dedupfs {

class Xdelta3Codec {
 public:
  static constexpr std::size_t kMaxSourceBytes = std::size_t{8} << 20;
  static constexpr std::size_t kMaxTargetBytes = std::size_t{1} << 20;
  static constexpr std::size_t kMaxMemoryBytes = std::size_t{16} << 20;

  // The delta that makes `target` from `source`, or nothing when it would take more than `max_delta_bytes`.
  // Both buffers must have from one byte to the limits above: kInvalidArgument.
  static Result<std::optional<ByteBuffer>> encode(ByteSpan source, ByteSpan target, std::size_t max_delta_bytes);

  // Fills `target` from `source` and a delta, neither of which is trusted. A delta that is malformed, reaches beyond the
  // source or does not make exactly target.size() bytes is kCorruption, and what `target` holds then has no meaning.
  // One that was changed may still decode: the caller compares the chunk's checksum.
  static Result<void> decode(ByteSpan source, ByteSpan delta, MutableByteSpan target);
};

}  // namespace dedupfs
