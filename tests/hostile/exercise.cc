#include "hostile/exercise.h"

#include <fmt/format.h>
#include <sys/stat.h>
#include <xxhash.h>

#include <algorithm>
#include <iostream>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "fs/check/fsck.h"
#include "fs/format/mode.h"
#include "fs/namespace/filesystem.h"

namespace dedupfs {
namespace {

constexpr std::uint64_t kMaxBytesPerFile = 8 << 20;
constexpr std::size_t kPieceBytes = 128 << 10;
constexpr std::size_t kMaxInodes = 2000;
constexpr std::uint64_t kMaxEntries = 2'000'000;  // a checkpoint with a million files may be what is left of the names
constexpr std::size_t kMaxLines = 200'000;

Result<std::unique_ptr<Filesystem>> mount(const Path& path, bool read_only) {
  VolumeOptions options;
  options.read_only = read_only;
  options.foreign = true;
  options.threads = 1;
  options.index_memory_bytes = 16 << 20;
  options.cache_bytes = 16 << 20;
  FilesystemOptions filesystem;
  filesystem.commit_interval = std::chrono::hours(1);
  filesystem.checkpoint_interval = std::chrono::hours(1);
  filesystem.background_patience = {};
  filesystem.dirty_bytes = 16 << 20;
  DEDUPFS_ASSIGN(auto volume, Volume::open(path, options));
  return Filesystem::open(std::move(volume), filesystem);
}

void say(const std::string& what) {
  std::cout << what << std::endl;
}

// ---------------------------------------------------------------- reading

struct Found {
  Attributes attributes;
  InodeNumber parent = 0;
  std::string name;
  std::optional<std::uint64_t> digest;  // of files, if all of it could be read

  bool is_file() const { return is_regular(attributes.mode); }
};

class Reader {
 public:
  explicit Reader(Filesystem& filesystem) : filesystem_(filesystem) {}

  // All that can be reached from the root, and the snapshots.
  std::map<InodeNumber, Found> run() {
    Found& root = found_[kRootInode];
    root.attributes.inode = kRootInode;
    list(kRootInode);
    list(kSnapshotsInode);
    while (!directories_.empty() && found_.size() < kMaxInodes) {
      const InodeNumber directory = directories_.back();
      directories_.pop_back();
      list(directory);
    }
    return std::move(found_);
  }

 private:
  void list(InodeNumber directory) {
    if (!listed_.insert(directory).second) return;
    std::vector<std::string> names;
    std::uint64_t entries = 0;
    static_cast<void>(filesystem_.read_directory(directory, 0, true, [&](const DirectoryEntry& entry) {
      if (++entries > kMaxEntries) return false;
      if (entry.counted) filesystem_.forget(entry.attributes.inode, 1);
      if (entry.name != "." && entry.name != "..") names.push_back(entry.name);
      return true;
    }));
    if (entries > kMaxEntries) throw Finding("a directory that does not end");
    for (const std::string& name : names) look_at(directory, name);
  }

  void look_at(InodeNumber directory, const std::string& name) {
    const auto attributes = filesystem_.lookup(directory, name);
    if (!attributes) return;
    const InodeNumber inode = attributes->inode;
    if (!found_.contains(inode) && found_.size() < kMaxInodes) {
      Found& found = found_[inode];
      found.attributes = *attributes;
      found.parent = directory;
      found.name = name;
      look_into(found);
    }
    filesystem_.forget(inode, 1);
  }

  void look_into(Found& found) {
    const InodeNumber inode = found.attributes.inode;
    if (const auto names = filesystem_.list_xattrs(inode))
      for (const std::string& name : *names) static_cast<void>(filesystem_.get_xattr(inode, name));
    if (is_directory(found.attributes.mode)) directories_.push_back(inode);
    if (is_symlink(found.attributes.mode)) static_cast<void>(filesystem_.read_symlink(inode));
    if (found.is_file()) found.digest = digest_of(found.attributes);
  }

  std::optional<std::uint64_t> digest_of(const Attributes& attributes) {
    const InodeNumber inode = attributes.inode;
    std::uint64_t digest = attributes.size;
    std::uint64_t read = 0;
    bool is_whole = true;
    std::uint64_t steps = 0;
    for (std::uint64_t at = 0; at < attributes.size && read < kMaxBytesPerFile && ++steps < 2000;) {
      const auto data = filesystem_.seek_data(inode, at);
      if (!data) {
        is_whole = is_whole && data.error().code() == ErrorCode::kNoData;
        break;
      }
      if (*data < at) throw Finding("data in front of where they are looked for");
      const auto hole = filesystem_.seek_hole(inode, *data);
      if (hole && *hole <= *data) throw Finding("a hole that is data");
      const std::uint64_t end = hole ? std::min(*hole, attributes.size) : attributes.size;
      for (at = *data; at < end && read < kMaxBytesPerFile;) {
        const std::size_t length = std::min<std::uint64_t>(kPieceBytes, end - at);
        const auto pieces = filesystem_.read(inode, at, length);
        std::uint64_t got = 0;
        for (const PinnedBytes& piece : pieces ? *pieces : std::vector<PinnedBytes>()) {
          got += piece.bytes.size();
          digest = XXH3_64bits_withSeed(piece.bytes.data(), piece.bytes.size(), digest + at);
        }
        if (pieces && got != length) throw Finding(fmt::format("a read of {} bytes gave {}", length, got));
        is_whole = is_whole && pieces.has_value();
        at += length;
        read += length;
      }
    }
    return is_whole ? std::optional(digest) : std::nullopt;
  }

  Filesystem& filesystem_;
  std::map<InodeNumber, Found> found_;
  std::vector<InodeNumber> directories_;
  std::set<InodeNumber> listed_;
};

// ---------------------------------------------------------------- writing

// New files, with content of their own and content that is there already. Returns what was written, by inode.
std::map<InodeNumber, std::string> create_files(Filesystem& filesystem, const std::map<InodeNumber, Found>& found,
                                                Random& random) {
  std::map<InodeNumber, std::string> created;
  for (const auto& [number, there] : found) {
    if (number != kRootInode && !is_directory(there.attributes.mode)) continue;
    if (tree_of(number) != kLiveTree || created.size() > 20) continue;
    for (const std::size_t size : {std::size_t{100}, std::size_t{60'000}}) {
      const auto made = filesystem.create(number, fmt::format("new {}", size), 0644, {});
      if (!made) continue;
      if (found.contains(made->inode)) throw Finding(fmt::format("inode {} is given away again", made->inode));
      const std::string content = random.bytes(size);
      const bool wrote = filesystem.write(made->inode, 0, bytes_of(content), {}, nullptr).has_value();
      if (wrote) created[made->inode] = content;
      filesystem.forget(made->inode, 1);
    }
  }
  return created;
}

std::optional<std::string> content_of_inode(Filesystem& filesystem, InodeNumber inode, std::size_t size) {
  const auto pieces = filesystem.read(inode, 0, size + 1);
  if (!pieces) return std::nullopt;
  std::string content;
  for (const PinnedBytes& piece : *pieces) content += text_of(piece.bytes);
  return content;
}

// As the kernel does it: whoever works on an inode has looked it up, and forgets it afterwards. Not if the name is gone.
class Reference {
 public:
  Reference(Filesystem& filesystem, const Found& found) : filesystem_(filesystem), inode_(found.attributes.inode) {
    if (inode_ == kRootInode) return;
    const auto there = filesystem_.lookup(found.parent, found.name);
    if (there && there->inode != inode_) filesystem_.forget(there->inode, 1);
    is_held_ = there && there->inode == inode_;
  }
  ~Reference() {
    if (is_held_) filesystem_.forget(inode_, 1);
  }
  Reference(const Reference&) = delete;
  Reference& operator=(const Reference&) = delete;

  bool is_valid() const { return is_held_ || inode_ == kRootInode; }

 private:
  Filesystem& filesystem_;
  const InodeNumber inode_;
  bool is_held_ = false;
};

// Whatever can be done to a file or directory; that it may fail is understood.
void change(Filesystem& filesystem, const Found& found, Random& random) {
  const Reference reference(filesystem, found);
  if (!reference.is_valid()) return;
  const InodeNumber inode = found.attributes.inode;
  const std::uint64_t size = found.attributes.size;
  const auto write = [&](std::uint64_t offset, std::size_t bytes) {
    static_cast<void>(filesystem.write(inode, offset, bytes_of(random.bytes(bytes)), {}, nullptr));
  };
  if (found.is_file()) {
    if (!filesystem.open_file(inode, false, {})) return;
    write(0, 100);
    write(random.below(size + 1), 5000);
    write(size, 300);
    write(size == 0 ? 0 : size - 1, 1);
    static_cast<void>(filesystem.flush_file(inode));
    static_cast<void>(filesystem.allocate(inode, random.below(size + 1), 1 + random.below(9000),
                                          Filesystem::AllocateMode::kPunchHole));
    write(random.below(size + 1), 70'000);
    static_cast<void>(filesystem.set_attributes(inode, {.size = random.below(size + 1)}, {}));
    write(random.below(size + 1), 1);
    filesystem.release_file(inode, true);
  }
  static_cast<void>(
      filesystem.set_xattr(inode, "user.hostile", random.bytes(random.below(500)), Filesystem::XattrMode::kSet));
  static_cast<void>(filesystem.set_attributes(inode, {.mode = 0600}, {}));
  if (found.parent == 0 || random.one_in(2)) return;
  static_cast<void>(
      filesystem.rename(found.parent, found.name, kRootInode, "moved to here",
                        random.one_in(2) ? Filesystem::RenameMode::kReplace : Filesystem::RenameMode::kExchange));
  if (random.one_in(2)) static_cast<void>(filesystem.unlink(kRootInode, "moved to here"));
  if (random.one_in(2)) static_cast<void>(filesystem.remove_directory(kRootInode, "moved to here"));
}

// False: it went back to a snapshot, and nobody has checked that what that has fits together.
bool change_all(Filesystem& filesystem, const std::map<InodeNumber, Found>& found, Random& random) {
  const Found* last = nullptr;
  for (const auto& [number, there] : found) {
    if (tree_of(number) != kLiveTree) continue;
    change(filesystem, there, random);
    if (last != nullptr && there.is_file() && last->is_file()) {
      const Reference from(filesystem, *last);
      const Reference to(filesystem, there);
      if (from.is_valid() && to.is_valid())
        static_cast<void>(filesystem.copy_range(last->attributes.inode, 0, number, random.below(5000), 50'000));
    }
    last = &there;
  }
  static_cast<void>(filesystem.sync());
  static_cast<void>(filesystem.create_snapshot("new"));
  for (const auto& [number, there] : found) {
    if (!is_directory(there.attributes.mode) || !random.one_in(3)) continue;
    const Reference from(filesystem, there);
    if (from.is_valid())
      static_cast<void>(filesystem.clone_tree(number, kRootInode, fmt::format("clone of {}", number)));
  }
  const auto snapshots = filesystem.snapshots();
  const bool rolls_back = !snapshots.empty() && random.one_in(3);
  if (rolls_back) static_cast<void>(filesystem.roll_back(random.of(snapshots).name));
  if (!snapshots.empty() && random.one_in(2)) static_cast<void>(filesystem.delete_snapshot(random.of(snapshots).name));
  static_cast<void>(filesystem.sync());
  return !rolls_back;
}

// ---------------------------------------------------------------- the whole

// A file that could be read, and that nobody wrote into, is what it was.
void expect_unchanged(const std::map<InodeNumber, Found>& before, const std::map<InodeNumber, Found>& after,
                      bool filters_lie) {
  for (const auto& [number, found] : before) {
    if (!found.digest || (filters_lie && tree_of(number) != kLiveTree)) continue;
    const auto now = after.find(number);
    if (now == after.end())
      throw Finding(fmt::format("inode {} ('{}') is gone after others were made", number, found.name));
    if (now->second.digest != found.digest)
      throw Finding(fmt::format("inode {} ('{}') has other content after others were made", number, found.name));
  }
}

std::string use(const Path& volume, Random& random, bool filters_lie) {
  say("-- mount");
  auto mounted = mount(volume, false);
  if (!mounted) {
    say("refused: " + mounted.error().message());
    if (mounted.error().message().empty()) throw Finding("a mount is refused without a reason");
    say("-- mount read-only");
    if (auto reading = mount(volume, true)) {
      Reader(**reading).run();
      return "mounted read-only";
    }
    return "refused";
  }
  say("-- read");
  const auto before = Reader(**mounted).run();
  say("-- create");
  const auto created = create_files(**mounted, before, random);
  const bool is_durable = (*mounted)->sync().has_value();
  static_cast<void>((*mounted)->close());
  mounted->reset();

  say("-- mount again");
  mounted = mount(volume, false);
  if (!mounted) throw Finding("mounted, and then no more: " + mounted.error().message());
  const auto after = Reader(**mounted).run();
  if (is_durable) {
    expect_unchanged(before, after, filters_lie);
    for (const auto& [number, content] : created)
      if (content_of_inode(**mounted, number, content.size()) != content)
        throw Finding(fmt::format("inode {} has not what was written into it", number));
  }
  say("-- write");
  const bool fits = change_all(**mounted, after, random);
  say("-- close");
  static_cast<void>((*mounted)->close());
  return fits ? "mounted" : "mounted and rolled back";
}

// Whether it could be done, and how many errors are left.
struct Checked {
  bool done = false;
  std::uint64_t errors_left = 0;
  std::string first_error;
};

Checked check(const Path& volume, FsckOptions::Mode mode) {
  std::size_t lines = 0;
  Checked checked;
  FsckOptions options;
  options.mode = mode;
  options.verify_data = true;
  options.print = [&](const std::string& line) {
    if (checked.first_error.empty() && line.starts_with("error: ")) checked.first_error = line;
    if (++lines < 300) say(line);
  };
  const auto report = run_fsck(volume, options);
  if (lines > kMaxLines) throw Finding(fmt::format("fsck printed {} lines", lines));
  if (!report) {
    say("fsck: " + report.error().message());
    return checked;
  }
  checked.done = true;
  checked.errors_left = report->errors_left;
  return checked;
}

}  // namespace

std::string exercise(const std::filesystem::path& volume, Random& random, bool filters_lie) {
  // A check of what nobody has touched yet, or of what a mount left.
  const bool first_mount = random.one_in(2);
  std::string outcome = "not mounted";
  if (first_mount) outcome = use(volume, random, filters_lie);
  say("-- fsck -n");
  check(volume, FsckOptions::Mode::kCheck);
  say("-- fsck -y");
  const Checked repaired = check(volume, FsckOptions::Mode::kAll);
  if (!repaired.done) return outcome + ", not repaired";
  say("-- fsck -n");
  const Checked again = check(volume, FsckOptions::Mode::kCheck);
  if (!again.done) throw Finding("after fsck -y, fsck -n cannot check");
  if (again.errors_left != 0)
    throw Finding(fmt::format("after fsck -y {} errors are left: {}", again.errors_left, again.first_error));
  if (!first_mount) {
    outcome = use(volume, random, filters_lie);
    if (!outcome.starts_with("mounted") || outcome == "mounted read-only")
      throw Finding("after fsck -y it does not mount");
    say("-- fsck -n");
    const Checked last = check(volume, FsckOptions::Mode::kCheck);
    if (outcome == "mounted" && (!last.done || last.errors_left != 0))
      throw Finding(fmt::format("use of a sound volume left {} errors: {}", last.errors_left, last.first_error));
  }
  return outcome + ", repaired";
}

}  // namespace dedupfs
