#include "hash/openssl_kernel.h"

#include <openssl/evp.h>

#include <memory>

#include "base/check.h"

namespace dedupfs::sha256 {
namespace {

struct ContextDeleter {
  void operator()(EVP_MD_CTX* context) const { EVP_MD_CTX_free(context); }
};
struct DigestDeleter {
  void operator()(EVP_MD* digest) const { EVP_MD_free(digest); }
};

// Fetching the algorithm and making a context for every call would cost 7-9 % at 4-8 KiB.
const EVP_MD* algorithm() {
  static const std::unique_ptr<EVP_MD, DigestDeleter> digest(EVP_MD_fetch(nullptr, "SHA256", nullptr));
  DEDUPFS_CHECK(digest != nullptr);  // of the library
  return digest.get();
}

void hash_one_by_one(const Message* messages, std::size_t count, std::uint8_t* digests) {
  thread_local const std::unique_ptr<EVP_MD_CTX, ContextDeleter> context(EVP_MD_CTX_new());
  DEDUPFS_CHECK(context != nullptr);  // of the library
  for (std::size_t i = 0; i < count; ++i) {
    unsigned int length = 0;
    // The library takes bytes of any content and number.
    DEDUPFS_CHECK(EVP_DigestInit_ex2(context.get(), algorithm(), nullptr) == 1 &&
                  EVP_DigestUpdate(context.get(), messages[i].data, messages[i].size) == 1 &&
                  EVP_DigestFinal_ex(context.get(), digests + i * kDigestBytes, &length) == 1 &&
                  length == kDigestBytes);
  }
}

}  // namespace

constinit const Kernels kOpensslKernels = {.hash_messages = &hash_one_by_one};

}  // namespace dedupfs::sha256
