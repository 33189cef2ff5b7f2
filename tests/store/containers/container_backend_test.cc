// What every ContainerBackend has to do. A new one gets a struct like those below, and its name in `Backends`.
#include "store/containers/container_backend.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <thread>

#include "memory_containers.h"
#include "store/containers/container_folder.h"
#include "support/folder_at.h"
#include "support/temp_dir.h"

namespace dedupfs {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

struct Folder {
  static constexpr std::uint32_t kMany = 100;  // more than it keeps open

  void put(std::uint32_t number, const std::string& content) {
    ASSERT_TRUE(backend.create(number).value()->write(0, bytes_of(content)));
  }

  TempDir directory;
  ContainerFolder backend{folder_at(directory.path())};
};

struct Memory {
  static constexpr std::uint32_t kMany = 10;

  void put(std::uint32_t number, const std::string& content) { backend.put(number, content); }

  MemoryContainers backend;
};

template <class T>
class ContainerBackendTest : public testing::Test {
 protected:
  ContainerBackend& backend() { return made_.backend; }
  void put(std::uint32_t number, const std::string& content) { made_.put(number, content); }

  // What one read of so many bytes gives.
  std::string read(std::uint32_t number, std::uint64_t offset, std::size_t length) {
    ByteBuffer bytes(length);
    const auto filled = backend().read_up_to(number, offset, bytes);
    EXPECT_TRUE(filled) << filled.error().message();
    return filled ? std::string(text_of(ByteSpan(bytes).first(*filled))) : "";
  }

 private:
  T made_;
};

using Backends = testing::Types<Folder, Memory>;
TYPED_TEST_SUITE(ContainerBackendTest, Backends);

TYPED_TEST(ContainerBackendTest, ARangeIsRead) {
  this->put(7, "0123456789");
  this->put(8, "abc");

  EXPECT_EQ(this->read(7, 0, 10), "0123456789");
  EXPECT_EQ(this->read(7, 3, 4), "3456");
  EXPECT_EQ(this->read(8, 1, 1), "b");
}

TYPED_TEST(ContainerBackendTest, AReadEndsWithTheContainer) {
  this->put(7, "0123456789");

  EXPECT_EQ(this->read(7, 8, 100), "89");
  EXPECT_EQ(this->read(7, 10, 100), "");
  EXPECT_EQ(this->read(7, 0xffffffff, 100), "");
}

TYPED_TEST(ContainerBackendTest, WhoNeedsAllOfARangeHearsThatTheContainerIsTooShort) {
  this->put(7, "0123456789");
  ByteBuffer bytes(4);

  EXPECT_TRUE(this->backend().read(7, 6, bytes));
  EXPECT_EQ(text_of(bytes), "6789");
  const auto cut = this->backend().read(7, 8, bytes);

  ASSERT_FALSE(cut);
  EXPECT_EQ(cut.error().code(), ErrorCode::kCorruption);
  EXPECT_THAT(cut.error().message(), HasSubstr(this->backend().name_of(7) + " ends at 10"));
}

TYPED_TEST(ContainerBackendTest, SizeIsThatOfTheWholeContainer) {
  this->put(7, "0123456789");
  this->put(8, "");

  EXPECT_EQ(this->backend().size(7), 10u);
  EXPECT_EQ(this->backend().size(8), 0u);
}

TYPED_TEST(ContainerBackendTest, ContainersAreListedInOrderOfNumber) {
  EXPECT_THAT(*this->backend().list(), IsEmpty());
  for (const std::uint32_t number : {10u, 9u, 4294967295u, 1u}) this->put(number, "x");

  EXPECT_THAT(*this->backend().list(), ElementsAre(1, 9, 10, 4294967295u));
}

TYPED_TEST(ContainerBackendTest, ARemovedContainerIsGone) {
  this->put(7, "0123456789");
  this->put(8, "abc");
  ASSERT_EQ(this->read(7, 0, 1), "0");

  ASSERT_TRUE(this->backend().remove(7));

  ByteBuffer bytes(1);
  EXPECT_EQ(this->backend().read_up_to(7, 0, bytes).error().code(), ErrorCode::kNotFound);
  EXPECT_EQ(this->backend().size(7).error().code(), ErrorCode::kNotFound);
  EXPECT_EQ(this->backend().remove(7).error().code(), ErrorCode::kNotFound);
  EXPECT_THAT(*this->backend().list(), ElementsAre(8));
  EXPECT_EQ(this->read(8, 0, 3), "abc");
}

TYPED_TEST(ContainerBackendTest, AContainerThatIsNotThereIsNamed) {
  const auto size = this->backend().size(99);

  ASSERT_FALSE(size);
  EXPECT_EQ(size.error().code(), ErrorCode::kNotFound);
  EXPECT_THAT(size.error().message(), HasSubstr(this->backend().name_of(99)));
}

TYPED_TEST(ContainerBackendTest, DroppingWhatIsCachedChangesNoByte) {
  this->put(7, "0123456789");

  this->backend().drop_cached(7, 2, 1000);
  this->backend().drop_cached(99, 0, 1);

  EXPECT_EQ(this->read(7, 0, 10), "0123456789");
}

TYPED_TEST(ContainerBackendTest, ReadsAndRemovalsRunSideBySide) {
  constexpr std::uint32_t kMany = TypeParam::kMany;
  for (std::uint32_t number = 1; number <= 2 * kMany; ++number) this->put(number, "content " + std::to_string(number));
  std::atomic<int> wrong = 0;
  std::vector<std::thread> threads;
  for (int thread = 0; thread < 3; ++thread)
    threads.emplace_back([&] {
      for (std::uint32_t number = 1; number <= kMany; ++number)
        if (this->read(number, 0, 100) != "content " + std::to_string(number)) ++wrong;
    });
  threads.emplace_back([&] {
    for (std::uint32_t number = kMany + 1; number <= 2 * kMany; ++number)
      if (!this->backend().remove(number)) ++wrong;
  });
  for (std::thread& thread : threads) thread.join();

  EXPECT_EQ(wrong, 0);
  EXPECT_EQ(this->backend().list()->size(), kMany);
}

}  // namespace
}  // namespace dedupfs
