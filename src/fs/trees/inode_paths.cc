#include "fs/trees/inode_paths.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "fs/format/mode.h"
#include "fs/format/records.h"

namespace dedupfs {
namespace {

constexpr std::size_t kDeepestPath = 10'000;  // folders above an inode; more are a circle in a damaged volume
constexpr std::uint64_t kNear = 64;           // inode numbers
constexpr std::uint64_t kFar = 4096;

}  // namespace

void InodePaths::know(InodeNumber inode, const Link& link) {
  names_.try_emplace(inode, link);
}

Result<void> InodePaths::find() {
  while (!wanted_.empty()) {
    std::vector<InodeNumber> wanted = std::exchange(wanted_, {});
    std::ranges::sort(wanted);
    wanted.erase(std::unique(wanted.begin(), wanted.end()), wanted.end());
    for (const InodeNumber inode : wanted)
      if (!has(inode)) sought_.insert(inode);
    for (const InodeNumber inode : wanted)
      if (sought_.contains(inode)) DEDUPFS_TRY(search(inode));
    if (!sought_.empty()) DEDUPFS_TRY(read_all_folders());
    sought_.clear();  // the rest has no name
    for (const InodeNumber inode : wanted) {
      const auto name = names_.find(inode);
      if (name != names_.end() && found_.insert(inode).second) want(name->second.parent);
    }
  }
  return {};
}

Result<void> InodePaths::search(InodeNumber inode) {
  DEDUPFS_ASSIGN(std::optional<InodeNumber> folder, parent_of(inode));
  if (!folder) {
    DEDUPFS_ASSIGN(folder, folder_made_before(inode));
  }
  for (std::size_t depth = 0; folder && depth < kDeepestPath && sought_.contains(inode); ++depth) {
    DEDUPFS_TRY(read_folder(*folder));
    if (*folder == kRootInode) return {};
    DEDUPFS_ASSIGN(folder, parent_of(*folder));
  }
  return {};
}

// Nothing for what is not a folder.
Result<std::optional<InodeNumber>> InodePaths::parent_of(InodeNumber folder) {
  if (const auto known = parents_.find(folder); known != parents_.end()) return known->second;
  std::optional<InodeNumber> parent;
  DEDUPFS_ASSIGN(const auto stored, tree_.get(Family::kInodes, encode_inode_key(folder)));
  if (stored) {
    DEDUPFS_ASSIGN(const InodeRecord record, decode_inode(folder, *stored));
    if (is_directory(record.attributes.mode)) parents_[folder] = parent = record.attributes.parent;
  }
  return parent;
}

// The likely parent: whoever copies a tree makes a folder, and then what is in it.
Result<std::optional<InodeNumber>> InodePaths::folder_made_before(InodeNumber inode) const {
  InodeNumber end = inode;
  for (std::uint64_t distance = kNear; distance <= kFar && end > kRootInode; distance *= 4) {
    const InodeNumber from = std::max(kRootInode, inode - std::min(inode, distance));
    std::optional<InodeNumber> last;
    DEDUPFS_TRY(tree_.walk(Family::kInodes, encode_inode_key(from), encode_inode_key(end),
                           [&](std::string_view key, std::string_view value) -> Result<bool> {
                             DEDUPFS_ASSIGN(const InodeNumber number, decode_inode_key(key));
                             DEDUPFS_ASSIGN(const InodeRecord record, decode_inode(number, value));
                             if (is_directory(record.attributes.mode)) last = number;
                             return true;
                           }));
    if (last) return last;
    end = from;
  }
  return std::nullopt;
}

Result<void> InodePaths::read_folder(InodeNumber folder) {
  if (!read_.insert(folder).second) return {};
  return tree_.walk(Family::kDirents, encode_inode_key(folder), encode_key_behind(folder),
                    [&](std::string_view key, std::string_view value) -> Result<bool> {
                      DEDUPFS_TRY(note(key, value));
                      return true;
                    });
}

Result<void> InodePaths::read_all_folders() {
  if (has_read_all_) return {};
  has_read_all_ = keeps_ == Keeps::kAllRead;
  return tree_.walk(Family::kDirents, encode_inode_key(kRootInode), encode_inode_key(kEndOfInodes),
                    [&](std::string_view key, std::string_view value) -> Result<bool> {
                      DEDUPFS_ASSIGN(const DirentKey place, decode_dirent_key(key));
                      if (!read_.contains(place.parent)) DEDUPFS_TRY(note(key, value));
                      return has_read_all_ || !sought_.empty();
                    });
}

Result<void> InodePaths::note(std::string_view key, std::string_view value) {
  DEDUPFS_ASSIGN(const DirentKey place, decode_dirent_key(key));
  DEDUPFS_ASSIGN(const Dirent dirent, decode_dirent(place.parent, value));
  if (sought_.erase(dirent.inode) != 0 || is_directory(dirent.type) || keeps_ == Keeps::kAllRead)
    know(dirent.inode, {place.parent, std::string(place.name)});
  return {};
}

std::string InodePaths::path_of(InodeNumber inode) const {
  if (inode == kRootInode) return ".";
  const auto name = names_.find(inode);
  return name == names_.end() ? fmt::format("[inode {}]", inode) : path_of(name->second);
}

std::string InodePaths::path_of(const Link& link) const {
  std::vector<std::string> parts{link.name};  // from the end of the path
  for (InodeNumber at = link.parent; at != kRootInode;) {
    const auto name = names_.find(at);
    if (name == names_.end() || parts.size() == kDeepestPath) {
      parts.push_back(fmt::format("[inode {}]", at));
      break;
    }
    parts.push_back(name->second.name);
    at = name->second.parent;
  }
  std::string path = std::move(parts.back());
  for (auto part = parts.rbegin() + 1; part != parts.rend(); ++part) path.append("/").append(*part);
  return path;
}

}  // namespace dedupfs
