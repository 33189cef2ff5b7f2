#include "replica/bucket_backing.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "fake_image.h"
#include "support/memory_bucket.h"

namespace dedupfs {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

class BucketBackingTest : public testing::Test {
 protected:
  BucketBackingTest() {
    for (int i = 0; i < 500; ++i) content_ += static_cast<char>('a' + i % 23);
    Writer writer(bucket_);
    EXPECT_TRUE(writer.attach());
    EXPECT_TRUE(writer.ship(
        {{"containers/0000000001.container", content_}, {"index/CURRENT", "MANIFEST-1\n"}, {"superblock.json", "{}"}}));
    bucket_.set_hook([this](const MemoryBucket::Call& call, MemoryBucket::When when) {
      if (call.operation == MemoryBucket::Operation::kRead && when == MemoryBucket::When::kBefore) ++reads_;
    });
  }
  // Pieces have 64 bytes.
  std::shared_ptr<BackingFolder> root(std::uint32_t block_bytes = 16, std::uint64_t cache_bytes = 1 << 20) {
    auto replica = load_replica(bucket_).value();
    reads_ = 0;
    BucketBacking backing(shared_bucket(bucket_), *replica, {.cache_bytes = cache_bytes, .block_bytes = block_bytes});
    return backing.open_root("/bucket").value();
  }
  std::unique_ptr<BackingFile> container(const std::shared_ptr<BackingFolder>& root) {
    return root->open_folder("containers").value()->open("0000000001.container", Backing::Mode::kRead).value();
  }

  std::string content_;
  MemoryBucket bucket_;
  int reads_ = 0;
};

TEST_F(BucketBackingTest, ShowsTheFilesOfTheHead) {
  const auto folder = root();

  EXPECT_THAT(folder->list().value(), ElementsAre("containers", "index", "superblock.json"));
  EXPECT_THAT(folder->open_folder("index").value()->list().value(), ElementsAre("CURRENT"));
  EXPECT_EQ(read_file(*folder, "superblock.json", 100).value(), "{}");
  EXPECT_EQ(container(folder)->size().value(), content_.size());
  EXPECT_EQ(folder->type("lock").value(), Backing::Type::kMissing);
  EXPECT_EQ(folder->open("lock", Backing::Mode::kRead).error().code(), ErrorCode::kNotFound);
  EXPECT_EQ(folder->open_folder("superblock.json").error().code(), ErrorCode::kNotDirectory);
}

TEST_F(BucketBackingTest, AnyStretchIsRead) {
  for (const std::uint32_t block_bytes : {1u, 16u, 17u, 64u, 1000u}) {
    const auto file = container(root(block_bytes));
    for (std::size_t begin = 0; begin < content_.size() + 2; begin += 7) {
      for (const std::size_t length : {0u, 1u, 63u, 65u, 200u, 600u}) {
        ByteBuffer bytes(length);
        const auto filled = file->read_up_to(begin, bytes);
        ASSERT_TRUE(filled) << filled.error().message();
        EXPECT_EQ(text_of(ByteSpan(bytes).first(*filled)),
                  begin < content_.size() ? content_.substr(begin, length) : "");
      }
    }
  }
}

TEST_F(BucketBackingTest, ABlockIsAskedForOnceAsLongAsItIsKept) {
  const auto file = container(root(16, 64));
  ByteBuffer bytes(64);
  ASSERT_TRUE(file->read(0, bytes));
  ASSERT_TRUE(file->read(0, bytes));
  EXPECT_EQ(reads_, 4);

  ASSERT_TRUE(file->read(64, bytes));
  ASSERT_TRUE(file->read(0, bytes));

  EXPECT_EQ(reads_, 12);
}

// A read of a store that does not answer takes a minute.
TEST_F(BucketBackingTest, AStoreThatDidNotAnswerRestsForAWhile) {
  for (const bool rests : {true, false}) {
    auto replica = load_replica(bucket_).value();
    const auto file = container(
        BucketBacking(
            shared_bucket(bucket_), *replica,
            {.cache_bytes = 1 << 20, .block_bytes = 16, .rest_after_failure = std::chrono::hours(rests ? 1 : 0)})
            .open_root("/bucket")
            .value());
    ByteBuffer bytes(16);
    ASSERT_TRUE(file->read(0, bytes));
    bucket_.set_fault([](const MemoryBucket::Call&) { return MemoryBucket::Fault::kFails; });
    EXPECT_EQ(file->read(16, bytes).error().code(), ErrorCode::kIo);
    bucket_.set_fault({});

    EXPECT_TRUE(file->read(0, bytes)) << "it is in memory";
    const auto later = file->read(32, bytes);
    EXPECT_EQ(static_cast<bool>(later), !rests);
    if (rests) {
      EXPECT_EQ(later.error().code(), ErrorCode::kIo);
    }
  }
}

TEST_F(BucketBackingTest, NothingIsChanged) {
  const auto folder = root();

  EXPECT_EQ(folder->open("superblock.json", Backing::Mode::kReadWrite).error().code(), ErrorCode::kReadOnly);
  EXPECT_EQ(folder->open("new", Backing::Mode::kCreate).error().code(), ErrorCode::kReadOnly);
  EXPECT_EQ(folder->unlink("superblock.json").error().code(), ErrorCode::kReadOnly);
  EXPECT_EQ(folder->make_folder("new").error().code(), ErrorCode::kReadOnly);
  EXPECT_EQ(replace_file(*folder, "superblock.json", {}).error().code(), ErrorCode::kReadOnly);
}

TEST_F(BucketBackingTest, AMissingObjectIsNamedWithItsFile) {
  const auto file = container(root());
  for (const std::string& name : bucket_.objects().names())
    if (name.starts_with("c/")) bucket_.objects().erase(name);
  ByteBuffer bytes(10);

  const auto read = file->read(0, bytes);

  ASSERT_FALSE(read);
  EXPECT_EQ(read.error().code(), ErrorCode::kCorruption);
  EXPECT_THAT(read.error().message(), HasSubstr("c/00000001/0000000001.container"));
  EXPECT_THAT(read.error().message(), HasSubstr("a part of /bucket/containers/0000000001.container"));
}

// Who reads an older head for longer than the grace gets what it had, or an error that names what is gone.
TEST_F(BucketBackingTest, AReaderThatOutlivesACollectionGetsNoOtherBytes) {
  MemoryBucket bucket;
  Writer writer(bucket);
  ASSERT_TRUE(writer.attach());
  const std::string log(100, 'l');
  ASSERT_TRUE(writer.ship(
      {{"containers/0000000001.container", content_}, {"index/000001.log", log}, {"superblock.json", "{}"}}));
  BucketBacking backing(shared_bucket(bucket), *load_replica(bucket).value(),
                        {.cache_bytes = 1 << 20, .block_bytes = 16});
  const auto folder = backing.open_root("/bucket").value();
  const auto file = container(folder);
  const auto read = [](BackingFile& from, std::uint64_t offset) -> Result<std::string> {
    ByteBuffer bytes(16);
    DEDUPFS_TRY(from.read(offset, bytes));
    return std::string(text_of(bytes));
  };
  ASSERT_EQ(read(*file, 0).value(), content_.substr(0, 16));

  writer.seconds += 10;
  ASSERT_TRUE(writer.ship({{"containers/0000000002.container", std::string(500, 'X')},
                           {"index/000001.log", log + "more"},
                           {"superblock.json", "{}"}}));
  ASSERT_GT(writer.shipper().collect(std::chrono::seconds(0)).value().objects, 0u);

  EXPECT_EQ(read(*file, 0).value(), content_.substr(0, 16)) << "it is still in memory";
  for (std::uint64_t offset = 16; offset + 16 <= content_.size(); offset += 16) {
    const auto gone = read(*file, offset);
    if (gone) {
      EXPECT_EQ(*gone, content_.substr(offset, 16));
      continue;
    }
    EXPECT_EQ(gone.error().code(), ErrorCode::kCorruption);
    EXPECT_THAT(gone.error().message(), HasSubstr("c/00000001/0000000001.container"));
  }
  EXPECT_FALSE(read(*file, content_.size() - 20)) << "it was dropped, and never read";
  const auto index = folder->open_folder("index").value()->open("000001.log", Backing::Mode::kRead).value();
  EXPECT_EQ(read(*index, 40).value(), log.substr(40, 16)) << "the newer head has it, too";
  EXPECT_EQ(index->size().value(), log.size());
}

TEST_F(BucketBackingTest, ADamagedPieceThatIsReadWholeIsFound) {
  const auto file = container(root(64));
  for (const std::string& name : bucket_.objects().names())
    if (name.starts_with("c/")) bucket_.objects().set(name, std::string(64, 'x'));
  ByteBuffer bytes(10);

  EXPECT_EQ(file->read(0, bytes).error().code(), ErrorCode::kCorruption);
}

}  // namespace
}  // namespace dedupfs
