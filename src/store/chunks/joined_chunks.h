// The source of a delta: several chunks, one behind the other.
//
// Threads: one at a time. bytes() may point into memory of the calling thread: they are good until the thread asks another
// JoinedChunks for its bytes.
#pragma once

#include <algorithm>
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

  ByteSpan bytes() const {
    // Raw chunks that were stored together lie side by side in their region: nothing has to be copied.
    if (adjacent_) return {chunks_.front().bytes.data(), total_bytes_};
    thread_local RawBuffer joined;
    joined.resize(std::max(joined.size(), total_bytes_));
    std::size_t offset = 0;
    for (const PinnedBytes& chunk : chunks_) {
      std::ranges::copy(chunk.bytes, joined.begin() + static_cast<std::ptrdiff_t>(offset));
      offset += chunk.bytes.size();
    }
    return ByteSpan(joined).first(total_bytes_);
  }

 private:
  static const std::uint8_t* end_of(const PinnedBytes& chunk) { return chunk.bytes.data() + chunk.bytes.size(); }

  std::vector<PinnedBytes> chunks_;
  std::size_t total_bytes_ = 0;
  bool adjacent_ = false;
};

}  // namespace dedupfs
