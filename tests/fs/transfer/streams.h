// Streams of bytes in memory.
#pragma once

#include <algorithm>
#include <string>
#include <string_view>

#include "base/byte_stream.h"

namespace dedupfs::transfer {

inline StreamSink into(std::string& out) {
  return [&out](ByteSpan bytes) -> Result<void> {
    out += text_of(bytes);
    return {};
  };
}

inline StreamSource out_of(std::string_view bytes, std::size_t piece = 1000) {
  return [bytes, piece](MutableByteSpan room) mutable -> Result<std::size_t> {
    const std::size_t count = std::min({room.size(), bytes.size(), piece});
    std::copy_n(bytes.data(), count, room.begin());
    bytes.remove_prefix(count);
    return count;
  };
}

}  // namespace dedupfs::transfer
