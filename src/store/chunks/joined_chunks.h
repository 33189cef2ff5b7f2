// The source of a delta: several chunks, one behind the other.
//
// Threads: one at a time. bytes() may point into memory of the calling thread: they are good until the thread asks another
// JoinedChunks for its bytes.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstring>
#include <utility>
#include <vector>

#include "base/bytes.h"
#include "base/raw_buffer.h"
#include "store/chunks/pinned_bytes.h"

namespace dedupfs {

class JoinedChunks {
 public:
  void append(PinnedBytes chunk) {
    total_bytes_ += chunk.bytes.size();
    adjacent_ = chunks_.empty() || (adjacent_ && end_of(chunks_.back()) == chunk.bytes.data());
    chunks_.push_back(std::move(chunk));
  }

  std::size_t size() const { return total_bytes_; }
  std::size_t chunks() const { return chunks_.size(); }
  std::size_t bytes_of(std::size_t chunk) const { return chunks_[chunk].bytes.size(); }
  // Raw chunks that were stored together lie side by side in their region: bytes() copies nothing.
  bool is_adjacent() const { return adjacent_; }

  ByteSpan bytes() const { return bytes(0, total_bytes_); }
  // All of them, but only those at [from, to) have a meaning.
  ByteSpan bytes(std::size_t from, std::size_t to) const {
    if (adjacent_) return {chunks_.front().bytes.data(), total_bytes_};
    thread_local RawBuffer joined;
    joined.resize(std::max(joined.size(), total_bytes_));
    copy(from, to, joined);
    return ByteSpan(joined).first(total_bytes_);
  }
  // Those at [from, to) to the same places in `out`.
  void copy(std::size_t from, std::size_t to, MutableByteSpan out) const {
    std::size_t begin = 0;
    for (const PinnedBytes& chunk : chunks_) {
      const std::size_t end = begin + chunk.bytes.size();
      const std::size_t first = std::max(begin, from);
      const std::size_t last = std::min(end, to);
      if (first < last) std::memcpy(&out[first], &chunk.bytes[first - begin], last - first);
      begin = end;
    }
  }

 private:
  static const std::uint8_t* end_of(const PinnedBytes& chunk) { return chunk.bytes.data() + chunk.bytes.size(); }

  std::vector<PinnedBytes> chunks_;
  std::size_t total_bytes_ = 0;
  bool adjacent_ = false;
};

}  // namespace dedupfs
