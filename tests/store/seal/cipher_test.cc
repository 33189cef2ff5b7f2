#include "store/seal/cipher.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "store/hex.h"

namespace dedupfs {
namespace {

ByteBuffer bytes_from_hex(std::string_view text) {
  ByteBuffer bytes;
  for (std::size_t i = 0; i + 1 < text.size(); i += 2)
    bytes.push_back(static_cast<std::uint8_t>(std::stoul(std::string(text.substr(i, 2)), nullptr, 16)));
  return bytes;
}

class CipherTest : public testing::TestWithParam<Cipher> {
 protected:
  const ByteBuffer key_ = ByteBuffer(kCipherKeyBytes, 7);
  Aead aead_{GetParam(), key_};

  ByteBuffer seal(std::uint64_t nonce, std::string_view plain, std::string_view associated = {}) {
    ByteBuffer sealed(plain.size() + kTagBytes);
    aead_.seal(nonce, bytes_of(associated), bytes_of(plain), sealed.data());
    return sealed;
  }
  std::optional<std::string> open(std::uint64_t nonce, ByteSpan sealed, std::string_view associated = {}) {
    std::string plain(sealed.size() - kTagBytes, 'x');
    if (aead_.open(nonce, bytes_of(associated), sealed, reinterpret_cast<std::uint8_t*>(plain.data()))) return plain;
    EXPECT_EQ(plain, std::string(plain.size(), '\0')) << "what was not authenticated is not left behind";
    return std::nullopt;
  }
};

TEST_P(CipherTest, OpensWhatItSealed) {
  EXPECT_EQ(open(3, seal(3, "some content", "place"), "place"), "some content");
  EXPECT_EQ(open(4, seal(4, "")), "");
}

TEST_P(CipherTest, OpensNothingElse) {
  const ByteBuffer sealed = seal(3, "some content", "place");
  EXPECT_EQ(open(4, sealed, "place"), std::nullopt) << "another nonce";
  EXPECT_EQ(open(3, sealed, "other"), std::nullopt);
  for (std::size_t i = 0; i < sealed.size(); ++i) {
    ByteBuffer changed = sealed;
    changed[i] ^= 1;
    EXPECT_EQ(open(3, changed, "place"), std::nullopt) << "byte " << i;
  }
  EXPECT_EQ(open(3, ByteSpan(sealed).first(sealed.size() - 1), "place"), std::nullopt);
}

TEST_P(CipherTest, HasANameThatLeadsBack) {
  EXPECT_EQ(cipher_named(name_of(GetParam())), GetParam());
  EXPECT_EQ(cipher_named("rot13"), std::nullopt);
}

INSTANTIATE_TEST_SUITE_P(All, CipherTest, testing::Values(Cipher::kAes256Gcm, Cipher::kChaCha20Poly1305));

// Of the paper by McGrew and Viega, test case 14: a key and a block of zeros.
TEST(Ciphers, Aes256GcmIsTheStandard) {
  const ByteBuffer key(kCipherKeyBytes, 0);
  const ByteBuffer plain(16, 0);
  ByteBuffer sealed(plain.size() + kTagBytes);
  Aead(Cipher::kAes256Gcm, key).seal(0, {}, plain, sealed.data());
  EXPECT_EQ(sealed, bytes_from_hex("cea7403d4d606b6e074ec5d3baf39d18d0d1c8a799996bf0265b98b5d48ab919"));
}

// RFC 8439, appendix A.1: the first block of zeros (test vector 1) is the key of Poly1305, the second one is what zeros become.
TEST(Ciphers, ChaCha20Poly1305IsTheStandard) {
  const ByteBuffer key(kCipherKeyBytes, 0);
  const ByteBuffer plain(16, 0);
  ByteBuffer sealed(plain.size() + kTagBytes);
  Aead(Cipher::kChaCha20Poly1305, key).seal(0, {}, plain, sealed.data());
  EXPECT_EQ(sealed, bytes_from_hex("9f07e7be5551387a98ba977c732d080dc34a88047320f52aa2c6683ef8084d2f"));
}

// RFC 5869, test cases 1 and 3.
TEST(Ciphers, HkdfIsTheStandard) {
  const ByteBuffer key(22, 0x0b);
  const Secret first =
      hkdf_sha256(key, bytes_from_hex("000102030405060708090a0b0c"), bytes_from_hex("f0f1f2f3f4f5f6f7f8f9"), 42);
  const ByteBuffer expected =
      bytes_from_hex("3cb25f25faacd57a90434f64d0362f2a2d2d0a90cf1a5a4c5db02d56ecc4c5bf34007208d5b887185865");
  EXPECT_TRUE(std::ranges::equal(first.bytes(), expected));
  const Secret third = hkdf_sha256(key, {}, {}, 42);
  EXPECT_TRUE(std::ranges::equal(
      third.bytes(),
      bytes_from_hex("8da4e775a563c18f715f802a063c5a31b8a11f5c5ee1879ec3454e5f3c738d2d9d201395faa4b61a96c8")));
}

// RFC 4231, test case 2.
TEST(Ciphers, HmacIsTheStandard) {
  const Mac mac = hmac_sha256(bytes_of("Jefe"), bytes_of("what do ya want for nothing?"));
  EXPECT_TRUE(
      std::ranges::equal(mac, bytes_from_hex("5bdcc146bf60754e6a042426089575c75a003f089d2739839dec58b964ec3843")));
}

TEST(Ciphers, RandomBytesDiffer) {
  Mac one{};
  Mac other{};
  fill_randomly(one);
  fill_randomly(other);
  EXPECT_NE(one, other);
  EXPECT_TRUE(equal_in_constant_time(one, one));
  EXPECT_FALSE(equal_in_constant_time(one, other));
}

TEST(Ciphers, OneOfThemIsFaster) {
  EXPECT_TRUE(cipher_named(name_of(faster_cipher())).has_value());
}

}  // namespace
}  // namespace dedupfs
