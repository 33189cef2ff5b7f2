#include "fs/check/lost_files.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <unordered_map>
#include <utility>

#include "fs/format/mode.h"
#include "fs/format/records.h"
#include "index/entries.h"
#include "store/metadata/snapshot_list.h"

namespace dedupfs {
namespace {

constexpr std::size_t kListedTogether = 1024;
constexpr std::size_t kLongestWay = 1000;  // directories; a damaged volume can have loops
constexpr std::size_t kMaxPath = 4096;
constexpr std::size_t kMaxKnown = 10'000;

class Paths {
 public:
  explicit Paths(const Database& index) : index_(index) {}

  // With a slash at its end.
  std::string of_directory(InodeNumber directory) {
    std::vector<InodeNumber> way;
    std::string path = "/";
    while (directory != kRootInode && way.size() < kLongestWay) {
      if (const auto known = known_.find(directory); known != known_.end()) {
        path = known->second;
        break;
      }
      way.push_back(directory);
      directory = parent_of(directory);
      if (directory == 0) {
        path = "(lost directory)/";
        break;
      }
    }
    if (known_.size() > kMaxKnown) known_.clear();
    for (auto at = way.rbegin(); at != way.rend(); ++at) {
      if (path.size() > kMaxPath) path = "(deep below)/";
      path += name_of(*at).value_or("#" + std::to_string(*at)) + "/";
      known_[*at] = path;
    }
    return path;
  }

 private:
  InodeNumber parent_of(InodeNumber directory) const {
    const auto value = index_.get(Family::kInodes, encode_inode_key(directory));
    if (!value || !*value) return 0;
    const auto record = decode_inode(directory, **value);
    return record && is_directory(record->attributes.mode) ? record->attributes.parent : 0;
  }

  std::optional<std::string> name_of(InodeNumber directory) const {
    const InodeNumber parent = parent_of(directory);
    std::optional<std::string> name;
    const auto is_another = [&](const std::string& key, const std::string& value) -> Result<bool> {
      const auto place = decode_dirent_key(key);
      const auto dirent = decode_dirent(parent, value);
      if (place && dirent && dirent->inode == directory) name = place->name;
      return !name;
    };
    (void)visit_entries_while(index_, Family::kDirents, encode_inode_key(parent), encode_key_behind(parent),
                              kListedTogether, is_another);  // unreadable entries have no name
    return name;
  }

  const Database& index_;
  std::unordered_map<InodeNumber, std::string> known_;
};

// Its name in the snapshot is not looked up: it may differ in each snapshot that has the file.
std::string path_in_snapshot(const Database& index, TreeNumber tree, InodeNumber node) {
  const auto value = index.get(Family::kSnapshots, encode_snapshot_key(tree));
  const auto record = value && *value ? decode_snapshot(tree, **value)
                                      : Result<SnapshotRecord>(Error{ErrorCode::kNotFound, "no record"});
  return fmt::format("/{}/{}/#{}", kSnapshotsName, record ? record->name : fmt::format("#{}", tree), inode_of(node));
}

}  // namespace

std::uint64_t LostFile::lost_bytes() const {
  std::uint64_t bytes = 0;
  for (const LostRange& range : ranges) bytes += range.length;
  return bytes;
}

Result<std::vector<LostFile>> name_lost_files(const Database& index,
                                              const std::map<std::uint64_t, std::vector<LostRange>>& lost) {
  std::vector<LostFile> files;
  if (lost.empty()) return files;
  std::map<std::uint64_t, std::vector<std::string>> names;
  Paths paths(index);
  DEDUPFS_TRY(index.walk(*index.snapshot(), Family::kDirents, [&](std::string_view key, std::string_view value) {
    const auto place = decode_dirent_key(key);
    const auto dirent = place ? decode_dirent(place->parent, value) : Result<Dirent>(place.error());
    if (dirent && lost.contains(dirent->inode))
      names[dirent->inode].push_back(paths.of_directory(place->parent) + std::string(place->name));
    return true;
  }));
  for (const auto& [inode, ranges] : lost) {
    LostFile file{.inode = inode, .paths = names[inode], .ranges = ranges};
    if (const TreeNumber tree = tree_of(inode); tree != kLiveTree) file.paths = {path_in_snapshot(index, tree, inode)};
    std::ranges::sort(file.paths);
    files.push_back(std::move(file));
  }
  return files;
}

}  // namespace dedupfs
