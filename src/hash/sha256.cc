#include "hash/sha256.h"

#include <vector>

#include "base/check.h"
#include "hash/kernel_choice.h"
#include "hash/openssl_kernel.h"

namespace dedupfs {

static_assert(std::tuple_size_v<Sha256Digest> == sha256::kDigestBytes);

Sha256Digest sha256_of(ByteSpan message) {
  Sha256Digest digest;
  const sha256::Message one{message.data(), message.size()};
  sha256::kOpensslKernels.hash_messages(&one, 1, digest.data());
  return digest;
}

void sha256_of_each(std::span<const ByteSpan> messages, MutableByteSpan digests) {
  DEDUPFS_CHECK(digests.size() == messages.size() * sha256::kDigestBytes);
  std::vector<sha256::Message> list;
  list.reserve(messages.size());
  for (const ByteSpan message : messages) list.push_back({message.data(), message.size()});
  sha256::default_choice().run(list.data(), list.size(), digests.data());
}

}  // namespace dedupfs
