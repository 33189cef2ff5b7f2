// The kernel of this CPU against the definition in plain code, in front of and behind pages that must not be touched. Needs no
// OpenSSL: a cross build has none.
#include "hash/simd/kernels.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "../../chunkers/plain_crypto.h"
#include "../../chunkers/test_data.h"
#include "../../guarded_bytes.h"
#include "hash/simd/instruction_kernels.h"

namespace dedupfs::sha256 {
namespace {

std::vector<std::string> digests_by(HashMessages* kernel, const std::vector<Message>& messages) {
  ByteBuffer digests(messages.size() * kDigestBytes);
  kernel(messages.data(), messages.size(), digests.data());
  std::vector<std::string> texts(messages.size());
  for (std::size_t i = 0; i < digests.size(); ++i)
    for (const int shift : {4, 0}) texts[i / kDigestBytes] += "0123456789abcdef"[digests[i] >> shift & 15];
  return texts;
}

std::vector<std::string> plain_digests(const std::vector<Message>& messages) {
  std::vector<std::string> texts;
  for (const Message& message : messages) texts.push_back(Sha256::hex({message.data, message.size}));
  return texts;
}

class EveryKernel : public testing::TestWithParam<Isa> {
 protected:
  HashMessages* const kernel_ = instruction_kernels(GetParam()).hash_messages;
  GuardedBytes memory_;
};

TEST_P(EveryKernel, HashesTheExamplesOfTheStandard) {
  const std::string long_example(1'000'000, 'a');
  std::vector<Message> messages;
  for (const std::string_view text :
       {std::string_view("abc"), std::string_view(),
        std::string_view("abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq"), std::string_view(long_example)})
    messages.push_back({bytes_of(text).data(), text.size()});

  EXPECT_EQ(digests_by(kernel_, messages),
            (std::vector<std::string>{"ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad",
                                      "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855",
                                      "248d6a61d20638b8e5c026930c3e6039a33ce45964ff2167f6ecedd419db06c1",
                                      "cdc76e5c9914fb9281a1c7e284d73e67f1809a48a497200e046d39ccc7112cd0"}));
}

TEST_P(EveryKernel, HashesOneMessageOfAnyLengthAnywhere) {
  memory_.fill(random_bytes(memory_.size(), 1));
  for (std::size_t n = 0; n <= memory_.size(); n += n < 300 ? 1 : 61)
    for (const std::uint8_t* p : {memory_.begin(), memory_.begin() + 1, memory_.end() - n}) {
      if (p + n > memory_.end()) continue;
      ASSERT_EQ(digests_by(kernel_, {{p, n}}), plain_digests({{p, n}})) << n;
    }
}

// Each ends where it must not be read further, in either lane, at any distance from the end of the other.
TEST_P(EveryKernel, HashesTwoMessagesOfAnyTwoLengths) {
  memory_.fill(random_bytes(memory_.size(), 2));
  for (std::size_t first = 0; first <= 200; ++first)
    for (std::size_t second = 0; second <= 200; second += second % 64 > 2 && second % 64 < 52 ? 7 : 1) {
      const std::vector<Message> messages = {{memory_.end() - first, first}, {memory_.end() - second, second}};
      ASSERT_EQ(digests_by(kernel_, messages), plain_digests(messages)) << first << ", " << second;
    }
}

TEST_P(EveryKernel, HashesListsOfManyShapes) {
  const ByteBuffer bytes = random_bytes(200'000, 3);
  std::uint64_t state = 4;
  for (int round = 0; round < 300; ++round) {
    const std::size_t longest = std::size_t{1} << splitmix64(state) % 15;
    std::vector<Message> messages(splitmix64(state) % 40);
    for (Message& message : messages) {
      const bool is_far_longer = splitmix64(state) % 16 == 0;  // the other lane takes many messages meanwhile
      message.size = splitmix64(state) % (longest * (is_far_longer ? 10 : 1));
      message.data = bytes.data() + splitmix64(state) % 1000;
    }
    ASSERT_EQ(digests_by(kernel_, messages), plain_digests(messages)) << "round " << round;
  }
}

TEST_P(EveryKernel, HashesNothingAndNullAndTheSameBytesTwice) {
  kernel_(nullptr, 0, nullptr);

  const ByteBuffer bytes = random_bytes(1000, 5);
  const std::vector<Message> messages = {{nullptr, 0}, {bytes.data(), 1000}, {bytes.data(), 1000}, {nullptr, 0}};
  EXPECT_EQ(digests_by(kernel_, messages), plain_digests(messages));
}

TEST_P(EveryKernel, WritesNothingButTheDigests) {
  const ByteBuffer bytes = random_bytes(1000, 6);
  const std::vector<Message> messages = {{bytes.data(), 1000}, {bytes.data(), 3}, {bytes.data(), 64}};
  std::uint8_t* const digests = memory_.end() - messages.size() * kDigestBytes;
  std::fill(memory_.begin(), memory_.end(), std::uint8_t{0x5a});

  kernel_(messages.data(), messages.size(), digests);

  EXPECT_TRUE(std::all_of(memory_.begin(), digests, [](std::uint8_t byte) { return byte == 0x5a; }));
}

std::vector<Isa> isas_with_kernels() {
  std::vector<Isa> isas = available_isas();
  std::erase_if(isas, [](Isa isa) { return instruction_kernels(isa).hash_messages == nullptr; });
  return isas;
}

GTEST_ALLOW_UNINSTANTIATED_PARAMETERIZED_TEST(EveryKernel);
INSTANTIATE_TEST_SUITE_P(Sha256, EveryKernel, testing::ValuesIn(isas_with_kernels()),
                         [](const auto& test) { return identifier(name_of(test.param)); });

TEST(InstructionKernels, AreNoneForTheDefinitionAndForEmptyLevels) {
  EXPECT_EQ(instruction_kernels(Isa::kScalar).hash_messages, nullptr);
  EXPECT_EQ(instruction_kernels(Isa::kVsx).hash_messages, nullptr);
}

}  // namespace
}  // namespace dedupfs::sha256
