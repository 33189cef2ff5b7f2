// The common part of all content-defined chunkers: it walks through the data and knows which chunks are final.
#pragma once

#include <algorithm>
#include <cstddef>
#include <vector>

#include "base/bytes.h"

namespace dedupfs {

// Chunker::split() for an algorithm given as find_cut(start, n, complete): the length of the chunk that begins at
// data[start], looking at no more than n bytes, or 0 if none of them decides it. n is max_bytes, or less where the data
// ends before; `complete` says that bytes which follow them, if any, can have no part in the chunk. The first chunk
// begins at `start`.
template <class FindCut>
std::size_t cut_stream(ByteSpan data, bool last, std::size_t max_bytes, std::vector<std::size_t>& ends,
                       FindCut find_cut, std::size_t start = 0) {
  while (start < data.size()) {
    const std::size_t n = std::min(data.size() - start, max_bytes);
    const bool complete = last || n == max_bytes;
    std::size_t length = find_cut(start, n, complete);
    if (length == 0) {
      if (!complete) break;
      length = n;
    }
    ends.push_back(start += length);
  }
  return start;
}

}  // namespace dedupfs
