#include "store/chunks/fingerprint.h"

#include "hash/sha256.h"

namespace dedupfs {

Fingerprint fingerprint_of(ByteSpan chunk) {
  return {sha256_of(chunk)};
}

std::vector<Fingerprint> fingerprints_of(std::span<const ByteSpan> chunks) {
  static_assert(sizeof(Fingerprint) == sizeof(Sha256Digest));  // so that those of a vector lie one after the other
  std::vector<Fingerprint> fingerprints(chunks.size());
  sha256_of_each(chunks, {reinterpret_cast<std::uint8_t*>(fingerprints.data()), chunks.size() * sizeof(Fingerprint)});
  return fingerprints;
}

}  // namespace dedupfs
