// The frame that headers and trailers of our files have in common: magic and version in front, 64 bytes in all, a checksum
// at the end.
//
// Threads: free functions, safe from any thread.
// Failure: kCorruption for wrong bytes, kVersion for a version that is not read.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "base/bytes.h"
#include "base/coding.h"
#include "base/result.h"

namespace dedupfs {

inline constexpr std::size_t kFrameBytes = 64;

std::string begin_frame(std::uint64_t magic, std::uint16_t version);
// Pads it and adds the checksum.
std::string end_frame(std::string bytes);

struct FrameVersions {
  std::uint16_t oldest = 1;
  std::uint16_t newest = 1;
};
// Stands behind the version; `what` names the thing in errors. `bytes` has kFrameBytes.
Result<Decoder> open_frame(ByteSpan bytes, std::uint64_t magic, FrameVersions versions, std::string_view what);

}  // namespace dedupfs
