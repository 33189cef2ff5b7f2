#include "store/ingest/region_writer.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <future>
#include <thread>

#include "sample_region.h"
#include "store/ingest/region_packer.h"
#include "support/faulty_backing.h"
#include "support/folder_at.h"
#include "support/temp_dir.h"
#include "word_text.h"

namespace dedupfs {
namespace {

using testing::HasSubstr;

constexpr std::uint32_t kPackedBytes = 16 << 10;  // of a region

// Writes regions on a disk that fails, or waits, where it is told to.
class RegionWriterTest : public testing::Test {
 protected:
  RegionWriterTest() {
    backing_->fault = [this](const std::string& operation, const Path&) -> std::optional<Error> {
      if (operation != "write") return std::nullopt;
      if (waits_) released_.wait();
      if (fails_) return Error{ErrorCode::kNoSpace, "told to fail"};
      return std::nullopt;
    };
    folder_at(directory_.path() / "containers");
    containers_ = std::move(*ContainerStore::open(backing_->open_root(directory_.path() / "containers").value(),
                                                  {.volume_uuid = "01234567-89ab-4def-8123-456789abcdef"}));
  }

  RegionWriter& writer(std::uint64_t max_waiting_bytes = 1 << 20, const Compression& compression = kNone) {
    return writer_with({.settled = compression, .landing = compression}, max_waiting_bytes);
  }
  RegionWriter& writer_with(const CompressionTiers& compression, std::uint64_t max_waiting_bytes = 1 << 20,
                            std::size_t threads = 2) {
    writer_ = std::make_unique<RegionWriter>(
        *containers_, pending_, cache_, meter_,
        RegionWriter::Settings{.compression = compression,
                               .threads = threads,
                               .max_waiting_bytes = max_waiting_bytes,
                               .are_others_behind = [this] { return are_others_behind_.load(); },
                               .now = [this] { return now_; }});
    return *writer_;
  }
  // A region of new chunks of 1000 bytes.
  std::shared_ptr<PendingRegion> region(std::uint64_t first_seed, std::size_t chunks = 10) {
    for (std::uint64_t seed = first_seed; seed < first_seed + chunks; ++seed) {
      Fingerprint fingerprint;
      fingerprint.bytes.fill(static_cast<std::uint8_t>(seed));
      last_id_ = packer_.add(fingerprint, random_bytes(1000, seed)).id;
    }
    packer_.close();
    return closed_.back();
  }

  // A region of one chunk that was stored before.
  std::shared_ptr<PendingRegion> moved_region(ByteSpan chunk) {
    RegionEntry entry;
    entry.id = ChunkId{1000u + closed_.size()};
    entry.raw_length = entry.payload_length = static_cast<std::uint32_t>(chunk.size());
    EXPECT_TRUE(packer_.add_moved(entry, chunk));
    packer_.close();
    return closed_.back();
  }
  std::shared_ptr<PendingRegion> new_region(ByteSpan chunk) {
    Fingerprint fingerprint;
    fingerprint.bytes.fill(static_cast<std::uint8_t>(closed_.size()));
    last_id_ = packer_.add(fingerprint, chunk).id;
    packer_.close();
    return closed_.back();
  }
  // Each eighth takes much longer to compress than those behind it.
  std::vector<std::shared_ptr<PendingRegion>> uneven_regions(std::size_t count, bool are_new) {
    std::vector<std::shared_ptr<PendingRegion>> regions;
    for (std::size_t i = 0; i < count; ++i) {
      const ByteBuffer chunk = word_text(i % 8 == 0 ? 200'000 : 1000, i);
      regions.push_back(are_new ? new_region(chunk) : moved_region(chunk));
    }
    return regions;
  }

  inline static const Compression kNone = Compression::none();

  TempDir directory_;
  std::shared_ptr<FaultyBacking> backing_ = std::make_shared<FaultyBacking>();
  std::atomic<bool> fails_ = false;
  std::atomic<bool> waits_ = false;
  std::promise<void> until_;
  std::shared_future<void> released_ = until_.get_future().share();
  std::unique_ptr<ContainerStore> containers_;
  PendingChunks pending_;
  ChunkIdAllocator ids_{1};
  std::vector<std::shared_ptr<PendingRegion>> closed_;
  RegionPacker packer_{pending_, ids_, kPackedBytes, [this](auto region) { closed_.push_back(std::move(region)); }};
  RegionCache cache_{16 << 20, [](RegionRange) -> Result<std::shared_ptr<const Region>> {
                       return Error{ErrorCode::kNotFound, "not in the cache"};
                     }};
  IngestMeter meter_;
  ChunkId last_id_{};
  std::atomic<bool> are_others_behind_ = false;
  ArrivalRate::Clock::time_point now_ = ArrivalRate::Clock::now();  // moved by hand
  std::unique_ptr<RegionWriter> writer_;
};

TEST_F(RegionWriterTest, AWrittenRegionIsReadFromItsPlace) {
  const auto written = region(0);
  writer().submit(written);

  ASSERT_TRUE(writer_->wait_for({written}));

  ASSERT_TRUE(written->range);
  const auto read = containers_->read(*written->range);
  ASSERT_TRUE(read) << read.error().message();
  EXPECT_EQ((*read)->entries.size(), 10u);
  EXPECT_EQ(text_of((*read)->whole_payload()), [] {
    std::string all;
    for (std::uint64_t seed = 0; seed < 10; ++seed) all += text_of(random_bytes(1000, seed));
    return all;
  }());
  EXPECT_EQ(writer_->waiting_bytes(), 0u);
  EXPECT_EQ(writer_->error(), std::nullopt);
}

TEST_F(RegionWriterTest, OfAWrittenRegionOnlyItsPlaceIsKept) {
  const auto written = region(0);
  writer().submit(written);

  ASSERT_TRUE(writer_->wait_for({written}));

  EXPECT_EQ(written->region, nullptr);
  const auto location = pending_.locate(last_id_);
  ASSERT_TRUE(location);
  EXPECT_EQ(location->region, nullptr);
  EXPECT_EQ(location->range, *written->range);
  ASSERT_EQ(written->extents.size(), 1u);
  EXPECT_EQ(written->extents[0].place, written->range->place);
  EXPECT_EQ(written->extents[0].region_payload_bytes, 10'000u);
  EXPECT_EQ(written->extents[0].region_disk_bytes, containers_->read_header(written->range->place)->disk_length());
}

// ---------------------------------------------------------------- the cache

TEST_F(RegionWriterTest, WhatWasJustWrittenIsReadWithoutTheDiskUnlessTheRegionWasClosedEarly) {
  const auto full = region(0, 10);
  const auto early = region(50, 5);
  writer().submit(full);
  writer_->submit(early);
  ASSERT_TRUE(writer_->wait_for({full, early}));

  const auto cached = cache_.get(*full->range);

  ASSERT_TRUE(cached);
  EXPECT_EQ((*cached)->payload.size(), 10'000u);
  EXPECT_FALSE(cache_.get(*early->range));
}

TEST_F(RegionWriterTest, InTheCacheChunksAreFoundThoughTheirIdsAreNotInOrder) {
  Fingerprint fingerprint;
  for (const std::uint64_t id : {9u, 3u, 6u}) {
    fingerprint.bytes.fill(static_cast<std::uint8_t>(id));
    packer_.add_again(ChunkId{id}, fingerprint, random_bytes(4000, id));
  }
  packer_.close();
  const auto written = closed_.back();
  writer().submit(written);
  ASSERT_TRUE(writer_->wait_for({written}));

  const auto cached = cache_.get(*written->range).value();

  for (const std::uint64_t id : {3u, 6u, 9u}) {
    const RegionEntry* const entry = cached->find(ChunkId{id});
    ASSERT_NE(entry, nullptr) << id;
    EXPECT_EQ(text_of(cached->payload_of(*entry)), text_of(random_bytes(4000, id)));
  }
}

// ---------------------------------------------------------------- failures

TEST_F(RegionWriterTest, ARegionThatCannotBeWrittenIsKeptAndTriedAgain) {
  const auto failed = region(0);
  fails_ = true;
  writer().submit(failed);

  const auto waited = writer_->wait_for({failed});

  ASSERT_FALSE(waited);
  EXPECT_EQ(waited.error().code(), ErrorCode::kNoSpace);
  ASSERT_TRUE(writer_->error());
  EXPECT_THAT(writer_->error()->message(), HasSubstr("told to fail"));
  EXPECT_EQ(failed->range, std::nullopt);
  const auto location = pending_.locate(last_id_);
  ASSERT_TRUE(location && location->region) << "it is read from memory";
  EXPECT_EQ(text_of(location->region->payload_of(location->entry)), text_of(random_bytes(1000, 9)));

  fails_ = false;
  EXPECT_TRUE(writer_->wait_for({failed})) << "which tries again";

  EXPECT_EQ(writer_->error(), std::nullopt);
  ASSERT_TRUE(failed->range);
  EXPECT_TRUE(containers_->read(*failed->range));
}

TEST_F(RegionWriterTest, AllThatFailedAreTriedAgain) {
  std::vector<std::shared_ptr<PendingRegion>> regions;
  for (std::uint64_t i = 0; i < 5; ++i) regions.push_back(region(20 * i));
  fails_ = true;
  writer();
  for (const auto& each : regions) writer_->submit(each);
  EXPECT_FALSE(writer_->wait_for(regions));
  EXPECT_FALSE(writer_->retry_failed());

  fails_ = false;
  ASSERT_TRUE(writer_->retry_failed());

  EXPECT_TRUE(pending_.all_written(regions));
  EXPECT_EQ(writer_->error(), std::nullopt);
  EXPECT_TRUE(writer_->retry_failed()) << "with nothing to do";
}

TEST_F(RegionWriterTest, ARegionThatFailedIsTriedAgainByWhoWaitsForAnother) {
  const auto failed = region(0);
  fails_ = true;
  writer().submit(failed);
  EXPECT_FALSE(writer_->wait_for({failed}));
  fails_ = false;
  const auto other = region(50);
  writer_->submit(other);

  EXPECT_TRUE(writer_->wait_for({other}));
  EXPECT_TRUE(writer_->error()) << "nobody has tried the first one again";
  EXPECT_TRUE(writer_->wait_for({failed, other}));

  EXPECT_EQ(writer_->error(), std::nullopt);
}

// ---------------------------------------------------------------- the bound on what waits

TEST_F(RegionWriterTest, WhoSubmitsWaitsWhileTooMuchWaitsToBeWritten) {
  waits_ = true;
  const auto first = region(0);
  const auto second = region(50);
  writer(10'000).submit(first);
  EXPECT_EQ(writer_->waiting_bytes(), 10'000u);

  auto submitting = std::async(std::launch::async, [&] { writer_->submit(second); });

  EXPECT_EQ(submitting.wait_for(std::chrono::milliseconds(30)), std::future_status::timeout);
  EXPECT_EQ(writer_->waiting_bytes(), 10'000u);
  waits_ = false;
  until_.set_value();
  submitting.get();
  EXPECT_TRUE(writer_->wait_for({first, second}));
  EXPECT_EQ(writer_->waiting_bytes(), 0u);
  EXPECT_EQ(writer_->waits().batches, 1u) << "the first did not wait";
  EXPECT_GT(writer_->waits().seconds, 0.0);
}

TEST_F(RegionWriterTest, OneRegionIsTakenHoweverLargeItIs) {
  const auto large = region(0);

  writer(1).submit(large);

  EXPECT_TRUE(writer_->wait_for({large}));
}

// What fails stays in memory anyway, and who submits must come to hear of it.
TEST_F(RegionWriterTest, NobodyWaitsWhileWritingFails) {
  const auto failed = region(0);
  fails_ = true;
  writer(10'000).submit(failed);
  EXPECT_FALSE(writer_->wait_for({failed}));
  fails_ = false;
  waits_ = true;
  const auto second = region(50);
  const auto third = region(100);
  writer_->submit(second);

  writer_->submit(third);  // or this test does not end

  waits_ = false;
  until_.set_value();
  EXPECT_TRUE(writer_->wait_for({failed, second, third}));
}

// They cost compression, and where nothing can be stored they are no loss.
TEST_F(RegionWriterTest, WhileWritingFailsMovedRegionsAreNotTried) {
  const auto failed = region(0);
  fails_ = true;
  writer().submit(failed);
  EXPECT_FALSE(writer_->wait_for({failed}));
  std::atomic<int> writes = 0;
  backing_->fault = [&](const std::string& operation, const Path&) -> std::optional<Error> {
    if (operation == "write") ++writes;
    return std::nullopt;
  };
  const auto moved = uneven_regions(4, false);
  for (const auto& each : moved) writer_->submit(each);
  while (writer_->waiting_bytes() != 0) std::this_thread::yield();

  EXPECT_EQ(writes, 0);
  backing_->fault = nullptr;
  EXPECT_TRUE(writer_->wait_for(moved));
  EXPECT_TRUE(pending_.all_written(moved));
}

// ---------------------------------------------------------------- order

TEST_F(RegionWriterTest, ManyThreadsAppendRegionsInTheOrderInWhichTheyCame) {
  for (const bool are_new : {true, false}) {
    const auto regions = uneven_regions(24, are_new);
    writer_with({.settled = {.level = 9}, .landing = {.level = 9}}, std::uint64_t{1} << 30, 8);
    for (const auto& each : regions) writer_->submit(each);
    ASSERT_TRUE(writer_->wait_for(regions));

    EXPECT_TRUE(std::ranges::is_sorted(regions, {}, [](const auto& region) { return region->range->place; }))
        << (are_new ? "new" : "moved");
  }
}

TEST_F(RegionWriterTest, RegionsThatFailLetTheOthersPass) {
  const auto regions = uneven_regions(24, false);
  std::atomic<int> writes = 0;
  backing_->fault = [&](const std::string& operation, const Path&) -> std::optional<Error> {
    if (operation != "write" || ++writes % 3 != 0) return std::nullopt;
    return Error{ErrorCode::kNoSpace, "told to fail"};
  };
  writer_with({.settled = {.level = 3}}, std::uint64_t{1} << 30, 3);

  std::vector<std::future<void>> submitting;
  for (std::size_t first = 0; first < 4; ++first)
    submitting.push_back(std::async(std::launch::async, [&, first] {
      for (std::size_t i = first; i < regions.size(); i += 4) writer_->submit(regions[i]);
    }));
  for (auto& each : submitting) each.get();

  EXPECT_FALSE(writer_->wait_for(regions)) << "some fail again";  // or this does not end
  backing_->fault = nullptr;
  EXPECT_TRUE(writer_->wait_for(regions));
  EXPECT_TRUE(pending_.all_written(regions));
}

// ---------------------------------------------------------------- compression

class RegionWriterTiersTest : public RegionWriterTest {
 protected:
  RegionWriterTiersTest() { writer_with({.settled = {.level = 9}}); }

  struct Stored {
    std::uint32_t bytes = 0;
    ContainerTier tier{};
  };
  Stored write(const std::shared_ptr<PendingRegion>& region) {
    writer_->submit(region);
    EXPECT_TRUE(writer_->wait_for({region}));
    const RegionPlace place = region->range->place;
    const auto containers = containers_->list().value();
    const auto container = std::ranges::find(containers, place.container, &ContainerInfo::id);
    return {containers_->read_header(place)->stored_length, container->tier};
  }
  Stored add(ByteSpan chunk) {
    Fingerprint fingerprint;
    fingerprint.bytes.fill(++fingerprints_);
    packer_.add(fingerprint, chunk);
    packer_.close();
    return write(closed_.back());
  }
  Stored move(ByteSpan chunk) { return write(moved_region(chunk)); }
  // More data has come than a slow source gives.
  void arrive_fast() {
    for (std::uint64_t bytes = 0; bytes <= ArrivalRate::kSlowBytes; bytes += 2 << 20)
      add(random_bytes(2 << 20, fingerprints_));
  }

 private:
  std::uint8_t fingerprints_ = 0;
};

TEST_F(RegionWriterTiersTest, FastDataLandsQuicklyAndMovedDataIsSettled) {
  const ByteBuffer text = word_text(200'000, 1);
  arrive_fast();

  const Stored added = add(text);
  const Stored moved = move(text);

  EXPECT_EQ(added.tier, ContainerTier::kLanded);
  EXPECT_EQ(moved.tier, ContainerTier::kSettled);
  EXPECT_LT(moved.bytes, added.bytes);
  EXPECT_LT(added.bytes, text.size());
}

TEST_F(RegionWriterTiersTest, NewDataIsMeteredByStageAndMovedDataAsMoved) {
  const ByteBuffer text = word_text(200'000, 1);
  arrive_fast();
  const auto compressed_before = meter_.of(IngestStage::kCompress).read();
  const auto appended_before = meter_.of(IngestStage::kAppend).read();

  const Stored added = add(text);
  move(text);

  EXPECT_EQ(meter_.of(IngestStage::kCompress).read().bytes - compressed_before.bytes, text.size());
  EXPECT_EQ(meter_.of(IngestStage::kCompress).read().batches - compressed_before.batches, 1u);
  EXPECT_GT(meter_.of(IngestStage::kAppend).read().bytes - appended_before.bytes, added.bytes) << "with its directory";
  EXPECT_EQ(meter_.of(IngestStage::kMove).read().batches, 2u) << "compressed, then appended";
}

TEST_F(RegionWriterTiersTest, DataThatComesSlowlyIsSettledAtOnce) {
  const ByteBuffer text = word_text(200'000, 1);
  const Stored moved = move(text);
  arrive_fast();

  now_ += 2 * ArrivalRate::kWindow;
  const Stored added = add(text);

  EXPECT_EQ(added.tier, ContainerTier::kSettled);
  EXPECT_EQ(added.bytes, moved.bytes);
}

// Duplicates and deltas may leave little for this stage of a source that is fast.
TEST_F(RegionWriterTiersTest, NoSourceIsSlowWhileTheStagesBeforeAreBehind) {
  const ByteBuffer text = word_text(200'000, 1);
  are_others_behind_ = true;
  EXPECT_EQ(add(text).tier, ContainerTier::kLanded);

  are_others_behind_ = false;
  now_ += 2 * ArrivalRate::kWindow;
  EXPECT_EQ(add(word_text(200'000, 2)).tier, ContainerTier::kSettled);
}

// A file that lies in two containers by turns is read in many pieces.
TEST_F(RegionWriterTiersTest, ASourceThatWasTooFastOnceIsSoForAWhile) {
  are_others_behind_ = true;
  add(word_text(200'000, 1));
  are_others_behind_ = false;

  now_ += ArrivalRate::kWindow;
  EXPECT_EQ(add(word_text(200'000, 2)).tier, ContainerTier::kLanded);

  now_ += ArrivalRate::kWindow;
  EXPECT_EQ(add(word_text(200'000, 3)).tier, ContainerTier::kSettled);
}

// Otherwise a level that takes long would make a fast source wait, and look slow.
TEST_F(RegionWriterTiersTest, WhereManyRegionsWaitTheNextIsCompressedQuickly) {
  waits_ = true;
  std::vector<std::shared_ptr<PendingRegion>> regions;
  for (std::uint8_t number = 1; number <= 8; ++number) {
    regions.push_back(new_region(word_text(100'000, number)));
    writer_->submit(regions.back());
  }
  waits_ = false;
  until_.set_value();
  ASSERT_TRUE(writer_->wait_for(regions));

  const auto containers = containers_->list().value();
  std::vector<ContainerTier> tiers;
  for (const auto& region : regions)
    tiers.push_back(std::ranges::find(containers, region->range->place.container, &ContainerInfo::id)->tier);
  for (std::size_t i = 0; i < regions.size(); ++i)
    EXPECT_EQ(tiers[i], i <= 4 ? ContainerTier::kSettled : ContainerTier::kLanded) << i;
}

TEST_F(RegionWriterTiersTest, IncompressibleDataNeedsNoSettling) {
  arrive_fast();

  EXPECT_EQ(add(random_bytes(200'000, 1)).tier, ContainerTier::kSettled);
}

TEST_F(RegionWriterTiersTest, DataThatLandsWithoutCompressionIsToBeSettled) {
  writer_with({.settled = {.level = 9}, .landing = Compression::none()});
  arrive_fast();

  EXPECT_EQ(add(word_text(200'000, 1)).tier, ContainerTier::kLanded);
}

TEST_F(RegionWriterTiersTest, WithOneTierAllDataIsSettled) {
  writer_with({.settled = {.level = 1}});
  arrive_fast();

  EXPECT_EQ(add(word_text(200'000, 1)).tier, ContainerTier::kSettled);
}

TEST_F(RegionWriterTiersTest, WithOneTierARegionThatFailedFirstIsSettledToo) {
  writer_with({.settled = {.level = 1}});
  Fingerprint fingerprint;
  packer_.add(fingerprint, word_text(200'000, 1));
  packer_.close();
  fails_ = true;
  writer_->submit(closed_.back());
  EXPECT_FALSE(writer_->wait_for({closed_.back()}));
  fails_ = false;

  ASSERT_TRUE(writer_->retry_failed());

  EXPECT_EQ(containers_->landed_bytes().value(), 0u);
}

}  // namespace
}  // namespace dedupfs
