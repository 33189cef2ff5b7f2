#include "store/seal/cipher.h"

#include <openssl/crypto.h>
#include <openssl/evp.h>
#include <openssl/hmac.h>
#include <sys/random.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <string>
#include <utility>
#include <vector>

#include "base/check.h"

namespace dedupfs {
namespace {

// Threads of RocksDB use OpenSSL until the very end of the program, so OpenSSL must not clean up before them.
[[maybe_unused]] const int kKeptUntilTheEnd = OPENSSL_init_crypto(OPENSSL_INIT_NO_ATEXIT, nullptr);

constexpr std::size_t kNonceBytes = 12;
using NonceBytes = std::array<std::uint8_t, kNonceBytes>;

struct CipherContextDeleter {
  void operator()(EVP_CIPHER_CTX* context) const { EVP_CIPHER_CTX_free(context); }
};
using CipherContext = std::unique_ptr<EVP_CIPHER_CTX, CipherContextDeleter>;

// Fetched once: OpenSSL takes a lock and microseconds for it.
const EVP_CIPHER* algorithm_of(Cipher cipher) {
  static const EVP_CIPHER* const aes = EVP_CIPHER_fetch(nullptr, "AES-256-GCM", nullptr);
  static const EVP_CIPHER* const chacha = EVP_CIPHER_fetch(nullptr, "ChaCha20-Poly1305", nullptr);
  const EVP_CIPHER* const found = cipher == Cipher::kAes256Gcm ? aes : chacha;
  DEDUPFS_CHECK(found != nullptr);  // of the library
  return found;
}

// Both ciphers have one key schedule for both directions.
CipherContext keyed_context(Cipher cipher, ByteSpan key) {
  DEDUPFS_CHECK(key.size() == kCipherKeyBytes);  // of our own
  CipherContext context(EVP_CIPHER_CTX_new());
  DEDUPFS_CHECK(context && EVP_DecryptInit_ex2(context.get(), algorithm_of(cipher), key.data(), nullptr, nullptr) ==
                               1);  // of the library
  return context;
}

// 64 bits, the least significant byte first, then zeros.
NonceBytes nonce_bytes(std::uint64_t nonce) {
  NonceBytes bytes{};
  for (std::size_t i = 0; i < sizeof nonce; ++i) bytes[i] = static_cast<std::uint8_t>(nonce >> (8 * i));
  return bytes;
}

// All lengths here fit an int: the longest is a frame.
int to_int(std::size_t length) {
  DEDUPFS_CHECK(length <= INT32_MAX);  // of our own
  return static_cast<int>(length);
}

double seconds_to_seal(Cipher cipher) {
  constexpr std::size_t kPiece = 8 << 10;
  constexpr std::uint64_t kRounds = 128;
  const std::vector<std::uint8_t> key(kCipherKeyBytes, 1);
  const std::vector<std::uint8_t> plain(kPiece, 2);
  std::vector<std::uint8_t> sealed(kPiece + kTagBytes);
  Aead aead(cipher, key);
  double best = 1;
  for (int attempt = 0; attempt < 3; ++attempt) {
    const auto start = std::chrono::steady_clock::now();
    for (std::uint64_t round = 0; round < kRounds; ++round) aead.seal(round, {}, plain, sealed.data());
    best = std::min(best, std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count());
  }
  return best;
}

}  // namespace

std::string_view name_of(Cipher cipher) {
  return cipher == Cipher::kAes256Gcm ? "aes-256-gcm" : "chacha20-poly1305";
}

std::optional<Cipher> cipher_named(std::string_view name) {
  for (const Cipher cipher : {Cipher::kAes256Gcm, Cipher::kChaCha20Poly1305})
    if (name_of(cipher) == name) return cipher;
  return std::nullopt;
}

Cipher faster_cipher() {
  return seconds_to_seal(Cipher::kAes256Gcm) <= seconds_to_seal(Cipher::kChaCha20Poly1305) ? Cipher::kAes256Gcm
                                                                                           : Cipher::kChaCha20Poly1305;
}

struct Aead::Context {
  CipherContext keyed;
};

Aead::Aead(Cipher cipher, ByteSpan key) : context_(new Context{keyed_context(cipher, key)}) {}
Aead::~Aead() = default;
Aead::Aead(Aead&&) noexcept = default;
Aead& Aead::operator=(Aead&&) noexcept = default;

void Aead::seal(std::uint64_t nonce, ByteSpan associated, ByteSpan plain, std::uint8_t* out) {
  EVP_CIPHER_CTX* const context = context_->keyed.get();
  const NonceBytes bytes = nonce_bytes(nonce);
  int length = 0;
  bool done = EVP_EncryptInit_ex2(context, nullptr, nullptr, bytes.data(), nullptr) == 1;
  if (!associated.empty())
    done = done && EVP_EncryptUpdate(context, nullptr, &length, associated.data(), to_int(associated.size())) == 1;
  if (!plain.empty()) done = done && EVP_EncryptUpdate(context, out, &length, plain.data(), to_int(plain.size())) == 1;
  done = done && EVP_EncryptFinal_ex(context, out + plain.size(), &length) == 1;
  done = done && EVP_CIPHER_CTX_ctrl(context, EVP_CTRL_AEAD_GET_TAG, to_int(kTagBytes), out + plain.size()) == 1;
  DEDUPFS_CHECK(done);  // the library takes bytes of any content
}

bool Aead::open(std::uint64_t nonce, ByteSpan associated, ByteSpan sealed, std::uint8_t* out) {
  if (sealed.size() < kTagBytes) return false;
  EVP_CIPHER_CTX* const context = context_->keyed.get();
  const ByteSpan text = sealed.first(sealed.size() - kTagBytes);
  std::array<std::uint8_t, kTagBytes> tag;
  std::ranges::copy(sealed.last(kTagBytes), tag.begin());
  const NonceBytes bytes = nonce_bytes(nonce);
  int length = 0;
  bool done = EVP_DecryptInit_ex2(context, nullptr, nullptr, bytes.data(), nullptr) == 1;
  if (!associated.empty())
    done = done && EVP_DecryptUpdate(context, nullptr, &length, associated.data(), to_int(associated.size())) == 1;
  if (!text.empty()) done = done && EVP_DecryptUpdate(context, out, &length, text.data(), to_int(text.size())) == 1;
  done = done && EVP_CIPHER_CTX_ctrl(context, EVP_CTRL_AEAD_SET_TAG, to_int(kTagBytes), tag.data()) == 1;
  std::array<std::uint8_t, 1> nothing{};
  if (done && EVP_DecryptFinal_ex(context, nothing.data(), &length) == 1) return true;
  zero({out, text.size()});
  return false;
}

Mac hmac_sha256(ByteSpan key, ByteSpan message) {
  static constexpr std::uint8_t kNoKey = 0;  // OpenSSL takes a null pointer for "the key of before"
  Mac mac;
  unsigned int length = 0;
  DEDUPFS_CHECK(HMAC(EVP_sha256(), key.empty() ? &kNoKey : key.data(), to_int(key.size()), message.data(),
                     message.size(), mac.data(), &length) != nullptr &&
                length == mac.size());  // of the library
  return mac;
}

Secret hkdf_sha256(ByteSpan key, ByteSpan salt, ByteSpan info, std::size_t length) {
  Mac pseudorandom_key = hmac_sha256(salt.empty() ? ByteSpan(Mac{}) : salt, key);
  Secret out(length);
  std::vector<std::uint8_t> block;
  for (std::size_t filled = 0; filled < length;) {
    block.insert(block.end(), info.begin(), info.end());
    block.push_back(static_cast<std::uint8_t>(filled / pseudorandom_key.size() + 1));
    Mac piece = hmac_sha256(pseudorandom_key, block);
    const std::size_t taken = std::min(piece.size(), length - filled);
    std::ranges::copy(ByteSpan(piece).first(taken), out.bytes().subspan(filled).begin());
    filled += taken;
    zero(block);
    block.assign(piece.begin(), piece.end());
    zero(piece);
  }
  zero(block);
  zero(pseudorandom_key);
  return out;
}

bool equal_in_constant_time(ByteSpan one, ByteSpan other) {
  return one.size() == other.size() && CRYPTO_memcmp(one.data(), other.data(), one.size()) == 0;
}

void fill_randomly(MutableByteSpan out) {
  while (!out.empty()) {
    const ssize_t got = ::getrandom(out.data(), out.size(), 0);
    if (got < 0 && errno == EINTR) continue;
    DEDUPFS_CHECK(got > 0);  // without random numbers there is no secret
    out = out.subspan(static_cast<std::size_t>(got));
  }
}

}  // namespace dedupfs
