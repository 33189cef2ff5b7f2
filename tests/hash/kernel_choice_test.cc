#include "hash/kernel_choice.h"

#include <gtest/gtest.h>

#include <vector>

#include "hash/openssl_kernel.h"

namespace dedupfs::sha256 {
namespace {

void openssl(const Message* messages, std::size_t count, std::uint8_t* digests) {
  kOpensslKernels.hash_messages(messages, count, digests);
}

TEST(Sha256KernelChoice, EveryKernelOfThisCpuPassesItsSelfTest) {
  for (const Isa isa : available_isas())
    EXPECT_TRUE(kernels_of(isa).hash_messages == nullptr || passes_self_test(isa)) << name_of(isa);
}

TEST(Sha256KernelChoice, ScalarIsOpenssl) {
  EXPECT_EQ(choose(Isa::kScalar).run, kOpensslKernels.hash_messages);
  EXPECT_EQ(choose(Isa::kScalar).isa, Isa::kScalar);
}

TEST(Sha256KernelChoice, TheWidestThatIsAskedForServesWhereItHasAKernel) {
  for (const Isa isa : available_isas()) {
    const Choice choice = choose(isa);
    EXPECT_LE(choice.isa, isa);
    EXPECT_EQ(choice.run, kernels_of(choice.isa).hash_messages);
    EXPECT_TRUE(choice.isa == isa || kernels_of(isa).hash_messages == nullptr) << name_of(isa);
  }
}

// The program runs twice, once with DEDUPFS_ISA=scalar.
TEST(Sha256KernelChoice, TheDefaultFollowsTheEnvironment) {
  const auto isa = default_isa();
  ASSERT_TRUE(isa);

  EXPECT_EQ(default_choice().isa, choose(*isa).isa);
  EXPECT_EQ(default_choice().run, choose(*isa).run);
}

// Each is right but for one kind of message or of list.
TEST(Sha256KernelChoice, WrongKernelsFailTheSelfTest) {
  EXPECT_TRUE(agrees(openssl));
  EXPECT_FALSE(agrees([](const Message* messages, std::size_t count, std::uint8_t* digests) {
    openssl(messages, count, digests);
    for (std::size_t i = 0; i < count; ++i)
      if (messages[i].size == 0) digests[i * kDigestBytes] ^= 1;
  }));
  EXPECT_FALSE(agrees([](const Message* messages, std::size_t count, std::uint8_t* digests) {
    openssl(messages, count, digests);
    for (std::size_t i = 0; i < count; ++i)
      if (messages[i].size == 4 * 64 - 8) digests[i * kDigestBytes + 31] ^= 0x80;
  }));
  EXPECT_FALSE(agrees([](const Message* messages, std::size_t count, std::uint8_t* digests) {
    openssl(messages, count, digests);
    for (std::size_t i = 0; i < count; ++i)
      if (messages[i].size > 64'000) digests[i * kDigestBytes] ^= 1;
  }));
  EXPECT_FALSE(agrees([](const Message* messages, std::size_t count, std::uint8_t* digests) {
    openssl(messages, count, digests);
    if (count == 1) digests[0] ^= 1;
  })) << "wrong where the second lane has nothing";
  EXPECT_FALSE(agrees([](const Message* messages, std::size_t count, std::uint8_t* digests) {
    openssl(messages, count, digests);
    if (count > 100 && messages[0].size < messages[count - 1].size) digests[count * kDigestBytes - 1] ^= 1;
  })) << "wrong in what is taken last";
}

}  // namespace
}  // namespace dedupfs::sha256
