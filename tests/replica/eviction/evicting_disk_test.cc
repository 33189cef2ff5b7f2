#include "replica/eviction/evicting_disk.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <thread>

#include "evicted_files.h"

namespace dedupfs {
namespace {

using testing::Contains;
using testing::ElementsAre;
using testing::Not;

class EvictingDiskTest : public testing::Test {
 protected:
  EvictingDiskTest() {
    files_.open();
    EXPECT_TRUE(files_.evicted().begin_caching(1 << 20));
    EXPECT_TRUE(files_.evict(container_name(2)));
  }
  static ErrorCode code_of(const Result<void>& result) { return result ? ErrorCode() : result.error().code(); }

  EvictedFiles files_;
};

TEST_F(EvictingDiskTest, ShowsAllContainersInTheirFolder) {
  EXPECT_THAT(files_.containers().list().value(), ElementsAre(container_name(1), container_name(2), container_name(3)));
  EXPECT_EQ(files_.containers().status(container_name(2)).value().type, Backing::Type::kFile);
  EXPECT_EQ(files_.containers().status(container_name(2)).value().allocated_bytes, EvictedFiles::kContainerBytes);
}

TEST_F(EvictingDiskTest, HidesTheFolderOfEvictedOnes) {
  EXPECT_THAT(files_.root().list().value(), Not(Contains(kEvictedDirectory)));
  EXPECT_FALSE(files_.root().exists(kEvictedDirectory).value());
  EXPECT_FALSE(files_.root().open_folder(kEvictedDirectory));
}

// A program looks at the volume, and waits for its lock. The daemon evicts and recalls meanwhile, and ends. Who listed what he had seen before
// would ship a volume without containers.
TEST_F(EvictingDiskTest, WhoTakesTheLockSeesWhatChangedSinceHeLooked) {
  EvictingDisk another(Backing::posix(), [this](const RemoteAddress&, const GoOn&) -> Result<std::unique_ptr<Bucket>> {
    return std::make_unique<SameBucket>(files_.bucket());
  });
  const auto root = another.open_root(files_.path()).value();
  const auto containers = root->open_folder(kContainersDirectory).value();
  ASSERT_EQ(containers->list().value().size(), 3u);
  ASSERT_TRUE(files_.evict(container_name(1)));
  ASSERT_TRUE(files_.evicted().recall(container_name(2)));

  const auto lock = root->open(kLockFile, Backing::Mode::kOpenOrCreate).value();
  ASSERT_TRUE(lock->try_lock(BackingFile::LockMode::kExclusive).value());

  EXPECT_THAT(containers->list().value(), ElementsAre(container_name(1), container_name(2), container_name(3)));
  EXPECT_THAT(evicted_containers_of(*root)->names(), ElementsAre(container_name(1)));
  for (const auto& [name, content] : files_.contents())
    files_.expect_whole(*containers->open(name, Backing::Mode::kRead).value(), name, 0, content.size());
}

// Whatever comes and goes: a container that is missing for a moment would be left out of what is shipped.
TEST_F(EvictingDiskTest, NoContainerIsMissingWhileItComesOrGoes) {
  const std::string name = container_name(2);
  std::atomic<bool> ended = false;
  std::thread mover([&] {
    for (int i = 0; i < 100; ++i) {
      EXPECT_TRUE(files_.evicted().recall(name));
      EXPECT_TRUE(files_.evict(name));
    }
    ended = true;
  });
  while (!ended) {
    EXPECT_EQ(files_.containers().list().value().size(), 3u);
    EXPECT_EQ(files_.containers().status(name).value().type, Backing::Type::kFile);
    EXPECT_TRUE(files_.containers().open(name, Backing::Mode::kRead));
    if (HasFailure()) break;
  }
  mover.join();
}

// An encrypted volume ends a container that a crash left open.
TEST_F(EvictingDiskTest, AWriteRecallsAContainer) {
  const std::string name = container_name(2);
  const auto reader = files_.file(name);
  files_.expect_whole(*reader, name, 100, 1000);
  const auto file = files_.containers().open(name, Backing::Mode::kReadWrite).value();

  ASSERT_TRUE(file->write(EvictedFiles::kContainerBytes, bytes_of(std::string("more"))));

  EXPECT_FALSE(files_.evicted().contains(name));
  files_.expect_whole();
  ByteBuffer end(4);
  EXPECT_EQ(reader->read_up_to(EvictedFiles::kContainerBytes, end).value(), 4u);
  EXPECT_EQ(text_of(end), "more");
  EXPECT_TRUE(std::filesystem::is_empty(files_.path() / kEvictedDirectory));
  files_.open();
  EXPECT_TRUE(files_.evicted().begin_caching(1 << 20));
  EXPECT_EQ(content_of(files_.path() / kContainersDirectory / name), files_.contents().at(name) + "more");
}

TEST_F(EvictingDiskTest, AnEvictedContainerKeepsItsName) {
  const std::string name = container_name(2);
  EXPECT_EQ(code_of(files_.containers().rename(name, files_.root(), "elsewhere")), ErrorCode::kUnsupported);
  EXPECT_EQ(code_of(files_.containers().link(name, files_.root(), "elsewhere")), ErrorCode::kUnsupported);
  EXPECT_EQ(files_.containers().open(name, Backing::Mode::kCreate).error().code(), ErrorCode::kExists);
  files_.expect_whole();
}

TEST_F(EvictingDiskTest, TheOthersAreFilesAsEver) {
  const std::string name = container_name(9);
  const auto file = files_.containers().open(name, Backing::Mode::kCreate).value();
  EXPECT_TRUE(file->write(0, bytes_of(std::string("new"))));
  EXPECT_TRUE(files_.containers().rename(name, files_.root(), "moved"));
  EXPECT_EQ(content_of(files_.path() / "moved"), "new");
  EXPECT_TRUE(files_.root().rename("moved", files_.containers(), name));
  EXPECT_TRUE(files_.containers().unlink(name));
  EXPECT_FALSE(files_.containers().exists(name).value());
}

TEST_F(EvictingDiskTest, OtherDisksHaveNone) {
  EXPECT_EQ(evicted_containers_of(*Backing::posix()->open_root(files_.path()).value()), nullptr);
}

}  // namespace
}  // namespace dedupfs
