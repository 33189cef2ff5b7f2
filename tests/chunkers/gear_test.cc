#include <gtest/gtest.h>

#include "chunkers/kernels/gear_table.h"
#include "chunkers/registry.h"
#include "definitions.h"

namespace dedupfs {
namespace {

TEST(GearTable, IsSplitmix64) {
  EXPECT_EQ(kGearTable.entries[0], 0xE220A8397B1DCDAFu);
  for (unsigned i = 0; i < 256; ++i) EXPECT_EQ(kGearTable.entries[i], gear_entry(static_cast<std::uint8_t>(i))) << i;
}

TEST(GearTable, PlanesAreTheBytesOfTheEntries) {
  for (unsigned i = 0; i < 256; ++i) {
    std::uint64_t joined = 0;
    for (unsigned k = 0; k < 8; ++k) joined |= std::uint64_t{kGearTable.planes[k][i]} << (8 * k);
    EXPECT_EQ(joined, kGearTable.entries[i]) << i;
  }
}

// The hash of gear starts empty at the minimum: the first 63 positions behind it are not those of the candidate scan.
// With an average of 64 many chunks end there.
TEST(Gear, HashStartsEmptyAtTheMinimum) {
  const ByteBuffer data = random_bytes(100'000, 1);
  const ChunkSizes sizes{64, 64, 256};
  std::size_t early = 0, start = 0;

  for (const Isa isa : available_isas()) {
    const Ends ends = cuts(**make_chunker("gear:avg=64", isa), data);

    EXPECT_EQ(ends, defined_cuts(data, 256, [&](auto* b, std::size_t n) { return gear_length(sizes, 0, b, n); }));
    start = 0;
    for (const std::size_t end : ends) {
      early += end - start < 64 + 63;
      start = end;
    }
  }
  EXPECT_GT(early, 100u);
}

// Whether gear16 cuts behind a byte is decided by the 16 bytes up to it, minimum or not.
TEST(Gear16, CutDependsOnTheSixteenBytesBefore) {
  const auto chunker = *make_chunker("gear16:min=64,avg=4k,max=64k,norm=0");
  const ByteBuffer data = random_bytes(1'000'000, 2);
  const Ends ends = cuts(*chunker, data);
  ASSERT_GT(ends.size(), 100u);

  for (std::size_t i = 0; i < 50; ++i) {
    ByteBuffer other = random_bytes(64 - 16, 1000 + i);  // then the 16 bytes before a cut end a chunk of exactly 64
    other.insert(other.end(), data.begin() + static_cast<std::ptrdiff_t>(ends[i]) - 16,
                 data.begin() + static_cast<std::ptrdiff_t>(ends[i]));
    const std::size_t cut = other.size();
    other.resize(1000);
    EXPECT_EQ(cuts(*chunker, other).front(), cut) << i;
  }
}

// The point of norm: fewer chunks that the maximum cuts, and fewer small ones.
TEST(Gear, NormKeepsSizesNearTheAverage) {
  const ByteBuffer data = random_bytes(8'000'000, 4);
  const auto cut_by_maximum = [&](std::string_view spec) {
    const auto chunker = *make_chunker(spec);
    std::size_t count = 0, start = 0;
    for (const std::size_t end : cuts(*chunker, data)) {
      count += end - start == chunker->sizes().max_bytes;
      start = end;
    }
    return count;
  };

  EXPECT_GT(cut_by_maximum("gear:avg=4k,max=8k,norm=0"), 2 * cut_by_maximum("gear:avg=4k,max=8k,norm=1"));
  EXPECT_GT(cut_by_maximum("gear16:avg=4k,max=8k,norm=0"), 2 * cut_by_maximum("gear16:avg=4k,max=8k,norm=1"));
}

TEST(Gear16, ChunkThatEndsWithTheDataIsCertainWhenTheHashSaysSo) {
  const auto chunker = *make_chunker("gear16:avg=4k");
  const ByteBuffer data = random_bytes(100'000, 3);
  const std::size_t first = cuts(*chunker, data).front();

  Ends ends;
  EXPECT_EQ(chunker->split(ByteSpan(data).first(first), false, ends), first);
}

}  // namespace
}  // namespace dedupfs
