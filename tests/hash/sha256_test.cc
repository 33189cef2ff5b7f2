#include "hash/sha256.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "../chunkers/plain_crypto.h"
#include "../chunkers/test_data.h"

namespace dedupfs {
namespace {

std::string hex(ByteSpan bytes) {
  std::string text;
  for (const std::uint8_t byte : bytes)
    for (const int shift : {4, 0}) text += "0123456789abcdef"[byte >> shift & 15];
  return text;
}

TEST(Sha256Of, GivesTheExamplesOfTheStandard) {
  EXPECT_EQ(hex(sha256_of(bytes_of("abc"))), "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
  EXPECT_EQ(hex(sha256_of({})), "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855");
  EXPECT_EQ(hex(sha256_of(bytes_of("abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq"))),
            "248d6a61d20638b8e5c026930c3e6039a33ce45964ff2167f6ecedd419db06c1");
}

TEST(Sha256Of, GivesTheDigestsOfThePlainDefinition) {
  for (std::size_t n = 0; n < 500; ++n) {
    const ByteBuffer message = random_bytes(n, n);
    ASSERT_EQ(hex(sha256_of(message)), Sha256::hex(message)) << n;
  }
}

TEST(Sha256OfEach, GivesTheDigestOfEachMessageInOrder) {
  const ByteBuffer bytes = random_bytes(300'000, 1);
  std::uint64_t state = 2;
  for (int round = 0; round < 200; ++round) {
    std::vector<ByteSpan> messages(splitmix64(state) % 50);
    const std::size_t longest = std::size_t{1} << splitmix64(state) % 17;
    for (ByteSpan& message : messages)
      message = ByteSpan(bytes).subspan(splitmix64(state) % 1000, splitmix64(state) % longest);
    if (!messages.empty()) messages[splitmix64(state) % messages.size()] = {};
    std::string one_by_one;
    for (const ByteSpan message : messages) one_by_one += hex(sha256_of(message));

    ByteBuffer digests(messages.size() * sizeof(Sha256Digest));
    sha256_of_each(messages, digests);

    ASSERT_EQ(hex(digests), one_by_one) << "round " << round;
  }
}

TEST(Sha256OfEachDeathTest, RefusesRoomForAnotherNumberOfDigests) {
  const std::vector<ByteSpan> messages(2);
  ByteBuffer digests(3 * sizeof(Sha256Digest));
  EXPECT_DEATH(sha256_of_each(messages, digests), "");
}

}  // namespace
}  // namespace dedupfs
