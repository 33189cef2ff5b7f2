#include "store/chunks/fingerprint.h"

#include <openssl/evp.h>

#include <memory>

#include "base/check.h"

namespace dedupfs {
namespace {

struct ContextDeleter {
  void operator()(EVP_MD_CTX* context) const { EVP_MD_CTX_free(context); }
};
struct DigestDeleter {
  void operator()(EVP_MD* digest) const { EVP_MD_free(digest); }
};

// Fetching the algorithm and making a context for every call would cost 7-9 % at 4-8 KiB.
const EVP_MD* sha256() {
  static const std::unique_ptr<EVP_MD, DigestDeleter> digest(EVP_MD_fetch(nullptr, "SHA256", nullptr));
  DEDUPFS_CHECK(digest != nullptr);  // of the library
  return digest.get();
}

}  // namespace

Fingerprint fingerprint_of(ByteSpan chunk) {
  thread_local const std::unique_ptr<EVP_MD_CTX, ContextDeleter> context(EVP_MD_CTX_new());
  DEDUPFS_CHECK(context != nullptr);  // of the library
  Fingerprint fingerprint;
  unsigned int length = 0;
  // The library takes bytes of any content and number.
  DEDUPFS_CHECK(EVP_DigestInit_ex2(context.get(), sha256(), nullptr) == 1 &&
                EVP_DigestUpdate(context.get(), chunk.data(), chunk.size()) == 1 &&
                EVP_DigestFinal_ex(context.get(), fingerprint.bytes.data(), &length) == 1 &&
                length == fingerprint.bytes.size());
  return fingerprint;
}

}  // namespace dedupfs
