#include "replica/summed_record.h"

#include <fmt/format.h>

#include <algorithm>

#include "hash/sha256.h"

namespace dedupfs {

void begin_record(Encoder& encoder, const RecordKind& kind) {
  encoder.u64(kind.magic);
  encoder.u16(kind.version);
}

void end_record(std::string& bytes) {
  const Sha256Digest sum = sha256_of(bytes_of(bytes));
  Encoder(bytes).bytes(ByteSpan(sum));
}

Result<ByteSpan> content_of_record(ByteSpan bytes, const RecordKind& kind) {
  constexpr std::size_t kVersionEnd = sizeof(std::uint64_t) + sizeof(std::uint16_t);
  if (bytes.size() < kVersionEnd + sizeof(Sha256Digest))
    return corruption(fmt::format("it is too short to be a {}", kind.name));
  Decoder version(bytes.first(kVersionEnd));
  if (version.u64() != kind.magic) return corruption(fmt::format("it is no {}", kind.name));
  if (const std::uint16_t found = version.u16(); found != kind.version)
    return Error{ErrorCode::kVersion, fmt::format("its version is {}, and this program reads {}; take a newer dedupfs",
                                                  found, kind.version)};
  const ByteSpan all = bytes.first(bytes.size() - sizeof(Sha256Digest));
  if (!std::ranges::equal(sha256_of(all), bytes.subspan(all.size()))) return corruption("its checksum differs");
  return all.subspan(kVersionEnd);
}

}  // namespace dedupfs
