#include "replica/eviction/evicted_containers.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <random>
#include <thread>
#include <vector>

#include "evicted_files.h"
#include "support/faulty_backing.h"

namespace dedupfs {
namespace {

using testing::HasSubstr;

constexpr std::uint64_t kMiB = 1 << 20;
const std::string kFirst = container_name(1);
const std::string kSecond = container_name(2);

class EvictedContainersTest : public testing::Test {
 protected:
  EvictedContainersTest() { files_.open(); }
  void begin(std::uint64_t max_bytes = 3 * kMiB) { ASSERT_TRUE(files_.evicted().begin_caching(max_bytes)); }

  EvictedFiles files_;
};

TEST_F(EvictedContainersTest, WhatIsEvictedReadsAsBeforeAndTakesNoRoom) {
  begin();
  const auto before = files_.file(kFirst);
  files_.expect_whole(*before, kFirst, 1000, 2 * kMiB);

  ASSERT_TRUE(files_.evict(kFirst, {{.offset = 2 * kMiB, .length = 8192}}));

  EXPECT_LE(files_.bytes_on_disk(kFirst), 16u << 10);
  files_.expect_whole(*before, kFirst, 1000, 2 * kMiB);
  files_.expect_whole();
  files_.expect_whole(*before, kFirst, EvictedFiles::kContainerBytes - 5, 100);  // to the end, and not beyond
  EXPECT_EQ(files_.file(kFirst)->size().value(), EvictedFiles::kContainerBytes);
}

// A store that took it for stored, or somebody who cleaned up there.
TEST_F(EvictedContainersTest, WhatTheBucketDoesNotHaveStays) {
  begin();
  MemoryObjects& objects = files_.bucket().objects();
  const auto names = objects.names();
  std::string last_piece;
  for (const std::string& name : names)
    if (name.starts_with("c/") && name.find(kFirst) != std::string::npos) last_piece = name;
  ASSERT_FALSE(last_piece.empty()) << testing::PrintToString(names);
  const std::string content = *objects.image().at(last_piece).bytes;
  objects.set(last_piece, content.substr(1));
  EXPECT_EQ(files_.evict(kFirst).error().code(), ErrorCode::kCorruption) << "it is too short";
  objects.erase(last_piece);
  const auto evicted = files_.evict(kFirst);
  ASSERT_FALSE(evicted);
  EXPECT_EQ(evicted.error().code(), ErrorCode::kCorruption);
  EXPECT_THAT(evicted.error().message(), HasSubstr(last_piece));

  files_.expect_whole();
  EXPECT_EQ(files_.evicted().status().fetches, 0u);
  objects.set(last_piece, content);
  EXPECT_TRUE(files_.evict(kFirst));
}

TEST_F(EvictedContainersTest, WhatIsKeptIsReadWithoutTheBucket) {
  begin();
  ASSERT_TRUE(files_.evict(kFirst, {{.offset = 0, .length = 4096}, {.offset = 2 * kMiB, .length = 8192}}));
  files_.bucket().set_fault([](const MemoryBucket::Call&) { return MemoryBucket::Fault::kFails; });

  const auto file = files_.file(kFirst);
  files_.expect_whole(*file, kFirst, 100, 3000);
  files_.expect_whole(*file, kFirst, 2 * kMiB + 1, 8191);

  EXPECT_TRUE(file->is_near(2 * kMiB, 8192));
  EXPECT_FALSE(file->is_near(2 * kMiB, 8193));
  EXPECT_EQ(files_.evicted().status().fetches, 0u);
}

// One wrong block of a store would spoil directories that are nowhere else on this machine.
TEST_F(EvictedContainersTest, WhatIsFetchedIsNotWrittenOverWhatIsKept) {
  begin();
  ASSERT_TRUE(files_.evict(kFirst, {{.offset = kMiB, .length = 8192}}));
  MemoryObjects& objects = files_.bucket().objects();
  for (const std::string& name : objects.names())
    if (name.starts_with("c/")) objects.set(name, std::string(6 * kMiB, 'x'));

  const auto file = files_.file(kFirst);
  ByteBuffer wrong(10);
  ASSERT_TRUE(file->read_up_to(kMiB + 50'000, wrong));

  EXPECT_EQ(text_of(wrong), "xxxxxxxxxx");
  files_.expect_whole(*file, kFirst, kMiB, 8192);
}

TEST_F(EvictedContainersTest, ABlockIsFetchedOnceAsLongAsThereIsRoom) {
  begin(2 * kMiB);
  ASSERT_TRUE(files_.evict(kFirst, {{.offset = kMiB - 4096, .length = 8192}}));
  const auto file = files_.file(kFirst);
  for (int i = 0; i < 3; ++i) files_.expect_whole(*file, kFirst, 50'000, 2 * kMiB - 50'000);
  EXPECT_EQ(files_.evicted().status().fetches, 2u);
  EXPECT_TRUE(file->is_near(0, 2 * kMiB));

  files_.expect_whole(*file, kFirst, 2 * kMiB, 2 * kMiB);  // and nothing stays of what was there

  EXPECT_EQ(files_.evicted().status().fetches, 4u);
  EXPECT_EQ(files_.evicted().status().cached_bytes, 2 * kMiB);
  EXPECT_FALSE(file->is_near(0, kMiB));
  EXPECT_TRUE(file->is_near(kMiB - 4096, 8192));
  EXPECT_LE(files_.bytes_on_disk(kFirst), 2 * kMiB + (16 << 10));
}

TEST_F(EvictedContainersTest, AnotherRunGivesBackWhatTheLastOneCached) {
  begin();
  ASSERT_TRUE(files_.evict(kFirst));
  files_.expect_whole();
  EXPECT_GT(files_.bytes_on_disk(kFirst), kMiB);

  files_.open();
  files_.expect_whole();  // by one who only reads
  EXPECT_GT(files_.bytes_on_disk(kFirst), kMiB);
  begin();

  EXPECT_LE(files_.bytes_on_disk(kFirst), 16u << 10);
  files_.expect_whole();
}

TEST_F(EvictedContainersTest, AStoreThatDoesNotAnswerIsSaidAndComesBack) {
  begin();
  ASSERT_TRUE(files_.evict(kFirst));
  files_.bucket().set_fault([](const MemoryBucket::Call&) { return MemoryBucket::Fault::kFails; });
  const auto file = files_.file(kFirst);
  ByteBuffer bytes(100);
  const auto read = file->read_up_to(0, bytes);
  ASSERT_FALSE(read);
  EXPECT_EQ(read.error().code(), ErrorCode::kBusy);
  EXPECT_THAT(read.error().message(), HasSubstr(kFirst));

  files_.bucket().set_fault(nullptr);
  files_.open();

  files_.expect_whole();
}

TEST_F(EvictedContainersTest, ARecordThatIsDamagedIsNamed) {
  begin();
  ASSERT_TRUE(files_.evict(kFirst));
  flip_bit(files_.path() / kEvictedDirectory / (kFirst + ".map"), 30);
  files_.open();
  ByteBuffer bytes(100);

  const auto read = files_.file(kFirst)->read_up_to(0, bytes);

  ASSERT_FALSE(read);
  EXPECT_EQ(read.error().code(), ErrorCode::kCorruption);
  EXPECT_THAT(read.error().message(), HasSubstr(kFirst + ".map"));
}

TEST_F(EvictedContainersTest, WhatIsRemovedLeavesNothing) {
  begin();
  ASSERT_TRUE(files_.evict(kFirst));
  ASSERT_TRUE(files_.evict(kSecond));
  files_.expect_whole();

  ASSERT_TRUE(files_.containers().unlink(kFirst));

  EXPECT_FALSE(files_.containers().open(kFirst, Backing::Mode::kRead));
  EXPECT_FALSE(std::filesystem::exists(files_.path() / kEvictedDirectory / kFirst));
  EXPECT_FALSE(std::filesystem::exists(files_.path() / kEvictedDirectory / (kFirst + ".map")));
  files_.expect_whole(*files_.file(kSecond), kSecond, 0, 5 * kMiB);
  EXPECT_EQ(files_.evicted().status().containers, 1u);
}

// Each operation on the disk fails once: what another run finds is whole, and goes on.
TEST_F(EvictedContainersTest, WhereverAnEvictionEndsNothingIsLost) {
  for (std::size_t last = 0;; ++last) {
    SCOPED_TRACE(last);
    EvictedFiles files(1);
    const auto faulty = std::make_shared<FaultyBacking>();
    files.open(faulty);
    ASSERT_TRUE(files.evicted().begin_caching(kMiB));
    std::atomic<std::size_t> operations = 0;
    faulty->fault = [&](const std::string&, const Path&) -> std::optional<Error> {
      if (operations++ >= last) return Error{ErrorCode::kIo, "by the test"};
      return std::nullopt;
    };
    const auto evicted = files.evict(kFirst, {{.offset = 0, .length = 4096}});
    faulty->fault = nullptr;
    files.expect_whole();  // in this run, too

    files.open();
    files.expect_whole();
    ASSERT_TRUE(files.evicted().begin_caching(kMiB));
    files.expect_whole();
    if (!files.evicted().contains(kFirst)) {
      ASSERT_TRUE(files.evict(kFirst));
    }
    files.expect_whole();
    if (evicted) break;
    ASSERT_LT(last, 100u);
  }
}

// What a reader fetches while holes are made must not be taken for cached; nor may holes be made in what comes back.
TEST_F(EvictedContainersTest, ReadsInTheMiddleOfAMoveSpoilNothing) {
  const auto faulty = std::make_shared<FaultyBacking>();
  files_.open(faulty);
  begin(2 * kMiB);
  const auto reader = files_.file(kFirst);
  bool reads = true;
  faulty->fault = [&](const std::string& operation, const Path& path) -> std::optional<Error> {
    if (!reads || path.filename() != kFirst || (operation != "discard" && operation != "write")) return std::nullopt;
    reads = false;  // not for what this read causes
    files_.expect_whole(*reader, kFirst, 0, EvictedFiles::kContainerBytes);
    reads = true;
    return std::nullopt;
  };
  ASSERT_TRUE(files_.evict(kFirst, {{.offset = 3 * kMiB, .length = 4096}}));
  reads = false;
  files_.expect_whole(*reader, kFirst, 0, EvictedFiles::kContainerBytes);
  files_.expect_whole(*reader, kFirst, 0, EvictedFiles::kContainerBytes);

  reads = true;
  ASSERT_TRUE(files_.evicted().recall(kFirst));
  reads = false;

  files_.expect_whole(*reader, kFirst, 0, EvictedFiles::kContainerBytes);
  files_.open();
  files_.expect_whole();
}

// Readers of files that are evicted meanwhile, by more blocks than the cache holds.
TEST_F(EvictedContainersTest, ReadersSeeTheSameBytesAllTheTime) {
  begin(2 * kMiB);
  std::atomic<bool> ends = false;
  std::vector<std::thread> readers;
  for (unsigned seed = 0; seed < 3; ++seed)
    readers.emplace_back([&, seed] {
      std::mt19937_64 random(seed);
      const auto kept_open = files_.file(kFirst);
      for (int i = 0; i < 40 || !ends; ++i) {
        const std::uint64_t offset = random() % EvictedFiles::kContainerBytes;
        files_.expect_whole(*kept_open, kFirst, offset, random() % kMiB);
        const std::string name = container_name(1 + static_cast<std::uint32_t>(random() % 3));
        files_.expect_whole(*files_.file(name), name, offset, random() % (kMiB / 4));
      }
    });
  for (std::uint32_t number = 1; number <= 3; ++number)
    EXPECT_TRUE(files_.evict(container_name(number), {{.offset = 0, .length = 4096}}));
  ends = true;
  for (std::thread& reader : readers) reader.join();
  EXPECT_LE(files_.evicted().status().cached_bytes, 2 * kMiB);
}

}  // namespace
}  // namespace dedupfs
