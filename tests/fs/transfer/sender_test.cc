#include "fs/transfer/sender.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <random>
#include <string>
#include <vector>

#include "fs/test_filesystem.h"
#include "fs/transfer/receiver.h"
#include "fs/transfer/streams.h"
#include "support/sanitized.h"

namespace dedupfs::transfer {
namespace {

Result<void> watch_nothing(const SendTotals&) {
  return {};
}
Result<void> watch_nothing_here(const ReceiveTotals&) {
  return {};
}

std::string stream_of(TestFilesystem& volume, const SendRequest& request) {
  std::string stream;
  EXPECT_TRUE(ok(send(*volume, request, into(stream), watch_nothing)));
  return stream;
}

Result<ReceiveTotals> receive_from(TestFilesystem& volume, std::string_view stream,
                                   const ReceiveRequest& request = {}) {
  return receive(*volume, request, out_of(stream), watch_nothing_here);
}

// Everything that can be seen of a tree: a line for each path.
class Description {
 public:
  Description(Filesystem& filesystem, InodeNumber root) : filesystem_(filesystem) { describe(root, ""); }

  const std::map<std::string, std::string>& lines() const { return lines_; }

 private:
  void describe(InodeNumber inode, const std::string& path) {
    const bool is_root = path.empty();  // whose note changes its ctime
    const Attributes attributes = value_of(filesystem_.attributes(inode));
    std::string line = fmt::format(
        "{:o} {}:{} links {} device {} size {} mtime {}.{} atime {}.{}", attributes.mode, attributes.uid,
        attributes.gid, attributes.links, attributes.device, is_directory(attributes.mode) ? 0 : attributes.size,
        attributes.mtime.seconds, attributes.mtime.nanoseconds, attributes.atime.seconds, attributes.atime.nanoseconds);
    line +=
        fmt::format(" ctime {}.{}", is_root ? 0 : attributes.ctime.seconds, is_root ? 0 : attributes.ctime.nanoseconds);
    const auto [first, is_first] = seen_.try_emplace(inode_of(inode), path);
    if (!is_first) line += " is " + first->second;
    for (const std::string& name : sorted(value_of(filesystem_.list_xattrs(inode))))
      if (name != ReceivedState::kXattr) line += " " + name + "=" + value_of(filesystem_.get_xattr(inode, name));
    if (is_symlink(attributes.mode)) line += " -> " + value_of(filesystem_.read_symlink(inode));
    if (is_regular(attributes.mode)) line += " " + content(inode, attributes.size);
    lines_[path] = line;
    if (!is_directory(attributes.mode)) return;
    std::vector<std::string> names;
    EXPECT_TRUE(ok(filesystem_.read_directory(inode, 0, false, [&](const DirectoryEntry& entry) {
      if (entry.name != "." && entry.name != "..") names.push_back(entry.name);
      return true;
    })));
    for (const std::string& name : sorted(names)) {
      const Attributes child = value_of(filesystem_.lookup(inode, name));
      describe(child.inode, path + "/" + name);
      filesystem_.forget(child.inode, 1);
    }
  }

  static std::vector<std::string> sorted(std::vector<std::string> names) {
    std::ranges::sort(names);
    return names;
  }

  std::string content(InodeNumber inode, std::uint64_t size) {
    std::string bytes;
    for (const PinnedBytes& piece : value_of(filesystem_.read(inode, 0, size, AccessTime::kKept)))
      bytes += text_of(piece.bytes);
    return fmt::format("content {} {:x}", bytes.size(), std::hash<std::string>()(bytes));
  }

  Filesystem& filesystem_;
  std::map<std::string, std::string> lines_;
  std::map<InodeNumber, std::string> seen_;
};

std::map<std::string, std::string> snapshot_of(TestFilesystem& volume, const std::string& name,
                                               const std::string& folder = {}) {
  Attributes root = value_of(volume->lookup(kSnapshotsInode, name));
  if (!folder.empty()) root = value_of(volume->lookup(root.inode, folder));
  return Description(*volume, root.inode).lines();
}

void make_snapshot(TestFilesystem& volume, const std::string& name) {
  ASSERT_TRUE(ok(volume->create_snapshot(name)));
}

class SenderTest : public testing::Test {
 protected:
  TestFilesystem sender_;
  TestFilesystem receiver_;
};

TEST_F(SenderTest, AWholeSnapshotIsTheSameAtTheReceiver) {
  const InodeNumber folder = sender_.make_directory(kRootInode, "folder", 0750);
  const InodeNumber file = sender_.make_file(folder, "file", random_text(300'000, 1));
  sender_.make_file(folder, "tiny", "tiny");
  sender_.make_file(folder, "empty");
  value_of(sender_->make_link(file, kRootInode, "another name"));
  value_of(sender_->make_symlink(folder, "link", "../somewhere", {}));
  value_of(sender_->make_node(folder, "fifo", S_IFIFO | 0600, 0, {}));
  value_of(sender_->make_node(folder, "device", S_IFCHR | 0600, 0x103, {}));
  const InodeNumber sparse = sender_.make_file(folder, "sparse", "begin");
  sender_.write(sparse, 500'000, "behind a hole");
  ASSERT_TRUE(ok(sender_->set_attributes(sparse, {.size = 900'000}, {})));
  ASSERT_TRUE(ok(sender_->set_xattr(file, "user.note", "value", XattrMode::kSet)));
  ASSERT_TRUE(ok(sender_->set_attributes(file, {.mode = 04711, .uid = 12, .gid = 34}, {})));
  ASSERT_TRUE(ok(sender_->set_attributes(file, {.mode = 04711, .mtime = Timestamp{1000, 5}}, {})));
  make_snapshot(sender_, "monday");

  ASSERT_TRUE(ok(receive_from(receiver_, stream_of(sender_, {.snapshot = "monday"}))));

  EXPECT_EQ(snapshot_of(receiver_, "monday"), snapshot_of(sender_, "monday"));
  EXPECT_EQ(receiver_->snapshots()[0].created_unix_seconds, sender_->snapshots()[0].created_unix_seconds);
}

// Random changes to a tree, of all kinds, with many renames.
class Changer {
 public:
  Changer(TestFilesystem& volume, unsigned seed) : volume_(volume), random_(seed) {}

  void change(int count) {
    for (int i = 0; i < count; ++i) change_one();
  }

 private:
  struct Place {
    InodeNumber parent = 0;
    std::string name;
    Attributes attributes;
  };

  std::size_t below(std::size_t end) { return random_() % end; }
  unsigned seed() { return static_cast<unsigned>(random_()); }

  void collect(InodeNumber directory, std::vector<Place>& places) {
    std::vector<std::string> names;
    EXPECT_TRUE(ok(volume_->read_directory(directory, 0, false, [&](const DirectoryEntry& entry) {
      if (entry.name != "." && entry.name != "..") names.push_back(entry.name);
      return true;
    })));
    for (const std::string& name : names) {
      const Attributes child = value_of(volume_->lookup(directory, name));
      volume_->forget(child.inode, 1);
      places.push_back({directory, name, child});
      if (is_directory(child.mode)) collect(child.inode, places);
    }
  }

  InodeNumber some_directory(const std::vector<Place>& places) {
    std::vector<InodeNumber> directories = {kRootInode};
    for (const Place& place : places)
      if (is_directory(place.attributes.mode)) directories.push_back(place.attributes.inode);
    return directories[below(directories.size())];
  }

  // Few names, so that names come back with other inodes.
  std::string some_name() { return std::string(1, static_cast<char>('a' + below(6))); }

  // Many operations fail, as they may: a name is taken, a directory is full or would go into itself.
  void change_one() {
    std::vector<Place> places;
    collect(kRootInode, places);
    const InodeNumber directory = some_directory(places);
    const std::size_t deed = places.empty() ? below(3) : below(14);
    if (deed == 0) return (void)volume_->make_directory(directory, some_name(), 0755, {});
    if (deed == 1) return (void)volume_->make_symlink(directory, some_name(), some_name(), {});
    if (deed == 2 || places.empty()) return make_file(directory);
    const Place& place = places[below(places.size())];
    const InodeNumber inode = place.attributes.inode;
    switch (deed) {
      case 3:
      case 4:
      case 5: return (void)volume_->rename(place.parent, place.name, directory, some_name(), RenameMode::kReplace);
      case 6: return (void)volume_->rename(place.parent, place.name, directory, some_name(), RenameMode::kExchange);
      case 7: return (void)volume_->unlink(place.parent, place.name);
      case 8: return (void)volume_->remove_directory(place.parent, place.name);
      case 9: return (void)volume_->make_link(inode, directory, some_name());
      case 10: return (void)volume_->set_attributes(inode, {.mode = seed() & 0777, .uid = seed() & 7}, {});
      case 11:
        if (below(2) == 0) return (void)volume_->remove_xattr(inode, "user.a");
        return (void)volume_->set_xattr(inode, "user.a", some_name(), XattrMode::kSet);
      default:
        if (is_regular(place.attributes.mode)) change_content(inode, place.attributes.size, places);
    }
  }

  void make_file(InodeNumber directory) {
    const auto made = volume_->create(directory, some_name(), 0644, {});
    if (made) volume_.write(made->inode, 0, random_text(below(60'000), seed()));
  }

  void change_content(InodeNumber inode, std::uint64_t size, const std::vector<Place>& places) {
    switch (below(5)) {
      case 0: return volume_.write(inode, below(size + 10'000), random_text(1 + below(20'000), seed()));
      case 1: return (void)volume_->set_attributes(inode, {.size = below(size + 5'000)}, {});
      case 2: return (void)volume_->allocate(inode, below(size + 1), 1 + below(20'000), AllocateMode::kPunchHole);
      case 3: return volume_.write(inode, size, random_text(1 + below(3'000), seed()));
      default: {
        const Place& other = places[below(places.size())];
        if (is_regular(other.attributes.mode))
          (void)volume_->copy_range(other.attributes.inode, 0, inode, below(size + 1), 1 + below(50'000));
      }
    }
  }

  TestFilesystem& volume_;
  std::mt19937 random_;
};

TEST_F(SenderTest, ChangesGiveTheSameSnapshotWhateverTheyAre) {
  for (unsigned seed = 1; seed <= (kSanitized ? 4 : 12); ++seed) {
    SCOPED_TRACE(seed);
    TestFilesystem sender, receiver;
    Changer changer(sender, seed);
    std::optional<std::string> since;
    for (const std::string name : {"1", "2", "3", "4"}) {
      changer.change(since ? 25 : 60);
      make_snapshot(sender, name);
      const auto received = receive_from(receiver, stream_of(sender, {.snapshot = name, .since = since}));
      ASSERT_TRUE(ok(received)) << name;
      ASSERT_EQ(snapshot_of(receiver, name), snapshot_of(sender, name)) << name;
      since = name;
    }
  }
}

// The stream breaks at some byte; the sender goes on where the receiver's token says.
TEST_F(SenderTest, WhatBreaksGoesOnAnywhere) {
  for (unsigned seed = 1; seed <= (kSanitized ? 1 : 4); ++seed) {
    TestFilesystem sender;
    Changer changer(sender, seed);
    changer.change(60);
    make_snapshot(sender, "1");
    changer.change(40);
    make_snapshot(sender, "2");
    const SendRequest whole{.snapshot = "1", .frame_bytes = 100};
    const SendRequest changes{.snapshot = "2", .since = "1", .frame_bytes = 100};
    const std::string first = stream_of(sender, whole);
    const std::string second = stream_of(sender, changes);
    for (const double part : {0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.3, 0.7, 0.9, 0.999}) {
      SCOPED_TRACE(testing::Message() << "seed " << seed << ", broken behind " << part);
      TestFilesystem receiver;
      const auto receive_in_parts = [&](const SendRequest& request, std::string_view stream) {
        const auto cut = static_cast<std::size_t>(static_cast<double>(stream.size()) * part);
        EXPECT_TRUE(fails_with(ErrorCode::kIo, receive_from(receiver, stream.substr(0, cut))));
        const auto state = value_of(find_received(*receiver, ""));
        SendRequest rest = request;
        if (state && !state->has_snapshot)
          rest = {.snapshot = {},
                  .since = {},
                  .resume = value_of(ResumeToken::parse(state->token().text())),
                  .frame_bytes = 100};
        ASSERT_TRUE(ok(receive_from(receiver, stream_of(sender, rest))));
      };
      receive_in_parts(whole, first);
      ASSERT_EQ(snapshot_of(receiver, "1"), snapshot_of(sender, "1"));
      receive_in_parts(changes, second);
      ASSERT_EQ(snapshot_of(receiver, "2"), snapshot_of(sender, "2"));
    }
  }
}

// What the receiver has done is not done again, as it would get the time of now.
TEST_F(SenderTest, AFileThatIsDoneStaysAsItIsWhenAStreamGoesOn) {
  const InodeNumber cut = sender_.make_file(kRootInode, "cut", std::string(50'000, 'c'));
  const InodeNumber next = sender_.make_file(kRootInode, "next", "next");
  make_snapshot(sender_, "1");
  ASSERT_TRUE(ok(sender_->set_attributes(cut, {.size = 10}, {})));
  ASSERT_TRUE(ok(sender_->set_attributes(cut, {.size = 50'000}, {})));  // zeros where the base has content
  std::mt19937 random(1);
  std::string noise(200'000, '\0');
  for (char& byte : noise) byte = static_cast<char>(random());
  sender_.write(next, 0, noise);
  make_snapshot(sender_, "2");
  ASSERT_TRUE(ok(receive_from(receiver_, stream_of(sender_, {.snapshot = "1"}))));
  const std::string stream = stream_of(sender_, {.snapshot = "2", .since = "1", .frame_bytes = 100});
  EXPECT_FALSE(receive_from(receiver_, std::string_view(stream).substr(0, stream.size() / 2)));
  const auto state = value_of(find_received(*receiver_, ""));
  ASSERT_TRUE(state);

  ASSERT_TRUE(ok(receive_from(receiver_, stream_of(sender_, {.snapshot = {}, .since = {}, .resume = state->token()}))));

  EXPECT_EQ(snapshot_of(receiver_, "2"), snapshot_of(sender_, "2"));
}

TEST_F(SenderTest, ABrokenOneMayAlsoBeginAnew) {
  Changer changer(sender_, 7);
  changer.change(60);
  make_snapshot(sender_, "1");
  changer.change(40);
  make_snapshot(sender_, "2");
  ASSERT_TRUE(ok(receive_from(receiver_, stream_of(sender_, {.snapshot = "1"}))));
  const std::string stream = stream_of(sender_, {.snapshot = "2", .since = "1"});

  for (std::size_t cut = stream.size() / 3; cut < stream.size(); cut += stream.size() / 3)
    EXPECT_FALSE(receive_from(receiver_, std::string_view(stream).substr(0, cut)));
  ASSERT_TRUE(ok(receive_from(receiver_, stream)));

  EXPECT_EQ(snapshot_of(receiver_, "2"), snapshot_of(sender_, "2"));
}

}  // namespace
}  // namespace dedupfs::transfer
