#include "hash/base64.h"

#include <openssl/evp.h>

namespace dedupfs {

std::string base64_of(ByteSpan bytes) {
  std::string text((bytes.size() + 2) / 3 * 4 + 1, '\0');  // a zero at the end
  EVP_EncodeBlock(reinterpret_cast<unsigned char*>(text.data()), bytes.data(), static_cast<int>(bytes.size()));
  text.pop_back();
  return text;
}

}  // namespace dedupfs
