// What all content-defined chunkers share: walking through the data and knowing which chunks are certain.
#pragma once

#include <algorithm>
#include <cstddef>
#include <vector>

#include "base/bytes.h"

namespace dedupfs {

// Chunker::split() for an algorithm given as find_cut(start, n): the length of the chunk that begins at data[start],
// looking at no more than n bytes, or 0 if none of them decides it. n is max_bytes, or less where the data ends before.
template <class FindCut>
std::size_t cut_stream(ByteSpan data, bool last, std::size_t max_bytes, std::vector<std::size_t>& ends,
                       FindCut find_cut) {
  std::size_t start = 0;
  while (start < data.size()) {
    const std::size_t n = std::min(data.size() - start, max_bytes);
    std::size_t length = find_cut(start, n);
    if (length == 0) {
      if (n < max_bytes && !last) break;  // the bytes that follow decide
      length = n;
    }
    ends.push_back(start += length);
  }
  return start;
}

}  // namespace dedupfs
