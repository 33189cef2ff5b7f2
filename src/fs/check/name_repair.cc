// The names of a repaired namespace, and "lost+found".
#include <fmt/format.h>

#include <algorithm>

#include "fs/check/namespace_repair_state.h"
#include "fs/format/mode.h"
#include "store/metadata/before_images.h"

namespace dedupfs {

Result<void> NamespaceRepair::write_names() {
  DEDUPFS_TRY(step());
  Entries entries;
  const auto written = walk_names([&](std::string_view key, std::string_view value) -> Result<void> {
    DEDUPFS_ASSIGN(const DirentKey place, decode_dirent_key(key));
    DEDUPFS_ASSIGN(const Dirent dirent, decode_dirent(place.parent, value));
    if (place.parent != entries.directory) {
      DEDUPFS_TRY(give_cookies(entries));
      entries = {.directory = place.parent, .cookies = {}, .without_cookie = {}};
    }
    return write_name(place, dirent, entries);
  });
  DEDUPFS_TRY(written);
  return give_cookies(entries);
}

Result<void> NamespaceRepair::write_name(const DirentKey& place, Dirent dirent, Entries& entries) {
  const std::string what = fmt::format("name '{}' in directory {}", place.name, place.parent);
  if (const std::string why = reason_to_drop(place, dirent); !why.empty()) {
    log_.lost(fmt::format("{}: {}", what, why));
    return writer_.erase(Family::kDirents, encode_dirent_key(place.parent, place.name));
  }
  Node& node = *find(dirent.inode);
  Node& parent = *find(place.parent);
  if (node.names++ == 0) node.first_parent = place.parent;
  ++parent.entries;
  if (is_directory(node.mode)) ++parent.subdirectories;
  const Dirent found = dirent;
  if (type_bits(node.mode) != dirent.type) {
    dirent.type = type_bits(node.mode);
    log_.repaired(what + ": its type");
  }
  if (place.parent == kRootInode && place.name == kLostAndFound && is_directory(node.mode))
    lost_and_found_ = dirent.inode;
  if (dirent.cookie >= kMaxCookie || !entries.cookies.insert(dirent.cookie).second) {
    entries.without_cookie.emplace_back(place.name, dirent);
    log_.repaired(what + ": its place in the order of the directory");
    return {};
  }
  parent.next_cookie = std::max(parent.next_cookie, dirent.cookie + 1);
  return put_name(place.parent, place.name, dirent, dirent != found);
}

std::string NamespaceRepair::reason_to_drop(const DirentKey& place, const Dirent& dirent) {
  const Node* const node = find(dirent.inode);
  if (node == nullptr) return fmt::format("inode {} is lost", dirent.inode);
  if (find_directory(place.parent) == nullptr) return "there is no such directory";
  if (dirent.inode == kRootInode) return "it leads to the root directory";
  if (is_directory(node->mode) && (node->parent != place.parent || node->names != 0))
    return fmt::format("directory {} has another name, or was below itself", dirent.inode);
  return {};
}

Result<void> NamespaceRepair::give_cookies(const Entries& entries) {
  for (const auto& [name, dirent] : entries.without_cookie) {
    Dirent placed = dirent;
    placed.cookie = find(entries.directory)->next_cookie++;
    DEDUPFS_TRY(put_name(entries.directory, name, placed, true));
  }
  return {};
}

Result<void> NamespaceRepair::put_name(InodeNumber parent, std::string_view name, const Dirent& dirent, bool changed) {
  if (changed) DEDUPFS_TRY(writer_.put(Family::kDirents, encode_dirent_key(parent, name), encode_dirent(dirent)));
  return writer_.put(Family::kCookies, encode_cookie_key(parent, dirent.cookie),
                     encode_cookie_entry({.inode = dirent.inode, .type = dirent.type, .name = std::string(name)}));
}

Result<void> NamespaceRepair::write_adopted() {
  DEDUPFS_TRY(step());
  for (const auto& [number, node] : nodes_)
    if (node.names == 0 && !node.is_orphan && number != kRootInode && !is_directory(node.mode)) {
      adopted_.push_back(number);
      log_.repaired(fmt::format("inode {}: it had no name, and is moved to {}", number, kLostAndFound));
    }
  if (adopted_.empty()) return {};
  std::ranges::sort(adopted_);
  DEDUPFS_TRY(writer_.flush());
  if (lost_and_found_ == 0)
    DEDUPFS_TRY(make_lost_and_found());
  else
    without_adopted_[lost_and_found_] = *find(lost_and_found_);
  for (const InodeNumber number : adopted_) {
    Node& node = *find(number);
    DEDUPFS_ASSIGN(const std::string name, free_name(lost_and_found_, fmt::format("#{}", number)));
    DEDUPFS_TRY(add_name(lost_and_found_, name, number));
    if (is_directory(node.mode)) node.parent = lost_and_found_;
  }
  return {};
}

Result<void> NamespaceRepair::make_lost_and_found() {
  lost_and_found_ = 1;
  for (const auto& [number, node] : nodes_) lost_and_found_ = std::max(lost_and_found_, number + 1);
  DEDUPFS_ASSIGN(const auto next, recorded_counter(kNextInodeCounter));
  if (next && *next <= kLastInode) lost_and_found_ = std::max(lost_and_found_, *next);
  if (scope_.preservation && scope_.preservation->end_of_inodes <= kLastInode)
    lost_and_found_ = std::max(lost_and_found_, scope_.preservation->end_of_inodes);  // so no snapshot sees it
  without_adopted_[kRootInode] = *find(kRootInode);
  Node& node = nodes_[lost_and_found_];
  node.mode = S_IFDIR | 0700;
  node.is_made = true;
  node.parent = kRootInode;
  DEDUPFS_ASSIGN(const std::string name, free_name(kRootInode, std::string(kLostAndFound)));
  return add_name(kRootInode, name, lost_and_found_);
}

Result<std::string> NamespaceRepair::free_name(InodeNumber directory, const std::string& wanted) {
  std::string name = wanted;
  for (std::uint64_t i = 1;; ++i) {
    DEDUPFS_ASSIGN(const auto taken, to_.get(Family::kDirents, encode_dirent_key(directory, name)));
    if (!taken) return name;
    name = fmt::format("{}.{}", wanted, i);
  }
}

Result<void> NamespaceRepair::add_name(InodeNumber directory, const std::string& name, InodeNumber number) {
  Node& node = *find(number);
  Node& parent = *find(directory);
  if (node.names++ == 0) node.first_parent = directory;
  ++parent.entries;
  if (is_directory(node.mode)) ++parent.subdirectories;
  DEDUPFS_TRY(preserve(Family::kDirents, encode_dirent_key(directory, name), std::nullopt));
  DEDUPFS_TRY(preserve(Family::kCookies, encode_cookie_key(directory, parent.next_cookie), std::nullopt));
  return put_name(directory, name, {.inode = number, .type = type_bits(node.mode), .cookie = parent.next_cookie++},
                  true);
}

Result<void> NamespaceRepair::preserve(Family family, const std::string& key,
                                       const std::optional<std::string>& before) {
  if (!scope_.preservation || node_in_key(key) >= scope_.preservation->end_of_inodes) return {};
  return writer_.put(Family::kBeforeImages, encode_before_image_key(family, key, scope_.preservation->number),
                     encode_before_image(before));
}

Result<void> NamespaceRepair::preserve_inode(InodeNumber number, InodeRecord record, std::string_view as_found) {
  if (const auto before = without_adopted_.find(number); before != without_adopted_.end()) {
    before->second.has_xattrs = find(number)->has_xattrs;
    correct(record, before->second, number);
    return preserve(Family::kInodes, encode_inode_key(number), encode_inode(record));
  }
  if (as_found.empty() || !std::ranges::binary_search(adopted_, number)) return {};
  return preserve(Family::kInodes, encode_inode_key(number), std::string(as_found));
}

}  // namespace dedupfs
