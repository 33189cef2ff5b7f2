#include "store/seal/secret.h"

#include <gtest/gtest.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <unistd.h>

#include <utility>
#include <vector>

#include "support/child_process.h"
#include "support/sanitized.h"

namespace dedupfs {
namespace {

TEST(Secrets, KeepTheirBytesWhenTheyMove) {
  Secret one(bytes_of("a passphrase"));
  Secret two(std::move(one));
  EXPECT_EQ(text_of(two.bytes()), "a passphrase");
  Secret three;
  three = std::move(two);
  EXPECT_EQ(text_of(three.copy().bytes()), "a passphrase");
}

TEST(Secrets, AreZeroAtFirstAndTheirMemoryIsZeroedForTheNext) {
  const std::uint8_t* place = nullptr;
  {
    Secret secret(bytes_of("key of a file"));
    place = secret.bytes().data();
  }
  const Secret next(13);
  EXPECT_EQ(next.bytes().data(), place) << "the test does not see the memory again";
  EXPECT_TRUE(all_zero(next.bytes()));
}

TEST(Secrets, ForgetWhatTheyShrinkBy) {
  Secret secret(bytes_of("0123456789"));
  const ByteSpan all = secret.bytes();
  secret.shrink(4);
  EXPECT_EQ(text_of(secret.bytes()), "0123");
  EXPECT_TRUE(all_zero(all.subspan(4)));
  secret.shrink(9);
  EXPECT_EQ(secret.size(), 4u);
}

TEST(Secrets, CanBeLargeAndMany) {
  std::vector<Secret> secrets;
  for (std::size_t i = 0; i < 3000; ++i) {
    secrets.emplace_back(32);
    secrets.back().bytes()[0] = static_cast<std::uint8_t>(i);
  }
  Secret large(1 << 20);
  large.bytes().back() = 1;
  for (std::size_t i = 0; i < secrets.size(); ++i) ASSERT_EQ(secrets[i].bytes()[0], static_cast<std::uint8_t>(i));
  lock_secrets_again();
  (void)are_secrets_locked();
}

TEST(Secrets, AreSaidToBeUnlockedWhereTheyAre) {
  in_child_process([] {
    const rlimit none{};
    ASSERT_EQ(::setrlimit(RLIMIT_MEMLOCK, &none), 0);
    if (kSanitized) ::_exit(kNotAllowedHere);                                // sanitizers let mlock() do nothing
    if (::geteuid() == 0 && ::setuid(65534) != 0) ::_exit(kNotAllowedHere);  // root may lock what it wants
    const Secret large(1 << 20);
    EXPECT_FALSE(are_secrets_locked());
  });
}

TEST(Secrets, OfAProcessGetIntoNoCoreFile) {
  in_child_process([] {
    EXPECT_TRUE(forbid_core_files());
    rlimit left{.rlim_cur = 1, .rlim_max = 1};
    ::getrlimit(RLIMIT_CORE, &left);
    EXPECT_EQ(left.rlim_cur, 0u);
    EXPECT_EQ(::prctl(PR_GET_DUMPABLE), 0);
  });
}

TEST(Secrets, LibrariesGetTheSameMemory) {
  std::uint8_t* const memory = allocate_secret(1 << 20);
  ASSERT_NE(memory, nullptr);
  memory[0] = 1;
  release_secret(memory, 1 << 20);
  EXPECT_EQ(allocate_secret(std::size_t{1} << 60), nullptr);
  release_secret(nullptr, 0);
}

}  // namespace
}  // namespace dedupfs
