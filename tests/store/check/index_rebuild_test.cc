// Indexes that are made from containers alone, where copies of chunks lie that no index knew of any more.
#include "store/check/index_rebuild.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>
#include <memory>
#include <set>
#include <string>

#include "index/counters.h"
#include "sample_store.h"
#include "store/chunks/chunk_reader.h"
#include "store/chunks/damaged_chunks.h"
#include "support/folder_at.h"

namespace dedupfs {
namespace {

using testing::HasSubstr;
using testing::IsEmpty;

using Numbers = std::set<std::uint64_t>;

class IndexRebuildTest : public testing::Test {
 protected:
  IndexRebuildTest() {
    for (std::uint64_t number = 1; number < 10; ++number) contents_[number] = random_bytes(20'000, number);
    EXPECT_TRUE(Database::create(folder_at(directory_.path() / "index")));
    index_ = std::move(*Database::open(folder_at(directory_.path() / "index"), {.memory_bytes = 8 << 20}));
  }

  void put(std::uint64_t id) { store_.put(id, contents_.at(id)); }
  void put_delta(std::uint64_t id, const std::vector<std::uint64_t>& sources) {
    store_.put_delta(id, contents_.at(id), sources);
  }

  void rebuild() {
    CheckReport report([this](const std::string& line) { notes_ += line + "\n"; });
    const auto chunks = rebuild_chunks(store_.containers(), *index_, {}, report, no_progress, 1);
    ASSERT_TRUE(chunks) << chunks.error().message();
    for (const auto& [number, why] : chunks->unreadable()) unreadable_.insert(number);
  }

  // Of those that the new index has.
  void expect_all_readable_but(const Numbers& damaged) {
    ChunkReader reader(store_.containers(), *index_, store_.pending(), 16 << 20);
    for (const auto& [number, content] : contents_) {
      if (!find_extent(*index_, ChunkId{number}).value()) continue;
      const auto chunk = reader.get(ChunkId{number});
      EXPECT_EQ(chunk.has_value(), !damaged.contains(number)) << number;
      if (chunk) {
        EXPECT_EQ(text_of(chunk->bytes.bytes), text_of(content)) << number;
      }
    }
    EXPECT_EQ(unreadable_, damaged);
    EXPECT_EQ(listed(), damaged);
  }
  Numbers listed() {
    DamagedChunks listed;
    const auto value = index_->get(Family::kCounters, kDamagedChunksCounter).value();
    EXPECT_TRUE(!value || listed.load(*value));
    const auto numbers = listed.numbers();
    return {numbers.begin(), numbers.end()};
  }
  bool is_delta(std::uint64_t id) {
    return find_extent(*index_, ChunkId{id}).value().value().at(ChunkId{id}).is_delta();
  }
  bool is_found_by_content(std::uint64_t id) {
    return index_->get(Family::kFingerprints, text_of(fingerprint_of(contents_.at(id)).bytes)).value() ==
           encode_chunk_id(ChunkId{id});
  }

  SampleStore store_;
  std::map<std::uint64_t, ByteBuffer> contents_;
  TempDir directory_;
  std::unique_ptr<Database> index_;
  std::string notes_;
  Numbers unreadable_;
};

TEST_F(IndexRebuildTest, TheLastCopyOfAChunkCounts) {
  put(1);
  put(2);
  store_.end_container();
  put_delta(2, {1});

  rebuild();

  EXPECT_TRUE(is_delta(2));
  EXPECT_THAT(notes_, IsEmpty());
  expect_all_readable_but({});
}

// A reclaim stored the chunk anew, was interrupted before it committed that, and the next one erased what the copy is made from.
TEST_F(IndexRebuildTest, ADeltaWhoseSourceIsGoneIsAsItWasBefore) {
  put(1);
  put_delta(2, {1});
  put_delta(3, {2});
  store_.end_container();
  put(4);
  const std::uint32_t lost = store_.end_container();
  put_delta(2, {4});
  store_.lose_container(lost);

  rebuild();

  EXPECT_THAT(find_extent(*index_, ChunkId{2}).value().value().at(ChunkId{2}).sources,
              testing::ElementsAre(ChunkId{1}));
  EXPECT_THAT(notes_, HasSubstr("1 chunks are restored as they were before"));
  EXPECT_TRUE(is_found_by_content(2));
  expect_all_readable_but({});
}

TEST_F(IndexRebuildTest, TheLastOfTheCopiesThatCanBeMadeIsUsed) {
  put(1);
  put(2);
  store_.end_container();
  put_delta(2, {1});
  store_.end_container();
  put(4);
  const std::uint32_t lost = store_.end_container();
  put_delta(2, {4});
  put_delta(2, {4});  // it moved
  store_.lose_container(lost);

  rebuild();

  EXPECT_TRUE(is_delta(2));
  expect_all_readable_but({});
}

// The older copy of 3 is made from 2, whose newer copy is as useless.
TEST_F(IndexRebuildTest, OlderCopiesAreMadeFromOlderCopies) {
  put(1);
  put_delta(2, {1});
  put_delta(3, {2});
  put_delta(5, {3});
  store_.end_container();
  put(4);
  const std::uint32_t lost = store_.end_container();
  put_delta(3, {4});
  put_delta(2, {4});
  store_.lose_container(lost);

  rebuild();

  expect_all_readable_but({});
}

TEST_F(IndexRebuildTest, WithoutAnOlderCopyADeltaIsDamagedAndAllElseIsWhole) {
  put(1);
  put_delta(2, {1});
  store_.end_container();
  put(4);
  const std::uint32_t lost = store_.end_container();
  put_delta(3, {4});
  put_delta(5, {3});
  put_delta(2, {4});
  put_delta(6, {2});
  store_.lose_container(lost);

  rebuild();

  EXPECT_TRUE(is_found_by_content(3)) << "its content heals it when it comes again";
  expect_all_readable_but({3, 5});
}

TEST_F(IndexRebuildTest, AnOlderCopyThatCannotBeMadeEitherIsNotUsed) {
  put(1);
  const std::uint32_t lost = store_.end_container();
  put_delta(2, {1});
  put(4);
  const std::uint32_t also_lost = store_.end_container();
  put_delta(2, {4});
  store_.lose_container(lost);
  store_.lose_container(also_lost);

  rebuild();

  expect_all_readable_but({2});
}

// An id that was given away twice.
TEST_F(IndexRebuildTest, AnOlderCopyWithAnotherContentIsNotUsed) {
  const ByteBuffer other = random_bytes(10'000, 99);
  put(1);
  store_.put(2, other).put_delta(2, other, {1});
  store_.end_container();
  put(4);
  const std::uint32_t lost = store_.end_container();
  put_delta(2, {4});
  store_.lose_container(lost);

  rebuild();

  EXPECT_THAT(notes_, HasSubstr("with other content"));
  expect_all_readable_but({2});
}

// 3 counts on the copy of 2 that is lost. No reader makes a delta from one that is as deep.
TEST_F(IndexRebuildTest, ADeltaWhoseSourceIsAsDeepIsDamaged) {
  put(1);
  put_delta(2, {1});
  store_.end_container();
  put(2);
  const std::uint32_t lost = store_.end_container();
  put_delta(3, {2});
  put_delta(5, {3});
  store_.lose_container(lost);

  rebuild();

  expect_all_readable_but({3, 5});
}

TEST_F(IndexRebuildTest, ADeltaWhoseSourceIsAsDeepIsAsItWasBefore) {
  put(1);
  put_delta(2, {1});
  put_delta(3, {1});
  store_.end_container();
  put(2);
  const std::uint32_t lost = store_.end_container();
  put_delta(3, {2});
  store_.lose_container(lost);

  rebuild();

  expect_all_readable_but({});
}

TEST_F(IndexRebuildTest, AnOlderCopyBreaksACircle) {
  put(3);
  put_delta(2, {3});
  store_.end_container();
  put(2);
  const std::uint32_t lost = store_.end_container();
  put_delta(3, {2});
  put_delta(5, {3});
  store_.lose_container(lost);

  rebuild();

  expect_all_readable_but({});
  EXPECT_FALSE(is_delta(3));
}

TEST_F(IndexRebuildTest, ACircleIsDamagedAndAllElseIsWhole) {
  put(3);
  const std::uint32_t lost = store_.end_container();
  put(1);
  put_delta(2, {3});
  store_.end_container();
  put(2);
  const std::uint32_t also_lost = store_.end_container();
  put_delta(3, {2});
  put_delta(4, {1});
  store_.lose_container(lost);
  store_.lose_container(also_lost);

  rebuild();

  expect_all_readable_but({2, 3});
}

// Ids far from each other, as a disk may say, take no memory between them.
TEST_F(IndexRebuildTest, IdsMayBeFarApart) {
  put(1);
  const std::uint64_t far = std::uint64_t{1} << 60;
  contents_[far] = edited(contents_.at(1));
  put_delta(far, {1});

  rebuild();

  EXPECT_TRUE(is_delta(far));
  expect_all_readable_but({});
}

}  // namespace
}  // namespace dedupfs
