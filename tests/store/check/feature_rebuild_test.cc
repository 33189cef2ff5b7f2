#include "store/check/feature_rebuild.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <future>

#include "sample_region.h"
#include "store/ingest/chunk_writer.h"
#include "store/ingest/feature_index.h"
#include "support/temp_dir.h"

namespace dedupfs {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

constexpr std::size_t kLength = 16'384;

class FeatureRebuildTest : public testing::Test {
 protected:
  std::unique_ptr<Volume> make(const DeltaSettings& delta) {
    VolumeSettings settings;
    settings.delta = delta;
    EXPECT_TRUE(Volume::create(path(), settings));
    auto volume = Volume::open(path(), {.index_memory_bytes = 16 << 20, .threads = 1});
    EXPECT_TRUE(volume);
    return std::move(*volume);
  }

  ChunkId put(Volume& volume, const ByteBuffer& chunk) {
    std::promise<Result<std::vector<ChunkId>>> ids;
    const auto writer = volume.chunks().open_writer();
    writer->put({nullptr, {chunk}, [&](Result<std::vector<ChunkId>> result) { ids.set_value(std::move(result)); }});
    const auto result = ids.get_future().get();
    EXPECT_TRUE(result);
    volume.freeze();
    EXPECT_TRUE(volume.commit());
    return (*result)[0];
  }

  static std::vector<ChunkId> find(Volume& volume, const ByteBuffer& chunk) {
    const auto detector = make_resemblance_detector("odess+", Isa::kScalar);
    return FeatureIndex(volume.database(), 1 << 30).find((*detector)->sketch_of(chunk)).value();
  }

  Path path() const { return directory_.path() / "volume"; }

  TempDir directory_;
};

TEST_F(FeatureRebuildTest, LostFeaturesComeBackAndThoseOfNoChunkGo) {
  const auto volume = make({.method = "odess+"});
  const ByteBuffer chunk = random_bytes(kLength, 1);
  const ChunkId id = put(*volume, chunk);
  ASSERT_THAT(find(*volume, chunk), ElementsAre(id));
  const auto entries = volume->database().list(Family::kFeatureIndex, {}, {}, 10);
  ASSERT_TRUE(entries);
  for (const auto& [key, value] : *entries) {
    Database::Batch batch(volume->database());
    batch.erase(Family::kFeatureIndex, key);
    batch.put(Family::kFeatureIndex, key + "x", value);
    ASSERT_TRUE(volume->database().write(batch));
  }
  ASSERT_THAT(find(*volume, chunk), IsEmpty());

  const auto rebuilt = rebuild_feature_index(*volume);

  ASSERT_TRUE(rebuilt) << rebuilt.error().message();
  EXPECT_EQ(rebuilt->indexed, 1u);
  EXPECT_EQ(rebuilt->unreadable, 0u);
  EXPECT_THAT(find(*volume, chunk), ElementsAre(id));
  EXPECT_EQ(volume->database().list(Family::kFeatureIndex, {}, {}, 10)->size(), kSuperFeatures);
}

TEST_F(FeatureRebuildTest, ChunksOfAnyDepthAreThere) {
  const auto volume = make({.method = "odess+", .depth = 1});
  ByteBuffer chunk = random_bytes(kLength, 1);
  put(*volume, chunk);
  chunk[100] ^= 1;
  put(*volume, chunk);  // a delta that is no source, but leads to one

  const auto rebuilt = rebuild_feature_index(*volume);

  ASSERT_TRUE(rebuilt);
  EXPECT_EQ(rebuilt->indexed, 2u);
}

TEST_F(FeatureRebuildTest, AVolumeWithoutDeltasHasNone) {
  const auto volume = make({});

  const auto rebuilt = rebuild_feature_index(*volume);

  ASSERT_FALSE(rebuilt);
  EXPECT_EQ(rebuilt.error().code(), ErrorCode::kInvalidArgument);
  EXPECT_THAT(rebuilt.error().message(), HasSubstr("--delta none"));
}

}  // namespace
}  // namespace dedupfs
