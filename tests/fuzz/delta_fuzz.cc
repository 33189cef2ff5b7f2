// Any delta, against a fixed source: decoding succeeds or is kCorruption, within bounds and within memory.
#include <cstddef>
#include <cstdint>

#include "base/check.h"
#include "delta/xdelta3_codec.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  static const dedupfs::ByteBuffer source = [] {
    dedupfs::ByteBuffer bytes(2048);
    for (std::size_t i = 0; i < bytes.size(); ++i) bytes[i] = static_cast<std::uint8_t>(i * i >> 3);
    return bytes;
  }();
  // The first two bytes choose the size of the target, so that the fuzzer finds deltas that decode.
  if (size < 2) return 0;
  dedupfs::ByteBuffer target(std::size_t{1} + data[0] + std::size_t{256} * data[1]);

  const auto decoded = dedupfs::Xdelta3Codec::decode(source, {data + 2, size - 2}, target);

  DEDUPFS_CHECK(decoded || decoded.error().code() == dedupfs::ErrorCode::kCorruption);
  return 0;
}
