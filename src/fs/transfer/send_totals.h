// What was sent so far. Plain values.
#pragma once

#include <cstdint>

namespace dedupfs::transfer {

struct SendTotals {
  std::uint64_t stream_bytes = 0;   // that the sink got
  std::uint64_t content_bytes = 0;  // of the files that the stream is about
  std::uint64_t done_bytes = 0;     // of these
  std::uint64_t new_bytes = 0;      // of content that travelled, decompressed
  std::uint64_t delta_bytes = 0;    // of content that travelled as deltas, decoded
  std::uint64_t copied_bytes = 0;   // of content that the receiver has
  std::uint64_t names = 0;          // that were removed, made or moved
  std::uint64_t inodes = 0;
};

}  // namespace dedupfs::transfer
