#include "store/ingest/delta_worth.h"

#include <gtest/gtest.h>

#include "sample_region.h"

namespace dedupfs {
namespace {

constexpr std::size_t kWorthBytes = 32'768;

// Random bytes of which so many in a hundred are followed by a repetition: they compress by about that.
ByteBuffer compressible(std::size_t bytes, std::size_t percent, std::uint64_t seed) {
  ByteBuffer made;
  for (std::uint64_t i = 0; made.size() < bytes; ++i) {
    const ByteBuffer piece = random_bytes(10 * (100 - percent) + 1, seed * 1000 + i);
    made.insert(made.end(), piece.begin(), piece.end());
    made.insert(made.end(), 10 * percent, 'x');
  }
  made.resize(bytes);
  return made;
}

bool pays_by_rule(ByteSpan delta, ByteSpan chunk) {
  return DeltaWorth(chunk, DeltaWorth::Method::kExact).pays(delta);
}

TEST(DeltaWorth, TinyDeltaPaysUnseen) {
  const ByteBuffer zeros(kWorthBytes, 0);
  DeltaWorth worth(zeros);

  EXPECT_TRUE(worth.pays(random_bytes(kWorthBytes / 64, 1)));
  EXPECT_FALSE(worth.pays(random_bytes(kWorthBytes / 64 + 1, 1)));
}

TEST(DeltaWorth, SixTenthsOfTheChunkAreTheLimit) {
  const ByteBuffer chunk = random_bytes(kWorthBytes, 1);
  for (const auto method : {DeltaWorth::Method::kSample, DeltaWorth::Method::kExact}) {
    DeltaWorth worth(chunk, method);
    EXPECT_TRUE(worth.pays(random_bytes(kWorthBytes * 58 / 100, 2)));
    EXPECT_FALSE(worth.pays(random_bytes(kWorthBytes * 62 / 100, 2)));
  }
}

TEST(DeltaWorth, SampleDecidesAsTheRuleDoesOnEvenContent) {
  for (std::size_t percent = 0; percent <= 98; percent += 7) {
    const ByteBuffer chunk = compressible(kWorthBytes, percent, 1);
    for (std::size_t share = 1; share <= 62; ++share) {
      const ByteBuffer delta = random_bytes(kWorthBytes * share / 100, share);
      EXPECT_EQ(DeltaWorth(chunk).pays(delta), pays_by_rule(delta, chunk)) << percent << ' ' << share;
    }
  }
}

TEST(DeltaWorth, WhatIsClearlySmallerIsKeptWithoutCompressingTheChunk) {
  const ByteBuffer chunk = compressible(kWorthBytes, 50, 1);
  DeltaWorth worth(chunk);

  EXPECT_TRUE(worth.pays(random_bytes(kWorthBytes / 10, 2)));
  EXPECT_FALSE(worth.has_compressed_chunk());

  EXPECT_TRUE(worth.pays(random_bytes(kWorthBytes / 4, 2)));
  EXPECT_TRUE(worth.has_compressed_chunk());
}

TEST(DeltaWorth, DeltaThatIsClearlySmallerOnceItIsCompressedIsKeptWithoutCompressingTheChunk) {
  const ByteBuffer chunk = compressible(kWorthBytes, 50, 1);
  DeltaWorth worth(chunk);

  EXPECT_TRUE(worth.pays(compressible(kWorthBytes / 4, 80, 2)));
  EXPECT_FALSE(worth.has_compressed_chunk());
}

// Larger than any chunk that is given up.
TEST(DeltaWorth, WhatIsLargerThanTheLimitOfAnyChunkIsGivenUpWithoutCompressingTheChunk) {
  const ByteBuffer chunk = random_bytes(kWorthBytes, 1);
  DeltaWorth worth(chunk);

  EXPECT_FALSE(worth.pays(random_bytes(kWorthBytes * 62 / 100, 2)));
  EXPECT_FALSE(worth.has_compressed_chunk());
}

TEST(DeltaWorth, ShortChunksHaveASampleToo) {
  const ByteBuffer chunk = random_bytes(512, 1);

  EXPECT_TRUE(DeltaWorth(chunk).pays(random_bytes(100, 2)));
  EXPECT_FALSE(DeltaWorth(chunk).pays(random_bytes(400, 2)));
}

}  // namespace
}  // namespace dedupfs
