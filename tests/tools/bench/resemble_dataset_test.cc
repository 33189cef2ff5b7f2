#include "bench/resemble_dataset.h"

#include <gtest/gtest.h>

#include "chunkers/registry.h"
#include "chunkers/test_data.h"
#include "delta/xdelta3_codec.h"
#include "temp_folder.h"

namespace dedupfs::bench {
namespace {

constexpr std::size_t kChunkBytes = 4096;

// Takes the first bytes of a chunk for its super-features, so that tests choose bases by hand.
class ByFirstBytes : public ResemblanceDetector {
 public:
  std::string_view name() const override { return "by first bytes"; }
  Isa isa() const override { return Isa::kScalar; }
  Features features(ByteSpan chunk) const override { return {chunk[0], chunk[1], chunk[2]}; }
  Sketch sketch(const Features& features) const override { return {{features[0], features[1], features[2]}}; }
};

ByteBuffer tagged(ByteBuffer chunk, std::array<std::uint8_t, 3> super_features) {
  std::copy(super_features.begin(), super_features.end(), chunk.begin());
  return chunk;
}

ByteBuffer content(std::uint64_t seed) {
  return random_bytes(kChunkBytes, seed);
}

ByteBuffer edited(ByteBuffer chunk, std::size_t at) {
  chunk[at] ^= 1;
  return chunk;
}

std::uint64_t delta_bytes(ByteSpan base, ByteSpan chunk) {
  ByteBuffer delta(chunk.size());
  const auto bytes = Xdelta3Codec::encode(base, chunk, delta);
  EXPECT_TRUE(bytes && *bytes);
  return **bytes;
}

Reduction reduced(const std::vector<ByteBuffer>& chunks) {
  const std::vector<ByteSpan> spans(chunks.begin(), chunks.end());
  const auto reduction = reduce(spans, ByFirstBytes());
  EXPECT_TRUE(reduction);
  return *reduction;
}

TEST(Reduce, CountsWhatAHandMadeDataSetHas) {
  const ByteBuffer base = tagged(content(1), {1, 2, 3});
  const ByteBuffer near = edited(base, 2000);
  const ByteBuffer other = tagged(content(2), {4, 5, 6});
  const ByteBuffer nearer = tagged(edited(base, 100), {7, 2, 8});
  const auto deltas = delta_bytes(base, near) + delta_bytes(base, nearer);
  ASSERT_LT(deltas, 100u);

  const Reduction reduction = reduced({base, near, other, nearer});

  EXPECT_EQ(reduction.chunks, 4u);
  EXPECT_EQ(reduction.bytes, 4 * kChunkBytes);
  EXPECT_EQ(reduction.similar_chunks, 2u);
  EXPECT_EQ(reduction.delta_chunks, 2u);
  EXPECT_EQ(reduction.replaced_bytes, 2 * kChunkBytes);
  EXPECT_EQ(reduction.delta_bytes, deltas);
  EXPECT_DOUBLE_EQ(reduction.similar_chunk_ratio(), 0.5);
  EXPECT_DOUBLE_EQ(reduction.delta_compression_efficiency(), 1 - static_cast<double>(deltas) / (2 * kChunkBytes));
  EXPECT_DOUBLE_EQ(reduction.delta_compression_ratio(),
                   4.0 * kChunkBytes / (2.0 * kChunkBytes + static_cast<double>(deltas)));
}

TEST(Reduce, TakesTheBaseOfTheFirstSuperFeatureThatIsKnown) {
  const ByteBuffer by_third = tagged(content(1), {11, 12, 3});
  const ByteBuffer by_second = tagged(content(2), {21, 2, 23});
  const ByteBuffer chunk = tagged(edited(by_second, 3000), {1, 2, 3});

  const Reduction reduction = reduced({by_third, by_second, chunk});

  EXPECT_EQ(reduction.similar_chunks, 1u);
  EXPECT_EQ(reduction.delta_bytes, delta_bytes(by_second, chunk));
}

TEST(Reduce, ComparesSuperFeaturesOfOneRankOnly) {
  const ByteBuffer base = tagged(content(1), {1, 2, 3});

  EXPECT_EQ(reduced({base, tagged(base, {3, 1, 2})}).similar_chunks, 0u);
}

TEST(Reduce, NeverTakesAChunkThatADeltaReplacesForABase) {
  const ByteBuffer base = tagged(content(1), {1, 2, 3});
  const ByteBuffer replaced = tagged(base, {1, 22, 33});
  const ByteBuffer like_the_replaced = tagged(base, {111, 22, 33});

  const Reduction reduction = reduced({base, replaced, like_the_replaced});

  EXPECT_EQ(reduction.delta_chunks, 1u);
  EXPECT_EQ(reduction.similar_chunks, 1u);
}

TEST(Reduce, KeepsAChunkWhoseDeltaIsNotSmallerWholeAndTakesItForABase) {
  const ByteBuffer base = tagged(content(1), {1, 2, 3});
  const ByteBuffer unlike = tagged(content(2), {1, 22, 33});
  const ByteBuffer like_that = tagged(edited(unlike, 2000), {111, 22, 33});

  const Reduction alone = reduced({base, unlike});
  const Reduction reduction = reduced({base, unlike, like_that});

  EXPECT_EQ(alone.similar_chunks, 1u);
  EXPECT_EQ(alone.delta_chunks, 0u);
  EXPECT_DOUBLE_EQ(alone.delta_compression_ratio(), 1);
  EXPECT_EQ(reduction.similar_chunks, 2u);
  EXPECT_EQ(reduction.delta_chunks, 1u);
  EXPECT_EQ(reduction.delta_bytes, delta_bytes(unlike, like_that));
}

TEST(Reduce, OfNothingIsNothing) {
  const Reduction reduction = reduced({});

  EXPECT_EQ(reduction.chunks, 0u);
  EXPECT_EQ(reduction.similar_chunk_ratio(), 0);
  EXPECT_EQ(reduction.delta_compression_efficiency(), 0);
  EXPECT_EQ(reduction.delta_compression_ratio(), 1);
}

TEST(Reduce, FindsVersionsOfChunksWithEachMethod) {
  std::vector<ByteBuffer> chunks;
  for (std::uint64_t seed = 0; seed < 50; ++seed) chunks.push_back(content(seed));
  for (std::size_t i = 0; i < 50; ++i) chunks.push_back(edited(chunks[i], 80 * i));
  const std::vector<ByteSpan> spans(chunks.begin(), chunks.end());

  for (const auto& info : resemblance_method_infos()) {
    const auto detector = make_resemblance_detector(info.name, widest_isa());
    ASSERT_TRUE(detector);
    const auto reduction = reduce(spans, **detector);

    ASSERT_TRUE(reduction) << reduction.error().message();
    EXPECT_GE(reduction->similar_chunks, 45u) << info.name;
    EXPECT_LE(reduction->similar_chunks, 50u) << info.name;
    EXPECT_GT(reduction->delta_compression_efficiency(), 0.98) << info.name;
    EXPECT_GT(reduction->delta_compression_ratio(), 1.8) << info.name;
  }
}

TEST(UniqueChunks, AreThoseOfAllFilesInOrderOfFirstOccurrence) {
  const TempFolder folder;
  const std::string x(4096, 'x');
  const std::string y(4096, 'y');
  folder.write("a", x + y + x);
  folder.write("b", y + "tail");
  const auto plan = plan_input(folder.path().string());
  ASSERT_TRUE(plan);
  const auto input = load_input(*plan);
  ASSERT_TRUE(input);

  const UniqueChunks unique = unique_chunks(*input, **make_chunker("fixed:size=4k"));

  ASSERT_EQ(unique.chunks.size(), 3u);
  EXPECT_EQ(text_of(unique.chunks[0]), x);
  EXPECT_EQ(text_of(unique.chunks[1]), y);
  EXPECT_EQ(text_of(unique.chunks[2]), "tail");
  EXPECT_EQ(unique.bytes, 8196u);
}

}  // namespace
}  // namespace dedupfs::bench
