#include "store/ingest/delta_encoder.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <set>

#include "sample_store.h"
#include "store/format/container_format.h"
#include "support/files.h"

namespace dedupfs {
namespace {

using testing::Contains;

constexpr std::size_t kNewBytes = 16'384;

ByteBuffer raw_chunk(std::uint64_t seed) {
  return random_bytes(kNewBytes, seed);
}

// With shortcuts and without. Chunks that are known to the index of features, as if they had been stored by a ChunkStore.
class DeltaEncoderTest : public testing::TestWithParam<bool> {
 protected:
  DeltaEncoderTest() : reader_(store_.make_reader()), features_(store_.database(), 1 << 30) {
    use({.method = "odess+"});
  }

  static Shortcuts some() {
    return GetParam() ? Shortcuts() : Shortcuts().without(Shortcut::kSample).without(Shortcut::kWindows);
  }
  void use(const DeltaSettings& settings, std::uint64_t far_bytes_an_hour = 0, Shortcuts shortcuts = some()) {
    auto encoder = DeltaEncoder::make(settings, reader_, features_, order_, far_bytes_an_hour, shortcuts);
    ASSERT_TRUE(encoder);
    encoder_ = std::move(*encoder);
  }

  void put(std::uint64_t id, const ByteBuffer& bytes) {
    store_.put(id, bytes);
    features_.insert(*encoder_->encode(bytes, {}).sketch, ChunkId{id});
  }
  void put_delta(std::uint64_t id, const ByteBuffer& bytes, std::uint64_t source) {
    const Sketch sketch = *encoder_->encode(bytes, {}).sketch;
    store_.put_delta(id, bytes, {source});
    features_.insert(sketch, ChunkId{id});
  }

  std::optional<EncodedDelta> encode(const ByteBuffer& bytes, std::optional<ChunkId> previous = {}) {
    return encoder_->encode(bytes, previous).delta;
  }
  // That the delta is what it says it is.
  void expect_makes(const EncodedDelta& delta, const ByteBuffer& expected) {
    ByteBuffer source;
    std::uint8_t depth = 0;
    for (const ChunkId id : delta.sources) {
      const auto part = reader_.get(id);
      ASSERT_TRUE(part);
      depth = std::max(depth, part->depth);
      source.insert(source.end(), part->bytes.bytes.begin(), part->bytes.bytes.end());
    }
    ByteBuffer made(expected.size());
    ASSERT_TRUE(Xdelta3Codec::decode(source, delta.bytes, made));
    EXPECT_EQ(made, expected);
    EXPECT_EQ(delta.depth, depth + 1);
    EXPECT_EQ(delta.checksum, delta_checksum_of(expected));
  }

  SampleStore store_;
  ChunkReader reader_;
  FeatureIndex features_;
  StreamOrder order_;
  std::unique_ptr<DeltaEncoder> encoder_;
};

TEST_P(DeltaEncoderTest, ChunkThatResemblesAnotherBecomesADelta) {
  put(7, raw_chunk(1));

  const auto delta = encode(edited(raw_chunk(1)));

  ASSERT_TRUE(delta);
  EXPECT_EQ(delta->base, ChunkId{7});
  EXPECT_THAT(delta->sources, Contains(delta->base));
  EXPECT_LT(delta->bytes.size(), 100u);
  EXPECT_EQ(delta->depth, 1);
  expect_makes(*delta, edited(raw_chunk(1)));
}

TEST_P(DeltaEncoderTest, ChunkThatResemblesNothingIsStoredAsItIs) {
  EXPECT_FALSE(encode(raw_chunk(1))) << "in an empty volume";
  put(7, raw_chunk(1));
  put(8, text_bytes(kNewBytes));

  EXPECT_FALSE(encode(raw_chunk(2)));
}

TEST_P(DeltaEncoderTest, IncompressibleChunkThatIsSimilarInPartPays) {
  put(7, raw_chunk(1));
  ByteBuffer half = raw_chunk(1);
  const ByteBuffer other = raw_chunk(2);
  std::copy(other.begin(), other.begin() + kNewBytes / 3, half.begin());

  const auto delta = encode(half, ChunkId{6});  // found by order if not by features

  ASSERT_TRUE(delta);
  EXPECT_LT(delta->bytes.size(), kNewBytes / 2);
  expect_makes(*delta, half);
}

// Compressed among its neighbours the chunk takes less than the delta would.
TEST_P(DeltaEncoderTest, DeltaThatSavesNoDiskIsNotKept) {
  put(7, text_bytes(kNewBytes));
  ByteBuffer sparse = text_bytes(kNewBytes);
  for (std::size_t i = 0; i < kNewBytes; i += 40) sparse[i] = static_cast<std::uint8_t>(random_bytes(1, i)[0]);

  EXPECT_FALSE(encode(sparse, ChunkId{6}));
}

TEST_P(DeltaEncoderTest, DeltaThatIsLargeIsNotKept) {
  put(7, raw_chunk(1));
  ByteBuffer mostly_new = raw_chunk(2);
  const ByteBuffer old = raw_chunk(1);
  std::copy(old.begin(), old.begin() + kNewBytes / 8, mostly_new.begin());

  EXPECT_FALSE(encode(mostly_new, ChunkId{6}));
}

TEST_P(DeltaEncoderTest, TinyChunksAreNotWorthADelta) {
  put(7, random_bytes(64, 1));

  EXPECT_FALSE(encode(edited(random_bytes(64, 1)), ChunkId{6}));
}

TEST_P(DeltaEncoderTest, ChunkBehindThePreviousOneIsABaseWithoutFeatures) {
  store_.put(7, raw_chunk(1)).put(500, raw_chunk(2));  // unknown to the index of features
  order_.link(ChunkId{7}, ChunkId{500});

  const auto delta = encode(edited(raw_chunk(2)), ChunkId{7});

  ASSERT_TRUE(delta);
  EXPECT_EQ(delta->base, ChunkId{500});
  expect_makes(*delta, edited(raw_chunk(2)));
  EXPECT_FALSE(encode(edited(raw_chunk(2)), ChunkId{400})) << "behind another chunk it is not found";
}

TEST_P(DeltaEncoderTest, FeaturesFindWhatTheOrderMisses) {
  put(7, raw_chunk(1));
  put(500, raw_chunk(2));
  order_.link(ChunkId{7}, ChunkId{7});

  const auto delta = encode(edited(raw_chunk(2)), ChunkId{7});

  ASSERT_TRUE(delta);
  EXPECT_EQ(delta->base, ChunkId{500});
}

// ---------------------------------------------------------------- overwrites

TEST_P(DeltaEncoderTest, AChunkThatReplacesAnotherIsADeltaOfThatAlone) {
  for (std::uint64_t id = 5; id <= 9; ++id) put(id, raw_chunk(id));
  ByteBuffer overwritten = raw_chunk(7);
  const ByteBuffer page = random_bytes(4096, 100);
  std::ranges::copy(page, overwritten.begin() + 8192);

  const auto [sketch, delta] = encoder_->encode(overwritten, ChunkId{4}, {ChunkId{7}});

  ASSERT_TRUE(delta);
  EXPECT_EQ(delta->base, ChunkId{7});
  EXPECT_EQ(delta->sources, sources_of({7}));
  EXPECT_LT(delta->bytes.size(), 4096u + 100);
  EXPECT_FALSE(sketch) << "what resembles it is found by its base";
  expect_makes(*delta, overwritten);
}

TEST_P(DeltaEncoderTest, AReplacedChunkThatNoIndexKnowsIsABase) {
  store_.put(7, raw_chunk(1));

  EXPECT_FALSE(encode(edited(raw_chunk(1))));
  EXPECT_TRUE(encoder_->encode(edited(raw_chunk(1)), {}, {ChunkId{7}}).delta);
}

TEST_P(DeltaEncoderTest, WithoutTheShortcutAReplacedChunkIsABaseLikeAnyOther) {
  use({.method = "odess+"}, 0, some().without(Shortcut::kInPlace));
  store_.put(7, raw_chunk(1));

  EXPECT_FALSE(encoder_->encode(edited(raw_chunk(1)), {}, {.id = ChunkId{7}}).delta) << "no index knows it";
}

// An overwrite may make a boundary within the old chunk.
TEST_P(DeltaEncoderTest, APartOfTheReplacedChunkIsADeltaOfIt) {
  store_.put(7, raw_chunk(1));
  const ByteBuffer old = raw_chunk(1);
  const ByteBuffer part(old.begin() + 10'000, old.end());

  const auto delta = encoder_->encode(edited(part), {}, {ChunkId{7}, 10'000}).delta;

  ASSERT_TRUE(delta);
  EXPECT_LT(delta->bytes.size(), 100u);
  expect_makes(*delta, edited(part));
}

TEST_P(DeltaEncoderTest, WhereItReplacedOtherContentTheBestBaseIsLookedFor) {
  put(7, raw_chunk(1));
  put(500, raw_chunk(2));

  const auto [sketch, delta] = encoder_->encode(edited(raw_chunk(2)), {}, {ChunkId{7}, kNewBytes + 1});

  ASSERT_TRUE(delta);
  EXPECT_EQ(delta->base, ChunkId{500});
  EXPECT_TRUE(sketch);
}

TEST_P(DeltaEncoderTest, AReplacedChunkThatCannotBeReadIsNoBase) {
  EXPECT_FALSE(encoder_->encode(raw_chunk(1), {}, {ChunkId{7}}).delta);
}

TEST_P(DeltaEncoderTest, OverwritesOfOnePlaceAreNotDeeperThanTheSettingsSay) {
  use({.method = "odess+", .depth = 3});
  ByteBuffer version = raw_chunk(1);
  store_.put(1, version);
  for (std::uint64_t id = 2; id <= 8; ++id) {
    version[id * 1000] ^= 1;
    const auto delta = encoder_->encode(version, {}, {ChunkId{id - 1}}).delta;
    ASSERT_TRUE(delta);
    EXPECT_EQ(delta->depth, std::min<std::uint64_t>(id - 1, 3));
    expect_makes(*delta, version);
    ASSERT_EQ(delta->sources.size(), 1u);
    store_.put_delta(id, version, {number_of(delta->sources[0])});
  }
}

// ---------------------------------------------------------------- neighbours

// The last two thirds of one and the first third of the other.
ByteBuffer across(const ByteBuffer& first, const ByteBuffer& second) {
  const ByteBuffer both = joined(first, second);
  return {both.begin() + kNewBytes / 3, both.begin() + kNewBytes / 3 + kNewBytes};
}

TEST_P(DeltaEncoderTest, NeighboursOfTheBaseAreSourcesToo) {
  for (std::uint64_t id = 5; id <= 9; ++id) put(id, raw_chunk(id));
  const ByteBuffer shifted = across(raw_chunk(7), raw_chunk(8));

  const auto delta = encode(shifted, ChunkId{6});

  ASSERT_TRUE(delta);
  EXPECT_LT(delta->bytes.size(), 200u) << "all of it is in two chunks of the source";
  EXPECT_EQ(delta->sources, sources_of({7, 8})) << "the others are looked at, and not needed";
  expect_makes(*delta, shifted);
}

// So it is no deeper than it has to be, and holds no chunk that nobody else needs.
TEST_P(DeltaEncoderTest, WhatADeltaCopiesNothingFromIsNoSource) {
  for (const std::uint64_t id : {1u, 6u, 7u}) put(id, raw_chunk(id));
  put_delta(8, edited(raw_chunk(1)), 1);

  const auto delta = encode(edited(raw_chunk(7)), ChunkId{6});

  ASSERT_TRUE(delta);
  EXPECT_EQ(delta->sources, sources_of({7}));
  EXPECT_EQ(delta->depth, 1) << "its neighbour is deeper";
  expect_makes(*delta, edited(raw_chunk(7)));
}

TEST_P(DeltaEncoderTest, WithoutTheShortcutAllThatWasLookedAtIsASource) {
  use({.method = "odess+"}, 0, some().without(Shortcut::kNeededSources));
  for (std::uint64_t id = 5; id <= 9; ++id) put(id, raw_chunk(id));

  const auto delta = encode(edited(raw_chunk(7)), ChunkId{6});

  ASSERT_TRUE(delta);
  EXPECT_EQ(delta->sources, sources_of({5, 6, 7, 8, 9}));
  expect_makes(*delta, edited(raw_chunk(7)));
}

TEST_P(DeltaEncoderTest, NeighboursAreThoseOfTheStream) {
  for (const std::uint64_t id : {7u, 100u, 200u, 300u, 400u}) put(id, raw_chunk(id));
  const std::vector<std::uint64_t> stream = {200, 400, 7, 100, 300};
  for (std::size_t i = 1; i < stream.size(); ++i) order_.link(ChunkId{stream[i - 1]}, ChunkId{stream[i]});

  const ByteBuffer shifted = across(raw_chunk(400), joined(raw_chunk(7), raw_chunk(100)));
  const ByteBuffer further = across(raw_chunk(7), raw_chunk(100));

  for (const auto& [bytes, sources] :
       {std::pair{shifted, sources_of({400, 7})}, std::pair{further, sources_of({7, 100})}}) {
    const auto delta = encode(bytes, ChunkId{400});

    ASSERT_TRUE(delta);
    EXPECT_EQ(delta->sources, sources);
    expect_makes(*delta, bytes);
  }
}

TEST_P(DeltaEncoderTest, WithoutNeighboursTheBaseIsTheSource) {
  for (std::uint64_t id = 5; id <= 9; ++id) put(id, raw_chunk(id));
  use({.method = "odess+", .neighbours = 0});

  const auto delta = encode(edited(raw_chunk(7)));

  ASSERT_TRUE(delta);
  EXPECT_EQ(delta->sources, sources_of({7}));
}

TEST_P(DeltaEncoderTest, NoSourceIsNamedTwice) {
  put(7, raw_chunk(7));
  put(8, raw_chunk(8));
  order_.link(ChunkId{7}, ChunkId{8});
  order_.link(ChunkId{8}, ChunkId{7});
  const ByteBuffer shifted = across(raw_chunk(8), raw_chunk(7));

  const auto delta = encode(shifted, ChunkId{7});

  ASSERT_TRUE(delta);
  EXPECT_EQ(std::set(delta->sources.begin(), delta->sources.end()).size(), delta->sources.size());
  expect_makes(*delta, shifted);
}

// What was kept of the source of one chunk serves the next.
TEST_P(DeltaEncoderTest, ChunksOfAStreamAreMadeFromSourcesThatMoveOn) {
  constexpr std::uint64_t kChunks = 40;
  for (std::uint64_t id = 1; id <= kChunks; ++id) put(id, raw_chunk(id));
  std::optional<ChunkId> previous;
  for (std::uint64_t id = 1; id <= kChunks; ++id) {
    ByteBuffer changed = joined(text_bytes(300), raw_chunk(id));  // longer than what is recognised without a table
    changed.erase(changed.begin() + 5000, changed.begin() + 5200);

    const auto delta = encode(changed, previous);

    ASSERT_TRUE(delta) << id;
    EXPECT_LT(delta->bytes.size(), 400u) << id;
    expect_makes(*delta, changed);
    previous = delta->base;
  }
}

// Names of chunks are those of one volume.
TEST_P(DeltaEncoderTest, NothingIsKeptForAnotherEncoder) {
  put(7, raw_chunk(1));
  ASSERT_TRUE(encode(edited(raw_chunk(1)), ChunkId{6}));

  SampleStore other_store;
  other_store.put(7, raw_chunk(2));
  ChunkReader other_reader = other_store.make_reader();
  FeatureIndex other_features(other_store.database(), 1 << 30);
  const auto other = DeltaEncoder::make({.method = "odess+"}, other_reader, other_features, order_, 0);
  ASSERT_TRUE(other);

  const auto delta = (*other)->encode(edited(raw_chunk(2)), ChunkId{6}).delta;

  ASSERT_TRUE(delta);
  EXPECT_LT(delta->bytes.size(), 100u);
}

// ---------------------------------------------------------------- depth

TEST_P(DeltaEncoderTest, ChainsEndAtTheDepthOfTheSettings) {
  use({.method = "odess+", .depth = 3, .neighbours = 0});
  ByteBuffer version = raw_chunk(1);
  put(1, version);
  for (std::uint64_t id = 2; id <= 4; ++id) {
    version = joined(version, text_bytes(20));
    put_delta(id, version, id - 1);
  }
  EXPECT_TRUE(encoder_->may_be_source(2));
  EXPECT_FALSE(encoder_->may_be_source(3));

  const auto delta = encode(edited(version));

  ASSERT_TRUE(delta) << "what the deepest was made from is a base, too";
  EXPECT_EQ(delta->depth, 3);
  expect_makes(*delta, edited(version));
}

TEST_P(DeltaEncoderTest, DepthOneMakesNoDeltaOfADelta) {
  use({.method = "odess+", .depth = 1, .neighbours = 0});
  put(1, raw_chunk(1));
  put_delta(2, edited(raw_chunk(1)), 1);

  const auto delta = encode(joined(edited(raw_chunk(1)), text_bytes(20)));

  ASSERT_TRUE(delta);
  EXPECT_EQ(delta->depth, 1);
  EXPECT_EQ(delta->sources, sources_of({1}));
}

// Each has half of the one before.
// Only its sources are needed, and to make it takes the longest of all.
TEST_P(DeltaEncoderTest, AChunkThatIsTooDeepIsNotMade) {
  use({.method = "odess+", .depth = 1, .neighbours = 0});
  put(7, raw_chunk(1));
  put_delta(8, edited(raw_chunk(1)), 7);
  const auto made = [this] { return reader_.cache_readings().at(1).reading.misses; };
  const std::uint64_t before = made();

  const auto delta = encode(edited(edited(raw_chunk(1))), ChunkId{7});

  ASSERT_TRUE(delta);
  EXPECT_EQ(delta->sources, sources_of({7}));
  EXPECT_EQ(delta->base, ChunkId{8});
  EXPECT_EQ(made(), before);
}

TEST_P(DeltaEncoderTest, AChunkThatIsLikeADeepOneOnlyIsMadeFromItUpToTwiceTheDepth) {
  use({.method = "odess+", .depth = 1, .neighbours = 0});
  const auto halves_from = [](std::uint64_t seed) {
    return joined(random_bytes(10'000, seed), random_bytes(10'000, seed + 1));
  };
  put(1, halves_from(1));
  put_delta(2, halves_from(2), 1);

  const auto delta = encode(halves_from(3), ChunkId{1});

  ASSERT_TRUE(delta);
  EXPECT_EQ(delta->depth, 2);
  EXPECT_EQ(delta->sources, sources_of({2}));
  expect_makes(*delta, halves_from(3));

  put_delta(3, halves_from(3), 2);
  EXPECT_FALSE(encode(halves_from(4), ChunkId{2})) << "no deeper than that";
}

// ---------------------------------------------------------------- failures

TEST_P(DeltaEncoderTest, BaseThatCannotBeReadIsNone) {
  put(7, raw_chunk(1));
  store_.forget(7);

  EXPECT_FALSE(encode(edited(raw_chunk(1))));
}

TEST_P(DeltaEncoderTest, NeighbourThatCannotBeReadIsLeftOut) {
  put(6, raw_chunk(6));
  put(7, raw_chunk(7));
  put(8, raw_chunk(8));
  store_.forget(6);

  const auto delta = encode(across(raw_chunk(7), raw_chunk(8)), ChunkId{6});

  ASSERT_TRUE(delta);
  EXPECT_EQ(delta->sources, sources_of({7, 8}));
}

TEST_P(DeltaEncoderTest, WhatIsFarAwayIsASourceWithinTheBudget) {
  put(7, raw_chunk(1));
  put(17, raw_chunk(2));
  store_.backing().is_near = [](const Path&) { return false; };
  ChunkReader cold = store_.make_reader();

  for (const std::uint64_t sources : {0u, 1u}) {
    const auto encoder = DeltaEncoder::make({.method = "odess+"}, cold, features_, order_,
                                            sources * FarBudget::kSourceBytes, Shortcuts());
    ASSERT_TRUE(encoder);

    EXPECT_EQ((*encoder)->encode(edited(raw_chunk(1)), {}).delta.has_value(), sources == 1);
    EXPECT_FALSE((*encoder)->encode(edited(raw_chunk(2)), {}).delta) << "more than the budget of an hour";
  }
}

TEST_P(DeltaEncoderTest, AFetchThatFailsIsTheLastOfItsHour) {
  put(7, raw_chunk(1));
  const Path container = store_.containers_path() / container_name(1);
  flip_bit(container, std::filesystem::file_size(container) - 1);
  put(17, raw_chunk(2));
  ChunkReader cold = store_.make_reader();
  store_.backing().is_near = [](const Path&) { return false; };
  const auto encoder =
      DeltaEncoder::make({.method = "odess+"}, cold, features_, order_, 64 * FarBudget::kSourceBytes, Shortcuts());
  ASSERT_TRUE(encoder);

  EXPECT_FALSE((*encoder)->encode(edited(raw_chunk(1)), {}).delta);
  EXPECT_FALSE((*encoder)->encode(edited(raw_chunk(2)), {}).delta);
}

TEST_P(DeltaEncoderTest, UnknownMethodIsRefused) {
  EXPECT_FALSE(DeltaEncoder::make({.method = "nonsense"}, reader_, features_, order_, 0));
}

INSTANTIATE_TEST_SUITE_P(, DeltaEncoderTest, testing::Bool(),
                         [](const auto& run) { return run.param ? "Quick" : "Plain"; });

}  // namespace
}  // namespace dedupfs
