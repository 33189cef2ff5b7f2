#include "fs/transfer/stream_changes.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>

#include "fs/test_filesystem.h"
#include "fs/transfer/received_folder.h"
#include "fs/transfer/receiver.h"
#include "fs/transfer/sender.h"
#include "fs/transfer/streams.h"

namespace dedupfs::transfer {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;

// ---------------------------------------------------------------- what it knows

class StreamChangesTest : public testing::Test {
 protected:
  StreamChanges opened(bool goes_on, std::uint64_t most = 1000) {
    return value_of(StreamChanges::open(*fs_, work_, goes_on, most));
  }
  CommittedTree live() {
    EXPECT_TRUE(ok(fs_->sync()));
    return CommittedTree::live(std::make_shared<CommittedState>(fs_->volume().database()));
  }

  TestFilesystem fs_;
  const InodeNumber work_ = fs_.make_directory(kRootInode, "work");
};

TEST_F(StreamChangesTest, AreThereAfterAnInterruption) {
  const InodeNumber file = fs_.make_file(kRootInode, "file");
  {
    StreamChanges changes = opened(/*goes_on=*/false);
    ASSERT_TRUE(ok(changes.note_finished(file, fs_.attributes(file).ctime)));
    ASSERT_TRUE(ok(changes.note_removed(500)));
    ASSERT_TRUE(ok(changes.note_made(600)));
    ASSERT_TRUE(ok(changes.note_finished(600, {})));
    ASSERT_TRUE(ok(changes.save()));
    ASSERT_TRUE(ok(changes.note_removed(501)));
  }
  const StreamChanges changes = opened(/*goes_on=*/true);
  EXPECT_TRUE(changes.has_finished(file));
  EXPECT_TRUE(changes.has_removed(500));
  EXPECT_FALSE(changes.has_removed(501));
  EXPECT_TRUE(changes.has_made(600));
  EXPECT_FALSE(changes.has_made(file));
  EXPECT_FALSE(opened(/*goes_on=*/false).has_finished(file)) << "another stream";
}

TEST_F(StreamChangesTest, AChangeToAFinishedFileIsFound) {
  const InodeNumber file = fs_.make_file(kRootInode, "file");
  StreamChanges changes = opened(/*goes_on=*/false);
  ASSERT_TRUE(ok(changes.note_finished(file, fs_.attributes(file).ctime)));
  EXPECT_THAT(value_of(changes.find_changed(live())), IsEmpty());
  fs_.write(file, 0, "X");
  EXPECT_THAT(value_of(changes.find_changed(live())), ElementsAre(file));
  EXPECT_FALSE(value_of(changes.begin(file, std::nullopt))) << "it is not written over";
}

TEST_F(StreamChangesTest, AFileThatTheStreamHasBegunIsItsOwn) {
  const InodeNumber file = fs_.make_file(kRootInode, "file", "1");
  ASSERT_TRUE(ok(fs_->create_snapshot("base")));
  const TreeNumber base = fs_->snapshots().at(0).number;
  {
    StreamChanges changes = opened(/*goes_on=*/false);
    EXPECT_TRUE(value_of(changes.begin(file, base)));
    fs_.write(file, 0, "2");
    EXPECT_TRUE(value_of(changes.begin(file, base)));
  }
  EXPECT_TRUE(value_of(opened(/*goes_on=*/true).begin(file, base))) << "an interruption in the middle of it";
  EXPECT_FALSE(value_of(opened(/*goes_on=*/false).begin(file, base))) << "somebody else's change";
}

TEST_F(StreamChangesTest, NotesThatNoBuildWritesAreNotTaken) {
  (void)opened(/*goes_on=*/false);
  const InodeNumber file = value_of(find_entry(*fs_, work_, "changes")).inode;
  fs_.write(file, 0, "half a note");
  EXPECT_TRUE(ok(StreamChanges::open(*fs_, work_, true, 1000))) << "a power cut";
  fs_.write(file, 0, std::string(21 * 50, '\xff'));
  EXPECT_TRUE(fails_with(ErrorCode::kCorruption, StreamChanges::open(*fs_, work_, true, 1000)));
  EXPECT_TRUE(ok(StreamChanges::open(*fs_, work_, false, 1000))) << "nobody reads them";
}

TEST_F(StreamChangesTest, AreNoMoreThanThereAreInodes) {
  StreamChanges changes = opened(/*goes_on=*/false, 10);
  for (InodeNumber inode = 100; inode < 110; ++inode) ASSERT_TRUE(ok(changes.note_removed(inode)));
  EXPECT_TRUE(fails_with(ErrorCode::kCorruption, changes.note_removed(200)));
}

TEST_F(StreamChangesTest, WhatIsMadeMakesRoomForItself) {
  StreamChanges changes = opened(/*goes_on=*/false, 0);
  for (InodeNumber inode = 100; inode < 200; ++inode) ASSERT_TRUE(ok(changes.note_made(inode)));
  ASSERT_TRUE(ok(changes.note_made(100))) << "found once more after an interruption";
  EXPECT_TRUE(fails_with(ErrorCode::kCorruption, changes.note_removed(200)));
}

// ---------------------------------------------------------------- somebody changes files while a stream comes

class ChangesMeanwhile : public testing::TestWithParam<std::string> {
 protected:
  void SetUp() override {
    const InodeNumber folder = sender_.make_directory(kRootInode, "folder");
    sender_.make_file(folder, "untouched", "1");
    sender_.make_file(folder, "removed", "1");
    const InodeNumber early = sender_.make_file(kRootInode, "early", "1");
    const InodeNumber late = sender_.make_file(kRootInode, "late", random_text(30'000, 1));
    ASSERT_TRUE(ok(sender_->create_snapshot("1")));
    sender_.write(early, 0, "2");
    ASSERT_TRUE(ok(sender_->unlink(folder, "removed")));
    sender_.write(late, 0, random_text(20'000, 2));
    ASSERT_TRUE(ok(sender_->create_snapshot("2")));
    ASSERT_TRUE(ok(receive_stream(sent({.snapshot = "1"}))));
  }

  std::string sent(SendRequest request) {
    request.frame_bytes = 100;
    std::string stream;
    EXPECT_TRUE(ok(send(*sender_, request, into(stream), [](const SendTotals&) { return Result<void>(); })));
    return stream;
  }
  // Calls `meanwhile` when the stream is half through.
  Result<ReceiveTotals> receive_stream(std::string_view stream, const std::function<void()>& meanwhile = nullptr) {
    bool is_done = meanwhile == nullptr;
    return receive(*receiver_, {.folder = GetParam()}, out_of(stream, 100), [&](const ReceiveTotals& so_far) {
      if (!is_done && so_far.stream_bytes > stream.size() / 2) {
        is_done = true;
        meanwhile();
      }
      return Result<void>();
    });
  }
  InodeNumber at(const std::string& path) {
    return value_of(receiver_.find(GetParam().empty() ? path : GetParam() + "/" + path));
  }
  void expect_refused(const Result<ReceiveTotals>& received, const std::string& name) {
    ASSERT_TRUE(fails_with(ErrorCode::kBusy, received));
    EXPECT_THAT(received.error().message(), HasSubstr(name));
    EXPECT_THAT(received.error().message(), HasSubstr("rollback"));
    EXPECT_THAT(received.error().message(), Not(HasSubstr("--resume")));
    EXPECT_EQ(receiver_->snapshots().size(), 1u);
    // What was changed is not forgotten when the stream comes again.
    EXPECT_TRUE(fails_with(ErrorCode::kBusy, receive_stream(sent({.snapshot = "2", .since = "1"}))));
    EXPECT_EQ(receiver_->snapshots().size(), 1u);
    ASSERT_TRUE(ok(receiver_->roll_back("1")));
    EXPECT_TRUE(ok(receive_stream(sent({.snapshot = "2", .since = "1"})))) << "the remedy";
  }
  // Cuts the stream, lets somebody change something, and goes on.
  Result<ReceiveTotals> receive_in_two_parts(const std::function<void()>& between) {
    const std::string stream = sent({.snapshot = "2", .since = "1"});
    EXPECT_FALSE(receive_stream(std::string_view(stream).substr(0, stream.size() / 2)));
    const auto state = value_of(find_received(*receiver_, GetParam()));
    between();
    return receive_stream(sent({.resume = state->token()}));
  }

  TestFilesystem sender_;
  TestFilesystem receiver_;
};

TEST_P(ChangesMeanwhile, ToAnUntouchedFileBetweenTwoPartsAreRefused) {
  expect_refused(receive_in_two_parts([&] { receiver_.write(at("folder/untouched"), 0, "X"); }), "folder/untouched");
}
TEST_P(ChangesMeanwhile, ToAFinishedFileBetweenTwoPartsAreRefused) {
  expect_refused(receive_in_two_parts([&] { receiver_.write(at("early"), 1, "X"); }), "early");
}
TEST_P(ChangesMeanwhile, ToAFinishedFileAreRefused) {
  expect_refused(receive_stream(sent({.snapshot = "2", .since = "1"}), [&] { receiver_.write(at("early"), 1, "X"); }),
                 "early");
}
TEST_P(ChangesMeanwhile, ToAnUntouchedFileAreRefused) {
  expect_refused(
      receive_stream(sent({.snapshot = "2", .since = "1"}), [&] { receiver_.write(at("folder/untouched"), 0, "X"); }),
      "folder/untouched");
}
TEST_P(ChangesMeanwhile, NewNamesAndRemovedOnesAreRefused) {
  expect_refused(receive_stream(sent({.snapshot = "2", .since = "1"}),
                                [&] {
                                  EXPECT_TRUE(ok(receiver_->unlink(at("folder"), "untouched")));
                                  receiver_.make_file(at("folder"), "new", "X");
                                }),
                 "folder");
}
TEST_P(ChangesMeanwhile, OutsideAreNobodysBusiness) {
  const InodeNumber outside = receiver_.make_directory(kRootInode, "outside");
  value_of(receiver_->make_link(at("folder/removed"), outside, "link"));

  const auto received = receive_in_two_parts([&] {
    receiver_.make_file(outside, "new", "X");
    receiver_.write(value_of(receiver_.find("outside/link")), 0, "X");
  });

  EXPECT_TRUE(ok(received));
  EXPECT_EQ(receiver_->snapshots().size(), 2u);
}
TEST_P(ChangesMeanwhile, WithoutItsNotesAStreamDoesNotGoOn) {
  const auto received = receive_in_two_parts([&] {
    for (const DirectoryEntry& entry :
         receiver_.list(GetParam().empty() ? kRootInode : value_of(receiver_.find(GetParam()))))
      if (entry.name.starts_with(".dedupfs-receiving")) {
        EXPECT_TRUE(ok(receiver_->unlink(entry.attributes.inode, "changes")));
      }
  });
  expect_refused(received, ".dedupfs-receiving");
}
INSTANTIATE_TEST_SUITE_P(InTheRootAndInAFolder, ChangesMeanwhile, testing::Values("", "into"));

}  // namespace
}  // namespace dedupfs::transfer
