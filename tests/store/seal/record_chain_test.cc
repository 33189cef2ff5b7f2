#include "store/seal/record_chain.h"

#include <gtest/gtest.h>

#include <array>

#include "support/memory_disk.h"

namespace dedupfs {
namespace {

TEST(SealedPieces, OpenAsTheyWereSealed) {
  const ByteBuffer key(kCipherKeyBytes, 1);
  Aead aead(Cipher::kAes256Gcm, key);
  for (const std::size_t length : {std::size_t{1}, kPieceBytes, kPieceBytes + 1, 3 * kPieceBytes}) {
    const ByteBuffer plain(length, 7);
    ByteBuffer sealed(sealed_bytes_of(length));
    seal_pieces(aead, 5, plain, sealed.data());
    ByteBuffer opened(length);
    EXPECT_TRUE(open_pieces(aead, 5, sealed, opened.data()));
    EXPECT_EQ(opened, plain);
    EXPECT_FALSE(open_pieces(aead, 6, sealed, opened.data())) << "pieces that were moved";
    sealed.back() ^= 1;
    EXPECT_FALSE(open_pieces(aead, 5, sealed, opened.data()));
  }
}

// Chains of records that were written are tested with those who write them: sealed_content_test.cc.
TEST(RecordChains, ZerosAreWhatACrashLeavesAndAnythingElseIsForeign) {
  for (const std::uint8_t byte : {std::uint8_t{0}, std::uint8_t{1}}) {
    const auto disk = std::make_shared<MemoryDisk>();
    const auto file = disk->open_root("/").value()->open("file", Backing::Mode::kCreate).value();
    ASSERT_TRUE(file->write(0, ByteBuffer(500, byte)));
    RecordChain chain(*file, 500);
    const std::array<std::uint32_t, 2> key_numbers = {2, 1};
    ASSERT_TRUE(chain.read([](const SealSalt&, std::uint32_t) { return Secret(kCipherKeyBytes); }, key_numbers,
                           Cipher::kAes256Gcm));
    EXPECT_EQ(chain.damage().has_value(), byte != 0);
    EXPECT_EQ(chain.end(), 0u);
    EXPECT_TRUE(chain.records().empty());
  }
}

}  // namespace
}  // namespace dedupfs
