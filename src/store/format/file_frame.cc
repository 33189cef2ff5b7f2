#include "store/format/file_frame.h"

#include <fmt/format.h>
#include <xxhash.h>

#include "base/check.h"

namespace dedupfs {
namespace {

constexpr std::size_t kChecksumAt = kFrameBytes - sizeof(std::uint64_t);

}  // namespace

std::string begin_frame(std::uint64_t magic, std::uint16_t version) {
  std::string bytes;
  bytes.reserve(kFrameBytes);
  Encoder encoder(bytes);
  encoder.u64(magic);
  encoder.u16(version);
  encoder.u16(0);
  return bytes;
}

std::string end_frame(std::string bytes) {
  DEDUPFS_CHECK(bytes.size() <= kChecksumAt);  // fields of a frame that we write
  bytes.resize(kChecksumAt);
  Encoder(bytes).u64(XXH3_64bits(bytes.data(), kChecksumAt));
  return bytes;
}

Result<Decoder> open_frame(ByteSpan bytes, std::uint64_t magic, FrameVersions versions, std::string_view what) {
  DEDUPFS_CHECK(bytes.size() == kFrameBytes);  // the buffer of the caller
  Decoder decoder(bytes);
  if (decoder.u64() != magic) return Error{ErrorCode::kCorruption, fmt::format("no {} is here", what)};
  if (Decoder(bytes.subspan(kChecksumAt)).u64() != XXH3_64bits(bytes.data(), kChecksumAt))
    return Error{ErrorCode::kCorruption, fmt::format("the checksum of the {} differs", what)};
  const std::uint16_t version = decoder.u16();
  if (version > versions.newest || version < versions.oldest)
    return Error{ErrorCode::kVersion, fmt::format("the {} has format version {}", what, version)};
  decoder.u16();
  return decoder;
}

}  // namespace dedupfs
