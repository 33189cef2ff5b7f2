// Delta encoding of one buffer against another in VCDIFF (RFC 3284), written and read by xdelta3.
//
// MatchFinder finds the matches. xdelta3's own search begins with a hash table of the whole source; for a source of several
// chunks, that takes most of its time.
//
// Deltas:  one window, without secondary compression (the region that a delta lands in is compressed as a whole), without
//          Adler-32 (a chunk has its fingerprint) and without any extension. Any VCDIFF decoder can read them; decode()
//          reads no others.
// Threads: any number of calls at once.
// Memory:  each thread keeps what its calls needed, at most kMaxMemoryBytes, whatever a delta asks for. Decoding takes
//          4 KiB.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>

#include "base/bytes.h"
#include "base/result.h"
#include "delta/match_finder.h"

namespace dedupfs {

class Xdelta3Codec {
 public:
  static constexpr std::size_t kMaxSourceBytes = std::size_t{8} << 20;
  static constexpr std::size_t kMaxTargetBytes = std::size_t{1} << 20;
  static constexpr std::size_t kMaxDeltaBytes = 2 * kMaxTargetBytes;
  static constexpr std::size_t kMaxMemoryBytes = std::size_t{5} << 20;

  // Writes the delta that makes `target` from `source` to the beginning of `delta` and returns its size. Returns nothing if it
  // does not fit: the caller sizes that buffer by the cost that a delta may have. `likely_offset` is the expected begin of the
  // target in the source. A wrong offset costs time, and hardly ever bytes. kInvalidArgument unless source and target have from
  // one byte to the limits above, and the offset is less than the source.
  static Result<std::optional<std::size_t>> encode(ByteSpan source, ByteSpan target, MutableByteSpan delta,
                                                   std::size_t likely_offset = 0);
  // The same by a finder of the caller, for sources that have much in common; `moved_by` as in MatchFinder::find().
  static Result<std::optional<std::size_t>> encode(ByteSpan source, ByteSpan target, MutableByteSpan delta,
                                                   std::size_t likely_offset, MatchFinder& finder,
                                                   std::size_t moved_by);

  // The part of the source that a delta, which is not trusted, copies from; it may reach beyond the end of the source.
  // decode() looks at no other byte of the source. kCorruption for a delta that does not begin as encode() writes it.
  struct Range {
    std::uint64_t begin = 0;
    std::uint64_t end = 0;
  };
  static Result<Range> source_range(ByteSpan delta);

  // The same delta, to be decoded from a source that lacks the first `bytes` bytes. It copies from none of these: source_range() says so,
  // otherwise it is kCorruption.
  static Result<ByteBuffer> without_begin_of_source(ByteSpan delta, std::size_t bytes);

  // Fills `target` from `source` and a delta. Neither is trusted. A delta that is malformed, reaches beyond the source or does
  // not make exactly target.size() bytes is kCorruption; the content of `target` then has no meaning. A delta that was changed
  // may still decode: the caller compares the chunk's checksum.
  static Result<void> decode(ByteSpan source, ByteSpan delta, MutableByteSpan target);
};

}  // namespace dedupfs
