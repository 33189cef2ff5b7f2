// Thousands of random operations on a filesystem and on the simplest model of one: results, trees, contents and attributes
// must agree, after reopening too, and a crash must leave the state of the last sync.
//
//   DEDUPFS_MODEL_SEED=n   repeats one run;  DEDUPFS_MODEL_STEPS=n   its length
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cstdlib>
#include <functional>
#include <iostream>
#include <random>
#include <set>

#include "filesystem_model.h"
#include "fs/check/namespace_check.h"
#include "fs/namespace/filesystem.h"
#include "store/check/store_check.h"
#include "test_filesystem.h"

namespace dedupfs {
namespace {

constexpr std::size_t kMaxContent = 1 << 20;
constexpr Caller kCaller{.uid = 0, .gid = 0, .umask = 0};

std::uint64_t from_environment(const char* name, std::uint64_t otherwise) {
  const char* const value = std::getenv(name);
  return value == nullptr ? otherwise : std::strtoull(value, nullptr, 10);
}

// A tree as text, one object a line, so that two can be compared and a difference be read. `seen` tells hard links.
std::string describe(const std::string& path, std::uint32_t mode, std::uint32_t uid, std::uint32_t gid,
                     std::uint32_t links, InodeNumber number, const std::string& content,
                     const std::map<std::string, std::string>& xattrs) {
  std::string line = path + " inode " + std::to_string(number) + " mode " + std::to_string(mode) + " owner " +
                     std::to_string(uid) + ":" + std::to_string(gid) + " links " + std::to_string(links) + " size " +
                     std::to_string(content.size()) + " content " + std::to_string(std::hash<std::string>()(content));
  for (const auto& [name, value] : xattrs) line += " " + name + "=" + std::to_string(std::hash<std::string>()(value));
  return line + "\n";
}

void describe_model(const ModelNode& directory, const std::string& path, std::string& text) {
  for (const auto& [name, node] : directory.entries) {
    text +=
        describe(path + name, node->mode, node->uid, node->gid, node->links, node->number, node->content, node->xattrs);
    if (node->is_directory()) describe_model(*node, path + name + "/", text);
  }
}

void describe_real(TestFilesystem& fs, InodeNumber directory, const std::string& path, std::string& text) {
  std::vector<DirectoryEntry> entries = fs.list(directory, 2);
  std::sort(entries.begin(), entries.end(), [](const auto& a, const auto& b) { return a.name < b.name; });
  for (const DirectoryEntry& entry : entries) {
    const Attributes attributes = fs.attributes(entry.attributes.inode);
    std::string content;
    if (is_regular(attributes.mode)) content = fs.content(attributes.inode);
    if (is_symlink(attributes.mode)) content = value_of(fs->read_symlink(attributes.inode));
    std::map<std::string, std::string> xattrs;
    for (const std::string& name : value_of(fs->list_xattrs(attributes.inode)))
      xattrs[name] = value_of(fs->get_xattr(attributes.inode, name));
    text += describe(path + entry.name, attributes.mode, attributes.uid, attributes.gid, attributes.links,
                     attributes.inode, content, xattrs);
    if (is_directory(attributes.mode)) describe_real(fs, attributes.inode, path + entry.name + "/", text);
  }
}

std::string tree_of(const FilesystemModel& model) {
  std::string text;
  describe_model(*model.root(), "/", text);
  return text;
}

std::string tree_of(TestFilesystem& fs) {
  std::string text;
  describe_real(fs, kRootInode, "/", text);
  return text;
}

class ModelRun {
 public:
  explicit ModelRun(std::uint64_t seed) : random_(seed), synced_(tree_of(model_)) {}

  void step() {
    switch (pick(28)) {
      case 0:
      case 1:
      case 2: make_file(); break;
      case 3: make_directory(); break;
      case 4: make_other(); break;
      case 5: make_link(); break;
      case 6: unlink(); break;
      case 7: remove_directory(); break;
      case 8:
      case 9: rename(); break;
      case 10:
      case 11:
      case 12: write(); break;
      case 13: append(); break;
      case 14: truncate(); break;
      case 15: allocate(); break;
      case 16: copy_range(); break;
      case 17:
      case 18: read(); break;
      case 19: seek(); break;
      case 20: change_attributes(); break;
      case 21: change_xattr(); break;
      case 22: open(); break;
      case 23: release(); break;
      case 24: read_directory_in_pieces(); break;
      case 25:
        if (pick(4) == 0) sync();
        break;
      case 26:
        if (pick(40) == 0) reopen();
        break;
      default:
        if (pick(60) == 0) crash();
    }
  }

  void compare() { ASSERT_EQ(tree_of(fs_), tree_of(model_)); }

  void finish() {
    reopen();
    std::set<const ModelNode*> nodes;
    const std::function<void(const ModelNode&)> count = [&](const ModelNode& node) {
      nodes.insert(&node);
      for (const auto& [name, child] : node.entries) count(*child);
    };
    count(*model_.root());
    EXPECT_TRUE(fs_.inodes_become(nodes.size()));  // nothing was left behind
  }

 private:
  struct Place {
    ModelPtr directory;
    std::string name;
  };

  std::uint64_t pick(std::uint64_t limit) {
    return std::uniform_int_distribution<std::uint64_t>(0, limit - 1)(random_);
  }

  std::string bytes(std::size_t length) {
    switch (pick(4)) {
      case 0: return std::string(length, static_cast<char>(pick(2)));  // holes, or one byte again and again
      case 1: {                                                        // something that was there before
        std::string repeated;
        const std::string pattern = random_bytes(1000, pick(5));
        while (repeated.size() < length) repeated += pattern;
        return repeated.substr(0, length);
      }
      default: return random_bytes(length, random_());
    }
  }

  static std::string random_bytes(std::size_t length, std::uint64_t seed) {
    std::mt19937_64 random(seed);
    std::string made(length, '\0');
    for (char& byte : made) byte = static_cast<char>(random());
    return made;
  }

  // Mostly small, sometimes large enough for streams and many chunks.
  std::size_t length() { return 1 + pick(pick(10) == 0 ? 400'000 : pick(3) == 0 ? 40'000 : 600); }

  ModelPtr any_directory() {
    ModelPtr directory = model_.root();
    while (pick(3) != 0) {
      std::vector<ModelPtr> children;
      for (const auto& [name, node] : directory->entries)
        if (node->is_directory()) children.push_back(node);
      if (children.empty()) break;
      directory = children[pick(children.size())];
    }
    return directory;
  }

  Place any_place() { return {any_directory(), std::string(1, static_cast<char>('a' + pick(12)))}; }

  // Null if the directory that was chosen has none such.
  template <class Accepts>
  ModelPtr any_node(const Accepts& accepts) {
    const ModelPtr directory = any_directory();
    std::vector<ModelPtr> nodes;
    for (const auto& [name, node] : directory->entries)
      if (accepts(*node)) nodes.push_back(node);
    return nodes.empty() ? nullptr : nodes[pick(nodes.size())];
  }
  ModelPtr any_file() {
    if (!open_.empty() && pick(4) == 0) return open_[pick(open_.size())];
    return any_node([](const ModelNode& node) { return is_regular(node.mode); });
  }

  template <class T>
  bool agree(const Result<T>& result, const FilesystemModel::Outcome& expected) {
    if (expected) {
      EXPECT_TRUE(fails_with(*expected, result));
      return false;
    }
    EXPECT_TRUE(ok(result));
    return result.has_value();
  }

  template <class Make>
  void make(std::uint32_t mode, std::string content, const Make& make) {
    const Place place = any_place();
    const Result<Attributes> made = make(place.directory->number, place.name);
    if (!agree(made, FilesystemModel::can_add(*place.directory, place.name))) return;
    const ModelPtr node = std::make_shared<ModelNode>();
    node->number = made->inode;
    node->mode = mode;
    node->content = std::move(content);
    if (node->is_directory()) node->links = 2;
    FilesystemModel::add(*place.directory, place.name, node);
    fs_->forget(made->inode, 1);
  }

  void make_file() {
    const auto mode = static_cast<std::uint32_t>(pick(01000));
    make(S_IFREG | mode, {},
         [&](InodeNumber parent, const std::string& name) { return fs_->create(parent, name, mode, kCaller); });
  }
  void make_directory() {
    make(S_IFDIR | 0755U, {},
         [&](InodeNumber parent, const std::string& name) { return fs_->make_directory(parent, name, 0755, kCaller); });
  }
  void make_other() {
    if (pick(2) == 0) {
      const std::string target = "../" + std::to_string(pick(1000));
      make(S_IFLNK | 0777U, target, [&](InodeNumber parent, const std::string& name) {
        return fs_->make_symlink(parent, name, target, kCaller);
      });
    } else {
      make(S_IFIFO | 0600U, {}, [&](InodeNumber parent, const std::string& name) {
        return fs_->make_node(parent, name, S_IFIFO | 0600, 0, kCaller);
      });
    }
  }
  void make_link() {
    const ModelPtr node = any_node([](const ModelNode&) { return true; });
    if (!node) return;
    const Place place = any_place();
    const Result<Attributes> linked = fs_->make_link(node->number, place.directory->number, place.name);
    if (agree(linked, FilesystemModel::link(node, *place.directory, place.name))) fs_->forget(node->number, 1);
  }

  void unlink() {
    const Place place = any_place();
    agree(fs_->unlink(place.directory->number, place.name), FilesystemModel::unlink(*place.directory, place.name));
  }
  void remove_directory() {
    const Place place = any_place();
    agree(fs_->remove_directory(place.directory->number, place.name),
          FilesystemModel::remove_directory(*place.directory, place.name));
  }
  void rename() {
    const Place from = any_place();
    const Place to = any_place();
    const auto mode = static_cast<Filesystem::RenameMode>(pick(3));
    agree(fs_->rename(from.directory->number, from.name, to.directory->number, to.name, mode),
          FilesystemModel::rename(*from.directory, from.name, *to.directory, to.name, mode));
  }

  void write_at(ModelNode& node, std::size_t offset) {
    if (offset > kMaxContent) return;
    const std::string content = bytes(length());
    fs_.write(node.number, offset, content);
    if (node.content.size() < offset + content.size()) node.content.resize(offset + content.size());
    node.content.replace(offset, content.size(), content);
  }
  void write() {
    if (const ModelPtr node = any_file()) write_at(*node, pick(node->content.size() + (pick(4) == 0 ? 50'000 : 1)));
  }
  void append() {
    const ModelPtr node = any_file();
    if (!node) return;
    for (std::uint64_t i = pick(5); i != 0; --i) write_at(*node, node->content.size());
  }
  void truncate() {
    const ModelPtr node = any_file();
    if (!node) return;
    const std::size_t size = pick(3) == 0 ? pick(kMaxContent) : pick(node->content.size() + 1);
    agree(fs_->set_attributes(node->number, {.size = size}, kCaller), std::nullopt);
    node->content.resize(size);
  }
  void allocate() {
    const ModelPtr node = any_file();
    if (!node) return;
    const std::size_t offset = pick(node->content.size() + 1000);
    const std::size_t count = length();
    using enum AllocateMode;
    const auto mode = std::array{kExtend, kKeepSize, kPunchHole, kZeroRange, kZeroRangeKeepSize}[pick(5)];
    agree(fs_->allocate(node->number, offset, count, mode), std::nullopt);
    std::string& content = node->content;
    if ((mode == kExtend || mode == kZeroRange) && content.size() < offset + count) content.resize(offset + count);
    if (mode == kExtend || mode == kKeepSize || offset >= content.size()) return;
    const std::size_t zeroed = std::min(count, content.size() - offset);
    content.replace(offset, zeroed, zeroed, '\0');
  }
  void copy_range() {
    const ModelPtr from = any_file();
    const ModelPtr to = any_file();
    if (!from || !to) return;
    const std::size_t from_offset = pick(from->content.size() + 100);
    const std::size_t to_offset = pick(std::min(kMaxContent, to->content.size() + 100));
    const std::size_t count = length();
    const std::size_t copied =
        from_offset < from->content.size() ? std::min(count, from->content.size() - from_offset) : 0;
    const Result<std::uint64_t> result = fs_->copy_range(from->number, from_offset, to->number, to_offset, count);
    if (copied != 0 && from == to && from_offset < to_offset + copied && to_offset < from_offset + copied) {
      agree(result, ErrorCode::kInvalidArgument);
      return;
    }
    if (!agree(result, std::nullopt)) return;
    EXPECT_EQ(*result, copied);
    if (copied == 0) return;
    const std::string piece = from->content.substr(from_offset, copied);
    if (to->content.size() < to_offset + copied) to->content.resize(to_offset + copied);
    to->content.replace(to_offset, copied, piece);
  }
  void read() {
    const ModelPtr node = any_file();
    if (!node) return;
    const std::size_t offset = pick(node->content.size() + 100);
    const std::size_t count = length();
    const std::string expected = offset < node->content.size() ? node->content.substr(offset, count) : std::string();
    EXPECT_TRUE(fs_.read(node->number, offset, count) == expected)
        << "inode " << node->number << " at " << offset << " of " << node->content.size() << ", " << count << " bytes";
    EXPECT_EQ(fs_.attributes(node->number).size, node->content.size());
  }
  // Which zeros are holes is free; but what is said to be a hole must read as zeros.
  void seek() {
    const ModelPtr node = any_file();
    if (!node || node->content.empty()) return;
    const std::size_t offset = pick(node->content.size());
    const Result<std::uint64_t> data = fs_->seek_data(node->number, offset);
    const Result<std::uint64_t> hole = fs_->seek_hole(node->number, offset);
    ASSERT_TRUE(ok(hole));
    ASSERT_TRUE(data || data.error().code() == ErrorCode::kNoData);
    const std::size_t data_at = data ? *data : node->content.size();
    EXPECT_TRUE(std::all_of(node->content.begin() + static_cast<std::ptrdiff_t>(offset),
                            node->content.begin() + static_cast<std::ptrdiff_t>(data_at),
                            [](char byte) { return byte == 0; }));
    EXPECT_LE(*hole, node->content.size());
    EXPECT_TRUE(data_at == offset || *hole == offset);
    for (const std::size_t boundary : {data_at, static_cast<std::size_t>(*hole)})
      EXPECT_TRUE(boundary == offset || boundary == node->content.size() || boundary % 4096 == 0) << boundary;
  }

  void change_attributes() {
    const ModelPtr node = any_node([](const ModelNode& any) { return !is_symlink(any.mode); });
    if (!node) return;
    const AttributeChanges changes{.mode = static_cast<std::uint32_t>(pick(010000)),
                                   .uid = static_cast<std::uint32_t>(pick(5))};
    agree(fs_->set_attributes(node->number, changes, kCaller), std::nullopt);
    node->mode = type_bits(node->mode) | *changes.mode;
    node->uid = *changes.uid;
    // Directories that hand their group on are tested elsewhere.
    if (node->is_directory() && (node->mode & S_ISGID) != 0) {
      agree(fs_->set_attributes(node->number, {.mode = 0700}, kCaller), std::nullopt);
      node->mode = S_IFDIR | 0700;
    }
  }
  void change_xattr() {
    const ModelPtr node = any_node([](const ModelNode&) { return true; });
    if (!node) return;
    const std::string name = "user." + std::to_string(pick(4));
    if (pick(3) == 0) {
      agree(fs_->remove_xattr(node->number, name),
            node->xattrs.erase(name) != 0 ? FilesystemModel::Outcome() : ErrorCode::kNoData);
      return;
    }
    const auto mode = static_cast<Filesystem::XattrMode>(pick(3));
    const std::string value = bytes(pick(300));
    FilesystemModel::Outcome expected;
    if (mode == Filesystem::XattrMode::kCreate && node->xattrs.contains(name)) expected = ErrorCode::kExists;
    if (mode == Filesystem::XattrMode::kReplace && !node->xattrs.contains(name)) expected = ErrorCode::kNoData;
    if (agree(fs_->set_xattr(node->number, name, value, mode), expected)) node->xattrs[name] = value;
  }

  // Open files may lose all their names, and are read and written all the same.
  void open() {
    const ModelPtr node = any_node([](const ModelNode& any) { return is_regular(any.mode); });
    if (!node) return;
    const bool truncates = pick(5) == 0;
    if (!agree(fs_->open_file(node->number, truncates, kCaller), std::nullopt)) return;
    if (truncates) node->content.clear();
    open_.push_back(node);
  }
  void release() {
    if (open_.empty()) return;
    const auto chosen = open_.begin() + static_cast<std::ptrdiff_t>(pick(open_.size()));
    const ModelPtr node = *chosen;
    ASSERT_TRUE(fs_.content(node->number) == node->content);
    EXPECT_EQ(fs_.attributes(node->number).links, node->links);
    fs_->release_file(node->number, pick(2) == 0);
    open_.erase(chosen);
  }

  // What is there all the time is seen exactly once, everything else at most once.
  void read_directory_in_pieces() {
    const ModelPtr directory = any_directory();
    std::set<std::string> stayed;
    for (const auto& [name, node] : directory->entries) stayed.insert(name);
    std::multiset<std::string> seen;
    std::uint64_t cookie = 0;
    for (;;) {
      const std::vector<DirectoryEntry> piece = fs_.list(directory->number, cookie, 1 + pick(4));
      if (piece.empty()) break;
      for (const DirectoryEntry& entry : piece) seen.insert(entry.name);
      cookie = piece.back().cookie;
      if (pick(2) == 0) continue;
      const std::string name(1, static_cast<char>('a' + pick(12)));
      if (pick(2) == 0) {
        agree(fs_->unlink(directory->number, name), FilesystemModel::unlink(*directory, name));
      } else if (const ModelPtr node = any_file()) {
        const Result<Attributes> linked = fs_->make_link(node->number, directory->number, name);
        if (node->links == 0) {
          EXPECT_TRUE(fails_with(ErrorCode::kNotFound, linked));
        } else if (agree(linked, FilesystemModel::link(node, *directory, name))) {
          fs_->forget(node->number, 1);
        }
      }
      std::erase_if(stayed, [&](const std::string& there) { return !FilesystemModel::find(*directory, there); });
    }
    for (const std::string& name : stayed) EXPECT_GE(seen.count(name), 1U) << name;
    EXPECT_EQ(seen.count("."), 1U);
    EXPECT_EQ(seen.count(".."), 1U);
  }

  // What fsck.dedupfs would say.
  static void check(TestFilesystem& fs) {
    std::string findings;
    CheckReport report([&findings](const std::string& finding) { findings += finding + "\n"; });
    const auto store = check_store(fs->volume(), report);
    ASSERT_TRUE(ok(store));
    ASSERT_TRUE(ok(check_namespace(fs->volume(), store->chunks, report)));
    ASSERT_EQ(report.errors(), 0U) << findings;
  }

  void sync() {
    ASSERT_TRUE(ok(fs_->sync()));
    synced_ = tree_of(model_);
  }
  void reopen() {
    open_.clear();  // as a crash of the programs would: what has no name is gone
    fs_.reopen();
    compare();
    check(fs_);
    synced_ = tree_of(model_);
  }
  void crash() {
    const auto crashed = fs_.after_crash();
    ASSERT_EQ(tree_of(*crashed), synced_);
    check(*crashed);
  }

  std::mt19937_64 random_;
  TestFilesystem fs_;
  FilesystemModel model_;
  std::vector<ModelPtr> open_;
  std::string synced_;  // the tree that must be there after a crash
};

TEST(FilesystemModel, RandomOperationsAgree) {
  const std::uint64_t seed = from_environment("DEDUPFS_MODEL_SEED", std::random_device()());
  const std::uint64_t steps = from_environment("DEDUPFS_MODEL_STEPS", 6000);
  std::cout << "DEDUPFS_MODEL_SEED=" << seed << " DEDUPFS_MODEL_STEPS=" << steps << std::endl;
  RecordProperty("seed", std::to_string(seed));

  ModelRun run(seed);
  for (std::uint64_t step = 0; step < steps; ++step) {
    SCOPED_TRACE("step " + std::to_string(step));
    run.step();
    if (step % 500 == 499) run.compare();
    if (HasFailure()) return;
  }
  run.finish();
}

}  // namespace
}  // namespace dedupfs
