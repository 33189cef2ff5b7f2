#include "fs/transfer/receiver.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <ctime>
#include <string>
#include <utility>
#include <vector>

#include "fs/test_filesystem.h"
#include "fs/transfer/frames.h"
#include "fs/transfer/received_folder.h"
#include "fs/transfer/records.h"
#include "fs/transfer/sender.h"
#include "fs/transfer/streams.h"

namespace dedupfs::transfer {
namespace {

using testing::HasSubstr;

// A stream of any records.
std::string stream_of(const std::vector<Record>& records, const StreamHeader& header) {
  std::string bytes;
  const StreamSink sink = into(bytes);
  FrameWriter writer(sink, 1);
  EXPECT_TRUE(ok(writer.begin(header.text())));
  for (const Record& record : records) EXPECT_TRUE(ok(writer.add(record)));
  EXPECT_TRUE(ok(writer.flush()));
  return bytes;
}

const StreamHeader kHeader{.snapshot = {"93883694-6fbf-47b9-ab10-ed37024f0ba1", 1, "sent", 1'700'000'000,
                                        "0f8b6bfa-7d6c-4d0e-9f3b-5a0c9d1e2f30"}};

class ReceiverTest : public testing::Test {
 protected:
  Result<ReceiveTotals> receive_stream(std::string_view stream, const ReceiveRequest& request = {}) {
    return receive(
        *receiver_, request, out_of(stream), [](const ReceiveTotals&) { return Result<void>(); },
        [this](const std::vector<ChangedName>& changed) {
          forgotten_.insert(forgotten_.end(), changed.begin(), changed.end());
        });
  }
  Result<ReceiveTotals> receive_records(const std::vector<Record>& records, const ReceiveRequest& request = {}) {
    return receive_stream(stream_of(records, kHeader), request);
  }
  std::string sent(const SendRequest& request) {
    std::string stream;
    EXPECT_TRUE(ok(send(*sender_, request, into(stream), [](const SendTotals&) { return Result<void>(); })));
    return stream;
  }
  std::string work_folder_of(const SnapshotRecord& snapshot) { return ".dedupfs-receiving." + snapshot.uuid; }
  std::string message_of(const Result<ReceiveTotals>& result) {
    return result ? "it succeeded" : result.error().message();
  }
  std::string content_of(InodeNumber directory, std::string_view name) {
    const Attributes file = value_of(find_entry(*receiver_, directory, name));
    std::string bytes;
    for (const PinnedBytes& piece : value_of(receiver_->read(file.inode, 0, file.size))) bytes += text_of(piece.bytes);
    return bytes;
  }

  TestFilesystem sender_;
  TestFilesystem receiver_;
  std::vector<ChangedName> forgotten_;
};

TEST_F(ReceiverTest, FilesOfItsOwnStayInTheRootToo) {
  sender_.make_file(kRootInode, "theirs", "1");
  ASSERT_TRUE(ok(sender_->create_snapshot("1")));
  sender_.write(value_of(find_entry(*sender_, kRootInode, "theirs")).inode, 0, "2");
  ASSERT_TRUE(ok(sender_->create_snapshot("2")));
  const InodeNumber own = receiver_.make_file(kRootInode, "own", "mine");
  ASSERT_TRUE(ok(receive_stream(sent({.snapshot = "1"}))));
  receiver_.write(own, 4, " and more");
  receiver_.make_file(kRootInode, "own too");

  ASSERT_TRUE(ok(receive_stream(sent({.snapshot = "2", .since = "1"}))));

  EXPECT_EQ(content_of(kRootInode, "theirs"), "2");
  EXPECT_EQ(content_of(kRootInode, "own"), "mine and more");
}

TEST_F(ReceiverTest, ANameThatIsThereIsNeverTakenOver) {
  sender_.make_file(kRootInode, "name", "theirs");
  ASSERT_TRUE(ok(sender_->create_snapshot("1")));
  receiver_.make_file(kRootInode, "name", "mine");

  const auto received = receive_stream(sent({.snapshot = "1"}));

  EXPECT_TRUE(fails_with(ErrorCode::kExists, received));
  EXPECT_THAT(message_of(received), HasSubstr("--into"));
  EXPECT_EQ(content_of(kRootInode, "name"), "mine");
  EXPECT_TRUE(receiver_->snapshots().empty());
}

TEST_F(ReceiverTest, ChangesOfTheReceiverInTheFolderAreNamedAndKept) {
  const InodeNumber file = sender_.make_file(kRootInode, "file", "1");
  ASSERT_TRUE(ok(sender_->create_snapshot("1")));
  sender_.write(file, 0, "2");
  ASSERT_TRUE(ok(sender_->create_snapshot("2")));
  ASSERT_TRUE(ok(receive_stream(sent({.snapshot = "1"}))));
  const InodeNumber here = value_of(find_entry(*receiver_, kRootInode, "file")).inode;
  receiver_.write(here, 0, "X");

  const auto received = receive_stream(sent({.snapshot = "2", .since = "1"}));

  EXPECT_TRUE(fails_with(ErrorCode::kBusy, received));
  EXPECT_THAT(message_of(received), HasSubstr("file"));
  EXPECT_EQ(content_of(kRootInode, "file"), "X");
  receiver_.write(here, 0, "1");
  EXPECT_TRUE(fails_with(ErrorCode::kBusy, receive_stream(sent({.snapshot = "2", .since = "1"}))))
      << "the time of the change is another one, too";
  ASSERT_TRUE(ok(receiver_->roll_back("1")));
  ASSERT_TRUE(ok(receive_stream(sent({.snapshot = "2", .since = "1"})))) << "the remedy that the message names";
}

TEST_F(ReceiverTest, TheBaseMayHaveAnotherNameHere) {
  const InodeNumber file = sender_.make_file(kRootInode, "file", "1");
  ASSERT_TRUE(ok(sender_->create_snapshot("1")));
  sender_.write(file, 0, "2");
  ASSERT_TRUE(ok(sender_->create_snapshot("2")));
  ASSERT_TRUE(ok(receive_stream(sent({.snapshot = "1"}), {.folder = "/deep/", .snapshot_name = "first"})));

  const auto received =
      receive_stream(sent({.snapshot = "2", .since = "1"}), {.folder = "deep", .snapshot_name = "second"});

  ASSERT_TRUE(ok(received));
  EXPECT_EQ(received->snapshot_name, "second");
  EXPECT_EQ(content_of(value_of(find_entry(*receiver_, kRootInode, "deep")).inode, "file"), "2");
}

TEST_F(ReceiverTest, AStreamForAnotherStateIsRefusedWithWhatIsHere) {
  const InodeNumber file = sender_.make_file(kRootInode, "file", "1");
  for (const char* const name : {"1", "2", "3"}) {
    sender_.write(file, 0, name);
    ASSERT_TRUE(ok(sender_->create_snapshot(name)));
  }
  EXPECT_TRUE(fails_with(ErrorCode::kNotFound, receive_stream(sent({.snapshot = "2", .since = "1"}))));
  ASSERT_TRUE(ok(receive_stream(sent({.snapshot = "1"}))));
  ASSERT_TRUE(ok(receive_stream(sent({.snapshot = "2", .since = "1"}))));

  const auto since_older = receive_stream(sent({.snapshot = "3", .since = "1"}));
  EXPECT_TRUE(fails_with(ErrorCode::kBusy, since_older));
  EXPECT_THAT(message_of(since_older), HasSubstr("has snapshot '2'"));
  const auto whole = receive_stream(sent({.snapshot = "3"}));
  EXPECT_TRUE(fails_with(ErrorCode::kExists, whole));
  EXPECT_THAT(message_of(whole), HasSubstr("--since"));
  EXPECT_TRUE(fails_with(ErrorCode::kExists, receive_stream(sent({.snapshot = "2", .since = "1"}))));
  EXPECT_EQ(content_of(kRootInode, "file"), "2");
}

TEST_F(ReceiverTest, HoldsAndDatesCome) {
  sender_.make_file(kRootInode, "file", "1");
  ASSERT_TRUE(ok(sender_->create_snapshot("1", 1'234'567'890)));
  ASSERT_TRUE(ok(sender_->hold_snapshot("1", std::nullopt)));

  ASSERT_TRUE(ok(receive_stream(sent({.snapshot = "1"}))));

  EXPECT_EQ(receiver_->snapshots().at(0).created_unix_seconds, 1'234'567'890);
  EXPECT_TRUE(fails_with(ErrorCode::kNotPermitted, receiver_->delete_snapshot("1")));
}

TEST_F(ReceiverTest, CachesAreToldOfAllThatChanged) {
  const InodeNumber file = sender_.make_file(kRootInode, "old name", "1");
  ASSERT_TRUE(ok(sender_->create_snapshot("1")));
  ASSERT_TRUE(ok(sender_->rename(kRootInode, "old name", kRootInode, "new name", RenameMode::kReplace)));
  sender_.write(file, 0, "2");
  ASSERT_TRUE(ok(sender_->create_snapshot("2")));
  ASSERT_TRUE(ok(receive_stream(sent({.snapshot = "1"}))));
  const InodeNumber here = value_of(find_entry(*receiver_, kRootInode, "old name")).inode;
  forgotten_.clear();

  ASSERT_TRUE(ok(receive_stream(sent({.snapshot = "2", .since = "1"}))));

  const auto has = [&](InodeNumber inode, const std::optional<std::string>& name) {
    return std::ranges::any_of(
        forgotten_, [&](const ChangedName& changed) { return changed.inode == inode && changed.name == name; });
  };
  EXPECT_TRUE(has(kRootInode, "old name"));
  EXPECT_TRUE(has(kRootInode, "new name"));
  EXPECT_TRUE(has(here, std::nullopt));
  EXPECT_TRUE(has(kRootInode, std::nullopt));
}

// What the review of the first version found.

TEST_F(ReceiverTest, ANameThatIsThereIsNotTakenOverByASecondTryEither) {
  sender_.make_file(kRootInode, "first", "theirs");
  sender_.make_file(kRootInode, "name", "theirs");
  ASSERT_TRUE(ok(sender_->create_snapshot("1")));
  receiver_.make_file(kRootInode, "name", "mine");
  const std::string stream = sent({.snapshot = "1"});

  for (int i = 0; i < 3; ++i) EXPECT_TRUE(fails_with(ErrorCode::kExists, receive_stream(stream)));

  EXPECT_EQ(content_of(kRootInode, "name"), "mine");
  EXPECT_FALSE(find_entry(*receiver_, kRootInode, "first")) << "the folder is as it was";
  EXPECT_FALSE(value_of(find_received(*receiver_, "")));
  ASSERT_TRUE(ok(receiver_->rename(kRootInode, "name", kRootInode, "away", RenameMode::kReplace)));
  EXPECT_TRUE(ok(receive_stream(stream))) << "the remedy";
}

TEST_F(ReceiverTest, NorByTheRestOfAStreamThatBeganToChangeTheFolder) {
  sender_.make_file(kRootInode, "old", "theirs");
  ASSERT_TRUE(ok(sender_->create_snapshot("1")));
  ASSERT_TRUE(ok(sender_->unlink(kRootInode, "old")));
  sender_.make_file(kRootInode, "name", "theirs");
  ASSERT_TRUE(ok(sender_->create_snapshot("2")));
  ASSERT_TRUE(ok(receive_stream(sent({.snapshot = "1"}))));
  receiver_.make_file(kRootInode, "name", "mine");
  const std::string stream = sent({.snapshot = "2", .since = "1"});
  EXPECT_TRUE(fails_with(ErrorCode::kExists, receive_stream(stream)));
  const auto state = value_of(find_received(*receiver_, ""));
  ASSERT_TRUE(state);

  EXPECT_TRUE(fails_with(ErrorCode::kExists, receive_stream(sent({.resume = state->token()}))));
  EXPECT_TRUE(fails_with(ErrorCode::kExists, receive_stream(stream)));

  EXPECT_EQ(content_of(kRootInode, "name"), "mine");
  ASSERT_TRUE(ok(receiver_->rename(kRootInode, "name", kRootInode, "away", RenameMode::kReplace)));
  EXPECT_TRUE(ok(receive_stream(sent({.resume = state->token()})))) << "the remedy";
  EXPECT_EQ(content_of(kRootInode, "name"), "theirs");
  EXPECT_EQ(content_of(kRootInode, "away"), "mine");
}

TEST_F(ReceiverTest, ASnapshotOfItsOwnWithLaterChangesIsNoBase) {
  const InodeNumber file = sender_.make_file(kRootInode, "file", "1");
  ASSERT_TRUE(ok(sender_->create_snapshot("1", 1'000'000)));
  sender_.write(file, 0, "2");
  ASSERT_TRUE(ok(sender_->create_snapshot("2")));
  ASSERT_TRUE(ok(receive_stream(sent({.snapshot = "1"}))));
  receiver_.write(value_of(find_entry(*receiver_, kRootInode, "file")).inode, 0, "X");
  ASSERT_TRUE(ok(receiver_->create_snapshot("hourly")));
  ASSERT_TRUE(ok(receiver_->delete_snapshot("1")));

  EXPECT_TRUE(fails_with(ErrorCode::kNotFound, receive_stream(sent({.snapshot = "2", .since = "1"}))));
}

// Two machines that were one until yesterday, and whose cron makes the same snapshot in the same second.
class CopiedVolume : public ReceiverTest {
 protected:
  CopiedVolume() {
    sender_.make_file(kRootInode, "file", std::string(100'000, 'a'));
    sender_.make_file(kRootInode, "other", "1");
    EXPECT_TRUE(ok(sender_->create_snapshot("common", 1'700'000'000)));
    sender_.close();
    copy_.close();
    std::filesystem::remove_all(copy_.path());
    std::filesystem::copy(sender_.path(), copy_.path(), std::filesystem::copy_options::recursive);
    sender_.open();
    copy_.open();
    copy_.write(value_of(copy_.find("file")), 0, "of the copy");
    for (auto* const one : {&sender_, &copy_}) EXPECT_TRUE(ok((*one)->create_snapshot("nightly", 1'700'000'100)));
    sender_.write(value_of(sender_.find("other")), 0, "2");
    EXPECT_TRUE(ok(sender_->create_snapshot("next", 1'700'000'200)));
  }
  std::string sent_by_copy(const SendRequest& request) {
    std::string stream;
    EXPECT_TRUE(ok(send(*copy_, request, into(stream), [](const SendTotals&) { return Result<void>(); })));
    return stream;
  }

  TestFilesystem copy_;
};

TEST_F(CopiedVolume, ASnapshotOfOneIsNoBaseForTheOther) {
  ASSERT_TRUE(ok(receive_stream(sent_by_copy({.snapshot = "nightly"}))));

  const auto received = receive_stream(sent({.snapshot = "next", .since = "nightly"}));

  EXPECT_TRUE(fails_with(ErrorCode::kNotFound, received)) << message_of(received);
  EXPECT_EQ(content_of(kRootInode, "other"), "1");
}

TEST_F(CopiedVolume, ASnapshotOfBothIsABaseForEither) {
  ASSERT_TRUE(ok(receive_stream(sent({.snapshot = "common"}))));
  EXPECT_TRUE(ok(receive_stream(sent_by_copy({.snapshot = "nightly", .since = "common"}))));
  EXPECT_TRUE(content_of(kRootInode, "file").starts_with("of the copy"));
}

TEST_F(CopiedVolume, AStreamOfOneDoesNotGoOnWithTheOthers) {
  const std::string whole = sent({.snapshot = "nightly", .frame_bytes = 100});
  ASSERT_FALSE(receive_stream(std::string_view(whole).substr(0, whole.size() / 2)));
  const std::string token = value_of(find_received(*receiver_, ""))->token().text();

  std::string rest;
  const auto resumed = send(*copy_, {.resume = value_of(ResumeToken::parse(token))}, into(rest),
                            [](const SendTotals&) { return Result<void>(); });
  EXPECT_TRUE(fails_with(ErrorCode::kNotFound, resumed));
  EXPECT_TRUE(fails_with(ErrorCode::kBusy, receive_stream(sent_by_copy({.snapshot = "nightly"}))));
  EXPECT_TRUE(receiver_->snapshots().empty());
}

TEST_F(ReceiverTest, TheSameStreamIsNotReceivedTwice) {
  sender_.make_file(kRootInode, "file", "1");
  ASSERT_TRUE(ok(sender_->create_snapshot("1")));
  const std::string stream = sent({.snapshot = "1"});
  ASSERT_TRUE(ok(receive_stream(stream)));
  receiver_.write(value_of(find_entry(*receiver_, kRootInode, "file")).inode, 0, "X");

  EXPECT_TRUE(fails_with(ErrorCode::kExists, receive_stream(stream, {.snapshot_name = "again"})));
  ASSERT_TRUE(ok(receiver_->delete_snapshot("1")));
  EXPECT_TRUE(fails_with(ErrorCode::kExists, receive_stream(stream)));
}

TEST_F(ReceiverTest, WhatWasInterruptedBehindTheSnapshotGetsItsHold) {
  sender_.make_file(kRootInode, "file", "1");
  ASSERT_TRUE(ok(sender_->create_snapshot("1")));
  const std::string without_hold = sent({.snapshot = "1"});
  ASSERT_TRUE(ok(sender_->hold_snapshot("1", std::nullopt)));
  const std::string stream = sent({.snapshot = "1"});
  ASSERT_TRUE(ok(receive_stream(without_hold)));
  ASSERT_TRUE(ok(receiver_->roll_back("1")));  // the note of the folder is as in front of the hold

  ASSERT_TRUE(ok(receive_stream(stream)));

  EXPECT_TRUE(fails_with(ErrorCode::kNotPermitted, receiver_->delete_snapshot("1")));
  EXPECT_TRUE(value_of(find_received(*receiver_, ""))->has_snapshot);
}

TEST_F(ReceiverTest, AChangeByANameOutsideIsOneOfTheFolder) {
  const InodeNumber file = sender_.make_file(kRootInode, "file", "1");
  ASSERT_TRUE(ok(sender_->create_snapshot("1")));
  sender_->set_attributes(file, {.mode = 0600}, {}).value();
  ASSERT_TRUE(ok(sender_->create_snapshot("2")));
  ASSERT_TRUE(ok(receive_stream(sent({.snapshot = "1"}), {.folder = "folder"})));
  const InodeNumber folder = value_of(find_entry(*receiver_, kRootInode, "folder")).inode;
  const InodeNumber here = value_of(find_entry(*receiver_, folder, "file")).inode;
  value_of(receiver_->make_link(here, kRootInode, "a name outside"));
  receiver_.write(here, 0, "X");

  EXPECT_TRUE(
      fails_with(ErrorCode::kBusy, receive_stream(sent({.snapshot = "2", .since = "1"}), {.folder = "folder"})));
}

TEST_F(ReceiverTest, AQuotaBelowTheFolderIsNamedBeforeAnythingChanges) {
  const InodeNumber inner = sender_.make_directory(kRootInode, "inner");
  sender_.make_file(inner, "file", "1");
  ASSERT_TRUE(ok(sender_->create_snapshot("1")));
  ASSERT_TRUE(ok(sender_->unlink(inner, "file")));
  ASSERT_TRUE(ok(sender_->create_snapshot("2")));
  ASSERT_TRUE(ok(receive_stream(sent({.snapshot = "1"}))));
  const InodeNumber here = value_of(find_entry(*receiver_, kRootInode, "inner")).inode;
  ASSERT_TRUE(ok(receiver_->set_quota(here, {.files = 100})));

  const auto received = receive_stream(sent({.snapshot = "2", .since = "1"}));

  EXPECT_TRUE(fails_with(ErrorCode::kUnsupported, received));
  EXPECT_THAT(message_of(received), HasSubstr("inner"));
  ASSERT_TRUE(ok(receiver_->remove_quota(here)));
  EXPECT_TRUE(ok(receive_stream(sent({.snapshot = "2", .since = "1"}))));
}

TEST_F(ReceiverTest, AResumeFindsFilesWithSeveralNamesWhereTheyAre) {
  const InodeNumber older = sender_.make_directory(kRootInode, "daily.1");
  std::vector<InodeNumber> files;
  for (int i = 0; i < 200; ++i) files.push_back(sender_.make_file(older, "f" + std::to_string(i), "content"));
  const InodeNumber newer = sender_.make_directory(kRootInode, "daily.0");
  for (int i = 0; i < 200; ++i)
    value_of(sender_->make_link(files[static_cast<std::size_t>(i)], newer, "f" + std::to_string(i)));
  ASSERT_TRUE(ok(sender_->create_snapshot("1")));
  const std::string stream = sent({.snapshot = "1", .frame_bytes = 100});

  for (std::size_t cut = 2000; cut < stream.size() / 2; cut += 3000) {
    const std::string folder = std::to_string(cut);
    EXPECT_FALSE(receive_stream(std::string_view(stream).substr(0, cut), {.folder = folder, .snapshot_name = folder}));
    const auto state = value_of(find_received(*receiver_, folder));
    ASSERT_TRUE(state) << cut;
    EXPECT_TRUE(ok(receive_stream(sent({.resume = state->token(), .frame_bytes = 100}),
                                  {.folder = folder, .snapshot_name = folder})))
        << cut;
  }
}

TEST_F(ReceiverTest, CachesAreToldOfTheFolderThatIsMade) {
  sender_.make_file(kRootInode, "file", "1");
  ASSERT_TRUE(ok(sender_->create_snapshot("1")));
  ASSERT_TRUE(ok(receive_stream(sent({.snapshot = "1"}), {.folder = "new"})));
  const auto told = [this](InodeNumber parent, const std::string& name) {
    return std::ranges::any_of(forgotten_, [&](const ChangedName& changed) {
      return changed.inode == parent && changed.name && changed.name->starts_with(name);
    });
  };
  EXPECT_TRUE(told(kRootInode, "new"));
  EXPECT_TRUE(told(value_of(find_entry(*receiver_, kRootInode, "new")).inode, ".dedupfs-receiving."));
}

// ---------------------------------------------------------------- streams that no sender writes

TEST_F(ReceiverTest, HostilePathsAndInodesLeadNowhere) {
  const InodeNumber outside = receiver_.make_file(kRootInode, "outside", "mine");
  value_of(receiver_->make_symlink(kRootInode, "link", "outside", {}));
  const ReceiveRequest request{.folder = "folder"};
  const std::vector<std::vector<Record>> attacks = {
      {KnownInode{7, Tree::kNow, 1, "../outside"}},
      {KnownInode{7, Tree::kNow, 1, "/outside"}},
      {KnownInode{7, Tree::kNow, 1, ".snapshots"}},
      {KnownInode{7, Tree::kBase, 1, "outside"}},
      {NewContent{outside, 0, "X"}},
      {CopiedContent{1, 0, {Tree::kNow, outside, 0, 4}}},
      {MadeInode{1, "..", 7, S_IFDIR | 0755}},
      {MadeInode{1, "a/b", 7, S_IFREG | 0644}},
      {MadeInode{1, "", 7, S_IFREG | 0644}},
      {MadeInode{1, "x", 7, 0644}},
      {MadeInode{5, "x", 7, S_IFREG | 0644}},
      {PlacedName{1, "x", outside}},
      {RemovedName{1, "outside", outside, false}},
      {MadeInode{1, "d", 7, S_IFDIR | 0755}, NewContent{7, 0, "X"}},
      {Xattr{1, "trusted.dedupfs.received", "{}"}},
      {Xattr{1, "no namespace", "x"}},
      {MadeInode{1, "s", 7, S_IFREG | 0644}, DeltaContent{7, 0, 5, 0, {{Tree::kNow, 7, 0, 9}}, "d"}},
      {MadeInode{1, "t", 7, S_IFREG | 0644}, CopiedContent{7, 0, {Tree::kNow, 7, 0, 100}}},
      {End()},
      {FinishedInode{.inode = 99}},
  };
  for (std::size_t i = 0; i < attacks.size(); ++i) EXPECT_FALSE(receive_records(attacks[i], request)) << i;
  EXPECT_EQ(content_of(kRootInode, "outside"), "mine");
  EXPECT_TRUE(receiver_->snapshots().empty());
  receiver_.reopen();
  EXPECT_EQ(content_of(kRootInode, "outside"), "mine");
}

TEST_F(ReceiverTest, WhatFollowsTheEndIsFoundBeforeThereIsASnapshot) {
  sender_.make_file(kRootInode, "file", "1");
  ASSERT_TRUE(ok(sender_->create_snapshot("1")));
  const std::string stream = sent({.snapshot = "1"});

  for (const std::string& more : {std::string("more"), stream, std::string(1, '\0')}) {
    const auto received = receive_stream(stream + more);
    EXPECT_TRUE(fails_with(ErrorCode::kCorruption, received));
    EXPECT_THAT(message_of(received), HasSubstr("behind its end"));
    EXPECT_TRUE(receiver_->snapshots().empty());
  }
  ASSERT_TRUE(ok(receive_stream(stream))) << "what came is no obstacle";
}

TEST_F(ReceiverTest, RecordsBehindTheEndAreFoundToo) {
  const std::vector<Record> records = {Outlook{0}, FinishedInode{.inode = 1, .mode = 0755}, End()};
  std::vector<Record> more = records;
  more.emplace_back(MadeInode{1, "late", 7, S_IFREG | 0644});

  EXPECT_TRUE(fails_with(ErrorCode::kCorruption, receive_records(more)));

  EXPECT_TRUE(receiver_->snapshots().empty());
  EXPECT_TRUE(ok(receive_records(records)));
}

TEST_F(ReceiverTest, ASnapshotOfASenderWhoseClockIsFastHasTheDateOfItsReceipt) {
  constexpr std::int64_t kFar = 4'000'000'000;
  const InodeNumber file = sender_.make_file(kRootInode, "file", "1");
  ASSERT_TRUE(ok(sender_->create_snapshot("1", kFar)));
  sender_.write(file, 0, "2");
  ASSERT_TRUE(ok(sender_->create_snapshot("2", kFar)));

  ASSERT_TRUE(ok(receive_stream(sent({.snapshot = "1"}))));

  EXPECT_LE(receiver_->snapshots().front().created_unix_seconds, std::time(nullptr));
  ASSERT_TRUE(ok(receive_stream(sent({.snapshot = "2", .since = "1"})))) << "it is a base all the same";
  EXPECT_EQ(content_of(kRootInode, "file"), "2");
  EXPECT_TRUE(
      fails_with(ErrorCode::kExists, receive_stream(sent({.snapshot = "2", .since = "1"}), {.snapshot_name = "3"})));
}

// A stream may touch what it has made, and what its base has brought. Everything else is the receiver's.
class ForeignStream : public ReceiverTest {
 protected:
  ForeignStream() {
    receiver_.make_file(kRootInode, "own", "mine");
    const InodeNumber theirs = sender_.make_directory(kRootInode, "theirs");
    sender_.make_file(theirs, "file", "1");
    sender_.make_file(kRootInode, "gone", "1");
    EXPECT_TRUE(ok(sender_->create_snapshot("1")));
    EXPECT_TRUE(ok(sender_->unlink(kRootInode, "gone")));
    EXPECT_TRUE(ok(sender_->create_snapshot("2")));
    EXPECT_TRUE(ok(receive_stream(sent({.snapshot = "1"}))));
    const SnapshotRecord base = sender_->snapshots().front();
    next_.snapshot = {sender_->volume().superblock().uuid, 9, "9", base.created_unix_seconds,
                      "00000000-0000-4000-8000-000000000009"};
    next_.base = SnapshotIdentity{next_.snapshot.volume, base.number, base.name, base.created_unix_seconds, base.uuid};
  }
  void expect_untouched() {
    EXPECT_EQ(content_of(kRootInode, "own"), "mine");
    EXPECT_EQ(value_of(find_entry(*receiver_, kRootInode, "own")).links, 1u);
    EXPECT_EQ(receiver_->snapshots().size(), 1u);
    ASSERT_TRUE(ok(receiver_->roll_back("1")));
  }

  StreamHeader next_;
  const FinishedInode root_{.inode = 1, .mode = 0755};
};

TEST_F(ForeignStream, WithABaseNamesOnlyWhatTheBaseHasBrought) {
  const std::vector<std::vector<Record>> attacks = {
      {KnownInode{7, Tree::kBase, 1, "own"}, NewContent{7, 0, "X"}},
      {KnownInode{7, Tree::kNow, 1, "own"}, NewContent{7, 0, "X"}},
      {KnownInode{7, Tree::kNow, 1, "own"}, PlacedName{1, "published", 7}},
      {KnownInode{7, Tree::kNow, 1, "own"}, RemovedName{1, "own", 7, false}},
      {KnownInode{7, Tree::kBase, 1, "own"}, MadeInode{1, "copy", 8, S_IFREG | 0644},
       CopiedContent{8, 0, {Tree::kBase, 7, 0, 4}}},
      {KnownInode{7, Tree::kNow, 1, "own"}, FinishedInode{.inode = 7, .mode = 0777}},
      {KnownInode{7, Tree::kNow, 1, "theirs/file"}, NewContent{7, 0, "X"}},
  };
  for (std::size_t i = 0; i < attacks.size(); ++i) {
    SCOPED_TRACE(i);
    std::vector<Record> records = attacks[i];
    records.emplace_back(root_);
    records.emplace_back(End());
    EXPECT_TRUE(fails_with(ErrorCode::kCorruption, receive_stream(stream_of(records, next_))));
    expect_untouched();
  }
}

TEST_F(ReceiverTest, WithoutABaseAStreamNamesOnlyWhatItHasMade) {
  const InodeNumber own = receiver_.make_file(kRootInode, "own", "mine");
  const std::vector<std::vector<Record>> attacks = {
      {KnownInode{7, Tree::kNow, 1, "own"}, NewContent{7, 0, "X"}},
      {KnownInode{7, Tree::kNow, 1, "own"}, PlacedName{1, "published", 7}},
      {KnownInode{7, Tree::kNow, 1, "own"}, RemovedName{1, "own", 7, false}},
      {KnownInode{7, Tree::kNow, 1, "own"}, MadeInode{1, "copy", 8, S_IFREG | 0644},
       CopiedContent{8, 0, {Tree::kNow, 7, 0, 4}}},
      {KnownInode{7, Tree::kNow, 1, "own"}, Hole{7, 0, 4}},
      {KnownInode{7, Tree::kNow, 1, "own"}, Xattr{7, "user.x", "X"}},
  };
  for (std::size_t i = 0; i < attacks.size(); ++i) {
    EXPECT_TRUE(fails_with(ErrorCode::kCorruption, receive_records(attacks[i]))) << i;
    EXPECT_EQ(content_of(kRootInode, "own"), "mine");
    EXPECT_EQ(value_of(find_entry(*receiver_, kRootInode, "own")).links, 1u);
    EXPECT_TRUE(value_of(receiver_->list_xattrs(own)).empty());
  }
}

// It would count as received with what comes next.
TEST_F(ReceiverTest, AFolderThatHasFilesIsNoPlaceForAWholeStream) {
  const InodeNumber folder = receiver_.make_directory(kRootInode, "into");
  receiver_.make_file(folder, "own", "mine");
  sender_.make_file(kRootInode, "theirs", "1");
  ASSERT_TRUE(ok(sender_->create_snapshot("1")));

  const auto received = receive_stream(sent({.snapshot = "1"}), {.folder = "into"});

  EXPECT_TRUE(fails_with(ErrorCode::kExists, received));
  EXPECT_THAT(message_of(received), HasSubstr("--into"));
  ASSERT_TRUE(ok(receiver_->unlink(folder, "own")));
  EXPECT_TRUE(ok(receive_stream(sent({.snapshot = "1"}), {.folder = "into"})));
}

TEST_F(ReceiverTest, WhatSomebodyPutsBesideAWholeStreamIsNotInItsSnapshot) {
  const InodeNumber folder = sender_.make_directory(kRootInode, "folder");
  for (int i = 0; i < 20; ++i) sender_.make_file(folder, std::to_string(i), "1");
  ASSERT_TRUE(ok(sender_->create_snapshot("1")));
  const std::string stream = sent({.snapshot = "1", .frame_bytes = 100});
  bool is_done = false;

  const auto received = receive(*receiver_, {}, out_of(stream, 100), [&](const ReceiveTotals& so_far) {
    if (so_far.names > 10 && !std::exchange(is_done, true))
      receiver_.make_file(value_of(receiver_.find("folder")), "own", "mine");
    return Result<void>();
  });

  EXPECT_TRUE(fails_with(ErrorCode::kBusy, received));
  EXPECT_THAT(message_of(received), HasSubstr("folder/own"));
  EXPECT_TRUE(receiver_->snapshots().empty());
}

// Only a crash leaves names that nobody noted.
TEST_F(ReceiverTest, AStreamThatGoesOnTakesNoFileThatWasMadeMeanwhile) {
  EXPECT_FALSE(receive_records({MadeInode{1, "theirs", 7, S_IFREG | 0644}}));
  receiver_.make_file(kRootInode, "own", "mine");

  const auto received = receive_records(
      {MadeInode{1, "theirs", 7, S_IFREG | 0644}, MadeInode{1, "own", 8, S_IFREG | 0644}, NewContent{8, 0, "X"}});

  EXPECT_TRUE(fails_with(ErrorCode::kExists, received));
  EXPECT_EQ(content_of(kRootInode, "own"), "mine");
}

// A name of the receiver's own for what was received.
TEST_F(ForeignStream, NamesOfTheReceiversOwnStay) {
  const InodeNumber gone = value_of(find_entry(*receiver_, kRootInode, "gone")).inode;
  value_of(receiver_->make_link(gone, kRootInode, "kept"));
  EXPECT_TRUE(
      fails_with(ErrorCode::kCorruption,
                 receive_stream(stream_of(
                     {KnownInode{7, Tree::kBase, 1, "gone"}, RemovedName{1, "kept", 7, false}, root_, End()}, next_))));
  EXPECT_EQ(content_of(kRootInode, "kept"), "1");
}

TEST_F(ForeignStream, TheReceiverKnowsWhichNamesItHasReceived) {
  receiver_.write(value_of(find_entry(*receiver_, kRootInode, "own")).inode, 4, " and more");
  ASSERT_TRUE(ok(receive_stream(sent({.snapshot = "2", .since = "1"}))));
  receiver_.make_file(kRootInode, "gone", "of its own now");
  sender_.make_file(kRootInode, "third", "3");
  ASSERT_TRUE(ok(sender_->create_snapshot("3")));

  EXPECT_TRUE(ok(receive_stream(sent({.snapshot = "3", .since = "2"}))));

  EXPECT_EQ(content_of(kRootInode, "gone"), "of its own now");
  EXPECT_EQ(content_of(kRootInode, "third"), "3");
  EXPECT_EQ(content_of(kRootInode, "own"), "mine and more");
}

TEST_F(ForeignStream, ABaseWhoseNamesNobodyNotedIsNone) {
  ASSERT_TRUE(ok(receiver_->remove_xattr(kRootInode, "trusted.dedupfs.received_names")));
  ASSERT_TRUE(ok(receiver_->delete_snapshot("1")));
  ASSERT_TRUE(ok(receiver_->create_snapshot("1", sender_->snapshots().front().created_unix_seconds)));
  const auto received = receive_stream(sent({.snapshot = "2", .since = "1"}));
  EXPECT_TRUE(fails_with(ErrorCode::kNotFound, received));
  EXPECT_THAT(message_of(received), HasSubstr("--into"));
}

TEST_F(ReceiverTest, MoreNamesThanTheRootCanNoteAreRefusedEarly) {
  for (int i = 0; i < 300; ++i) sender_.make_file(kRootInode, std::string(240, 'x') + std::to_string(i));
  ASSERT_TRUE(ok(sender_->create_snapshot("1")));
  const std::string stream = sent({.snapshot = "1"});
  const auto received = receive_stream(stream);
  EXPECT_TRUE(fails_with(ErrorCode::kTooLarge, received));
  EXPECT_THAT(message_of(received), HasSubstr("--into"));
  EXPECT_TRUE(ok(receive_stream(stream, {.folder = "folder"})));
}

// A piece at a time, it would take days.
TEST_F(ReceiverTest, ACopyOfAHoleOfAnyLengthIsMadeAtOnce) {
  constexpr std::uint64_t kBytes = kMaxFileBytes;
  const auto file = [](InodeNumber inode) { return FinishedInode{.inode = inode, .mode = 0644, .size = kBytes}; };
  const std::string stream = stream_of(
      {MadeInode{1, "from", 7, S_IFREG | 0644}, MadeInode{1, "to", 8, S_IFREG | 0644}, Outlook{kBytes}, file(7),
       CopiedContent{8, 0, {Tree::kNow, 7, 0, kBytes}}, file(8), FinishedInode{.inode = 1, .mode = 0755}, End()},
      kHeader);
  int asked = 0;

  const auto received = receive(*receiver_, {}, out_of(stream), [&](const ReceiveTotals&) -> Result<void> {
    return ++asked < 1000 ? Result<void>() : Error{ErrorCode::kInterrupted, "it takes too long"};
  });

  ASSERT_TRUE(ok(received));
  EXPECT_EQ(value_of(find_entry(*receiver_, kRootInode, "to")).size, kBytes);
}

TEST_F(ReceiverTest, ACopyOfMoreThanTheSourceHasIsRefusedAtOnce) {
  const std::vector<Record> records = {MadeInode{1, "from", 7, S_IFREG | 0644}, MadeInode{1, "to", 8, S_IFREG | 0644},
                                       NewContent{7, 0, "12345"}, FinishedInode{.inode = 7, .size = 5},
                                       CopiedContent{8, 0, {Tree::kNow, 7, 1, 5}}};

  EXPECT_TRUE(fails_with(ErrorCode::kCorruption, receive_records(records)));

  EXPECT_EQ(value_of(find_entry(*receiver_, kRootInode, "to")).size, 0u);
}

TEST_F(ReceiverTest, AStreamThatNamesMoreInodesThanThereAreIsRefused) {
  receiver_.make_file(kRootInode, "file");
  std::vector<Record> records;
  for (InodeNumber inode = 2; inode < 5000; ++inode) records.emplace_back(KnownInode{inode, Tree::kNow, 1, "."});
  EXPECT_TRUE(fails_with(ErrorCode::kCorruption, receive_records(records)));
}

TEST_F(ReceiverTest, WhatIsMadeAndRemovedInTurnTakesNoMemory) {
  std::vector<Record> records;
  for (InodeNumber inode = 2; inode < 3000; ++inode) {
    records.emplace_back(MadeInode{1, "name", inode, S_IFREG | 0644});
    records.emplace_back(RemovedName{1, "name", inode, false});
  }
  EXPECT_TRUE(fails_with(ErrorCode::kCorruption, receive_records(records)));
}

// It broke before anything was noted. What was received meanwhile is younger than its work folder.
TEST_F(ReceiverTest, TheWorkFolderOfAStreamThatBrokeAtItsBeginIsMadeAnew) {
  sender_.make_file(kRootInode, "stays");
  sender_.make_file(kRootInode, "goes");
  ASSERT_TRUE(ok(sender_->create_snapshot("1")));
  ASSERT_TRUE(ok(sender_->unlink(kRootInode, "goes")));
  ASSERT_TRUE(ok(sender_->create_snapshot("2")));
  const std::string left = work_folder_of(sender_->snapshots().back());
  ASSERT_TRUE(ok(receiver_->make_directory(kRootInode, left, 0700, {})));
  ASSERT_TRUE(ok(receive_stream(sent({.snapshot = "1"}))));

  EXPECT_TRUE(ok(receive_stream(sent({.snapshot = "2", .since = "1"}))));

  EXPECT_TRUE(fails_with(ErrorCode::kNotFound, find_entry(*receiver_, kRootInode, "goes")));
  EXPECT_TRUE(fails_with(ErrorCode::kNotFound, find_entry(*receiver_, kRootInode, left)));
}

TEST_F(ReceiverTest, NorIsItAChangeOfSomebodyElse) {
  sender_.make_file(kRootInode, "a");
  ASSERT_TRUE(ok(sender_->create_snapshot("1")));
  sender_.make_file(kRootInode, "b");
  ASSERT_TRUE(ok(sender_->create_snapshot("2")));
  ASSERT_TRUE(ok(receive_stream(sent({.snapshot = "1"}), {.folder = "copies"})));
  const InodeNumber copies = value_of(find_entry(*receiver_, kRootInode, "copies")).inode;
  const Attributes left =
      value_of(receiver_->make_directory(copies, work_folder_of(sender_->snapshots().back()), 0700, {}));
  ASSERT_TRUE(ok(receiver_->make_node(left.inode, "changes", S_IFREG | 0600, 0, {})));

  EXPECT_TRUE(ok(receive_stream(sent({.snapshot = "2", .since = "1"}), {.folder = "copies"})));
}

TEST_F(ReceiverTest, NamesThatAreThereSinceAnInterruptionAreNoMoreInodes) {
  EXPECT_FALSE(receive_records({MadeInode{1, "name", 2, S_IFREG | 0644}}));
  std::vector<Record> records;
  for (InodeNumber inode = 2; inode < 3000; ++inode) records.emplace_back(MadeInode{1, "name", inode, S_IFREG | 0644});
  EXPECT_TRUE(fails_with(ErrorCode::kCorruption, receive_records(records)));
}

TEST_F(ReceiverTest, AnInodeHasNoMoreAttributesThanItsListCanHave) {
  std::vector<Record> records = {MadeInode{1, "name", 2, S_IFREG | 0644}};
  for (int i = 0; i < 6000; ++i)
    records.emplace_back(Xattr{2, "user." + std::string(200, 'x') + std::to_string(i), ""});
  EXPECT_TRUE(fails_with(ErrorCode::kTooLarge, receive_records(records)));
}

TEST_F(ReceiverTest, AStreamMayMakeManyMoreFilesThanThereAre) {
  for (int i = 0; i < 1500; ++i) sender_.make_file(kRootInode, std::to_string(i));
  ASSERT_TRUE(ok(sender_->create_snapshot("1")));
  EXPECT_TRUE(ok(receive_stream(sent({.snapshot = "1"}))));
}

TEST_F(ReceiverTest, TheNotesOfTheReceiverAreNotTheStreams) {
  const std::string folder = ".dedupfs-receiving." + kHeader.snapshot.uuid;
  for (const std::string& path : {folder, folder + "/changes"})
    EXPECT_TRUE(fails_with(ErrorCode::kCorruption, receive_records({KnownInode{7, Tree::kNow, 1, path}})));
}

TEST_F(ReceiverTest, ADeltaThatGivesOtherBytesIsNotWritten) {
  const auto received = receive_records({MadeInode{1, "file", 7, S_IFREG | 0644}, NewContent{7, 0, "0123456789"},
                                         DeltaContent{7, 10, 5, 0x1234, {{Tree::kNow, 7, 0, 10}}, "no delta"}});
  EXPECT_TRUE(fails_with(ErrorCode::kCorruption, received));
  EXPECT_EQ(content_of(kRootInode, "file"), "0123456789");
}

}  // namespace
}  // namespace dedupfs::transfer
