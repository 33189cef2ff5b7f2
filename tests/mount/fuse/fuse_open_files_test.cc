#include "mount/fuse/fuse_open_files.h"

#include <gtest/gtest.h>

#include "support/units.h"

namespace dedupfs {
namespace {

constexpr OpenMode kWriteOnly{.direct = true, .writer = true};
constexpr OpenMode kDirectReadWrite{.o_direct = true, .writer = true};
constexpr OpenMode kDirectRead{.o_direct = true};
constexpr OpenMode kBufferedReadWrite{.writer = true};
constexpr OpenMode kBufferedRead{};

TEST(OpenFiles, DirectWritersAloneDropPagesAtTheOpeningAndNeedNoInvalidation) {
  for (const OpenMode& mode : {kWriteOnly, kDirectReadWrite}) {
    OpenFiles files;

    auto writer = files.open(7, mode);
    auto second = files.open(7, mode);
    auto other = files.open(8, kBufferedReadWrite);

    EXPECT_TRUE(writer->drops_pages);
    EXPECT_FALSE(writer->use->kernel_caches);
    files.close(std::move(writer));
    files.close(std::move(second));
    files.close(std::move(other));
  }
}

TEST(OpenFiles, DirectWritesInvalidateFromTheFirstBufferedOpenOn) {
  for (const OpenMode& mode : {kWriteOnly, kDirectReadWrite}) {
    OpenFiles files;
    auto writer = files.open(7, mode);

    auto reader = files.open(7, kBufferedRead);
    EXPECT_TRUE(writer->use->kernel_caches);

    // What the reader brought into the cache stays there when it is gone.
    files.close(std::move(reader));
    EXPECT_TRUE(writer->use->kernel_caches);
    files.close(std::move(writer));
  }
}

// An earlier handle, closed since, may have left pages.
TEST(OpenFiles, AFirstHandleThatKeepsPagesMarksTheInode) {
  for (const OpenMode& mode : {kBufferedRead, kBufferedReadWrite, kDirectRead}) {
    OpenFiles files;

    auto first = files.open(7, mode);
    auto writer = files.open(7, kDirectReadWrite);

    EXPECT_FALSE(first->drops_pages);
    EXPECT_TRUE(writer->use->kernel_caches);
    EXPECT_FALSE(writer->drops_pages);
    files.close(std::move(first));
    files.close(std::move(writer));
  }
}

TEST(OpenFiles, ADirectReaderFillsNoPages) {
  OpenFiles files;
  auto writer = files.open(7, kDirectReadWrite);

  auto reader = files.open(7, kDirectRead);

  EXPECT_FALSE(writer->use->kernel_caches);
  files.close(std::move(reader));
  files.close(std::move(writer));
}

TEST(OpenFiles, ARequestThatFillsPagesMarksTheInode) {
  OpenFiles files;
  files.note_cached(7);  // nobody has it open: nothing to do
  auto writer = files.open(7, kWriteOnly);
  EXPECT_FALSE(writer->use->kernel_caches);

  files.note_cached(7);

  EXPECT_TRUE(writer->use->kernel_caches);
  files.close(std::move(writer));
}

TEST(OpenFiles, KnowsWhetherAFileIsOpenForWriting) {
  OpenFiles files;
  EXPECT_FALSE(files.has_writer(7));
  auto reader = files.open(7, kBufferedRead);
  EXPECT_FALSE(files.has_writer(7));
  auto writer = files.open(7, kBufferedReadWrite);
  EXPECT_TRUE(files.has_writer(7));
  files.close(std::move(writer));
  EXPECT_FALSE(files.has_writer(7));
  files.close(std::move(reader));
}

TEST(ReadAhead, LoadsAheadOfASequentialReaderWithoutGapsOrRepetition) {
  ReadAhead read_ahead;
  std::uint64_t loaded_to = 0;

  for (std::uint64_t offset = 0; offset < 256 * kMiB; offset += kMiB) {
    const auto range = read_ahead.on_read(offset, kMiB);
    if (!range) continue;
    EXPECT_GE(range->offset, offset + kMiB);
    if (loaded_to != 0) {
      EXPECT_EQ(range->offset, loaded_to);
    }
    EXPECT_LE(range->length, ReadAhead::kMaxWindow);
    loaded_to = range->offset + range->length;
  }

  EXPECT_GT(loaded_to, 256 * kMiB);
  EXPECT_LE(loaded_to, 256 * kMiB + ReadAhead::kMaxWindow);
}

TEST(ReadAhead, RecognisesARunWhoseRequestsArriveOutOfOrder) {
  ReadAhead read_ahead;
  std::uint64_t ranges = 0;

  for (std::uint64_t step = 0; step < 64; step += 4) {
    for (const std::uint64_t swapped : {1u, 0u, 3u, 2u}) {
      if (read_ahead.on_read((step + swapped) * kMiB, kMiB)) ++ranges;
    }
  }

  EXPECT_GE(ranges, 64 * kMiB / ReadAhead::kMaxWindow);
}

TEST(ReadAhead, LeavesRandomReadersAlone) {
  ReadAhead read_ahead;

  for (std::uint64_t i = 0; i < 100; ++i) EXPECT_FALSE(read_ahead.on_read(i * 7919 % 101 * 64 * kMiB, 4096));
}

TEST(ReadAhead, LeavesTheHeadOfAFileAlone) {
  ReadAhead read_ahead;

  EXPECT_FALSE(read_ahead.on_read(0, 4096));
  EXPECT_FALSE(read_ahead.on_read(4096, 128 * 1024));
}

}  // namespace
}  // namespace dedupfs
