// The ciphers and the derivation of keys: AES-256-GCM, ChaCha20-Poly1305, HMAC-SHA256, HKDF, random bytes; all of OpenSSL.
//
// Threads:   an Aead belongs to one thread at a time; the functions are safe from any thread.
// Ownership: an Aead holds a context of OpenSSL with the key schedule, which is zeroed when it is freed.
// Failure:   a library that lacks what every OpenSSL 3 has ends the program. open() is false for anything but what was sealed.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <optional>
#include <string_view>

#include "base/bytes.h"
#include "store/seal/secret.h"

namespace dedupfs {

enum class Cipher : std::uint8_t { kAes256Gcm, kChaCha20Poly1305 };

std::string_view name_of(Cipher cipher);  // as the header of a volume has it
std::optional<Cipher> cipher_named(std::string_view name);
// The one that is faster on this machine: both are measured, for some milliseconds.
Cipher faster_cipher();

inline constexpr std::size_t kCipherKeyBytes = 32;
inline constexpr std::size_t kTagBytes = 16;

class Aead {
 public:
  Aead(Cipher cipher, ByteSpan key);
  ~Aead();
  Aead(Aead&&) noexcept;
  Aead& operator=(Aead&&) noexcept;

  // `nonce` must be new for this key. Fills `out`, which has room for `plain` and kTagBytes.
  void seal(std::uint64_t nonce, ByteSpan associated, ByteSpan plain, std::uint8_t* out);
  // Fills `out`, which has room for `sealed` without kTagBytes. Zeros it if it returns false.
  bool open(std::uint64_t nonce, ByteSpan associated, ByteSpan sealed, std::uint8_t* out);

 private:
  struct Context;
  std::unique_ptr<Context> context_;
};

using Mac = std::array<std::uint8_t, 32>;
Mac hmac_sha256(ByteSpan key, ByteSpan message);
// RFC 5869 with SHA-256; at most 255 * 32 bytes.
Secret hkdf_sha256(ByteSpan key, ByteSpan salt, ByteSpan info, std::size_t length);
bool equal_in_constant_time(ByteSpan one, ByteSpan other);
void fill_randomly(MutableByteSpan out);

}  // namespace dedupfs
