#include "fs/background/defragmenter.h"

#include <gtest/gtest.h>

#include "fs/statistics/file_statistics.h"
#include "fs/statistics/statistics.h"
#include "fs/test_filesystem.h"
#include "store/ingest/recent_references.h"
#include "store/relocation/relocator.h"
#include "store/sample_region.h"

namespace dedupfs {
namespace {

constexpr int kOldFiles = 12;
constexpr std::size_t kPiece = 40 << 10;

FilesystemOptions rewriting(unsigned percent) {
  FilesystemOptions options = TestFilesystem::quiet();
  options.defragment_percent = percent;
  return options;
}

std::string content_number(int file) {
  return std::string(text_of(random_bytes(1 << 20, static_cast<std::uint64_t>(file))));
}

// A piece of each of the old files.
std::string patchwork() {
  std::string content;
  for (int file = 0; file < kOldFiles; ++file) content += content_number(file).substr(300'000, kPiece);
  return content;
}

// Each old file has a container of its own; then the patchwork is written, and all of it closed and opened again.
InodeNumber write_all(TestFilesystem& filesystem) {
  for (int file = 0; file < kOldFiles; ++file) {
    filesystem.make_file(kRootInode, "old-" + std::to_string(file), content_number(file));
    EXPECT_TRUE(ok(filesystem->sync()));
    (void)filesystem->volume().containers().begin_new_container();
  }
  filesystem.reopen();
  filesystem.make_file(kRootInode, "patchwork", patchwork());
  filesystem.reopen();
  return value_of(filesystem.find("patchwork"));
}

FileStatistics statistics_of(TestFilesystem& filesystem, InodeNumber file) {
  return value_of(compute_file_statistics(filesystem->volume(), {file})).at(0);
}

// But for what frames the regions.
std::uint64_t garbage_in(TestFilesystem& filesystem) {
  constexpr std::uint64_t kFrames = 40'000;
  const std::uint64_t garbage = value_of(compute_statistics(filesystem->volume())).garbage_bytes;
  return garbage - std::min(garbage, kFrames);
}

TEST(Defragmenter, AFileOfPiecesLiesTogetherWhenItsVolumeIsClosed) {
  TestFilesystem filesystem(rewriting(100));
  const InodeNumber file = write_all(filesystem);

  EXPECT_LE(statistics_of(filesystem, file).regions_read, 6u) << "one instead of those of nine files";
  EXPECT_EQ(filesystem.content(file), patchwork());
  for (int old = 0; old < kOldFiles; ++old)
    EXPECT_TRUE(filesystem.content(value_of(filesystem.find("old-" + std::to_string(old)))) == content_number(old))
        << old;
}

TEST(Defragmenter, ZeroPercentStoresNothingAgain) {
  TestFilesystem filesystem(rewriting(0));
  const InodeNumber file = write_all(filesystem);

  EXPECT_GE(statistics_of(filesystem, file).regions_read, std::uint64_t{kOldFiles - 1});
  EXPECT_LT(garbage_in(filesystem), kPiece);
}

TEST(Defragmenter, TheBudgetIsAShareOfWhatIsWritten) {
  TestFilesystem filesystem(rewriting(20));
  write_all(filesystem);

  const std::uint64_t garbage = garbage_in(filesystem);
  EXPECT_GT(garbage, kPiece);
  EXPECT_LE(garbage, patchwork().size() / 5 + kPiece) << "what was stored again is there twice";
}

TEST(Defragmenter, AReclaimBringsTheFormerCopiesBack) {
  TestFilesystem filesystem(rewriting(100));
  const InodeNumber file = write_all(filesystem);
  const std::uint64_t garbage = garbage_in(filesystem);
  ASSERT_GT(garbage, 4 * kPiece);
  for (int old = 0; old < kOldFiles; ++old)
    ASSERT_TRUE(ok(filesystem->unlink(kRootInode, "old-" + std::to_string(old))));
  ASSERT_TRUE(filesystem.inodes_become(2));

  ASSERT_TRUE(ok(filesystem->reclaimer().start({.garbage_left = 0})));
  while (filesystem->reclaimer().status().running) std::this_thread::sleep_for(std::chrono::milliseconds(5));

  EXPECT_LT(value_of(compute_statistics(filesystem->volume())).stored_bytes + garbage_in(filesystem),
            2 * patchwork().size());
  EXPECT_EQ(filesystem.content(file), patchwork());
}

// Two files of the same pieces of others, which are deleted; the newer one has them the other way round.
TEST(Reclaim, WhatMovesLiesAsTheNewerOfTwoFilesNeedsIt) {
  constexpr int kPieces = 8;
  const auto piece = [](int of) { return content_number(of).substr(200'000, 600'000); };
  TestFilesystem filesystem(rewriting(0));
  for (int file = 0; file < kPieces; ++file)
    filesystem.make_file(kRootInode, std::to_string(file), content_number(file));
  std::string forwards, backwards;
  for (int of = 0; of < kPieces; ++of) forwards += piece(of), backwards = piece(of) + backwards;
  filesystem.make_file(kRootInode, "older", forwards);
  filesystem.make_file(kRootInode, "newer", backwards);
  for (int file = 0; file < kPieces; ++file) ASSERT_TRUE(ok(filesystem->unlink(kRootInode, std::to_string(file))));
  filesystem.reopen();
  ASSERT_TRUE(filesystem.inodes_become(3));
  const auto regions_of = [&](std::string_view name) {
    return statistics_of(filesystem, value_of(filesystem.find(name))).regions_read;
  };
  const std::uint64_t regions_before = regions_of("newer");

  ASSERT_TRUE(ok(filesystem->reclaimer().start({.garbage_left = 0})));
  while (filesystem->reclaimer().status().running) std::this_thread::sleep_for(std::chrono::milliseconds(5));

  EXPECT_LE(regions_of("newer"), backwards.size() / (512 << 10) + 2)
      << "no more than it fills, instead of " << regions_before;
  EXPECT_GT(regions_before, regions_of("newer") + kPieces / 2);
  EXPECT_EQ(filesystem.content(value_of(filesystem.find("newer"))), backwards);
  EXPECT_EQ(filesystem.content(value_of(filesystem.find("older"))), forwards);
}

TEST(Defragmenter, WhileOthersMoveChunksStretchesAreLetGo) {
  TestFilesystem filesystem(rewriting(0));
  write_all(filesystem);
  Volume& volume = filesystem->volume();
  int commits = 0;
  bool may_defragment = true;
  Defragmenter defragmenter(volume, 100,
                            {.in_group = [](const auto& change) { return change(); },
                             .commit = [&](auto) -> Result<void> {
                               ++commits;
                               return {};
                             },
                             .may_defragment = [&] { return may_defragment; }});
  const auto note = [&] {
    volume.chunks().recent_references().note({.bytes = 1, .new_bytes = 0, .ids = {ChunkId{1}}});
  };

  note();
  {
    const auto moving = volume.chunks().relocator().start_moving();
    defragmenter.finish(std::chrono::hours(1));
  }
  EXPECT_EQ(commits, 1) << "of what finish() begins with";

  note();
  may_defragment = false;
  defragmenter.finish(std::chrono::hours(1));
  EXPECT_EQ(commits, 2);

  note();
  may_defragment = true;
  defragmenter.finish(std::chrono::hours(1));
  EXPECT_EQ(commits, 4);
}

}  // namespace
}  // namespace dedupfs
