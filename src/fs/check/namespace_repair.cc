#include "fs/check/namespace_repair.h"

#include <fmt/format.h>

#include <algorithm>

#include "fs/check/namespace_repair_state.h"
#include "fs/format/mode.h"

namespace dedupfs {

Result<RepairedNamespace> NamespaceRepair::run() {
  DEDUPFS_TRY(read_inodes());
  DEDUPFS_TRY(read_orphans());
  DEDUPFS_TRY(gather_names());
  DEDUPFS_TRY(make_lost_inodes());
  if (nodes_.empty()) return RepairedNamespace();  // never mounted: there is no record at all
  DEDUPFS_TRY(choose_parents());
  adopt_what_is_out_of_reach();
  DEDUPFS_TRY(write_names());
  DEDUPFS_TRY(write_adopted());
  DEDUPFS_TRY(write_xattrs());
  DEDUPFS_TRY(write_recipes());
  DEDUPFS_TRY(write_inodes());
  DEDUPFS_TRY(write_orphans());
  DEDUPFS_TRY(write_counters());
  DEDUPFS_TRY(write_quotas());
  DEDUPFS_TRY(writer_.flush());
  return RepairedNamespace{.end_of_chunks = recipes_.end_of_chunks()};
}

Result<void> NamespaceRepair::step() {
  return scope_.progress(scope_.pass, ++steps_, kSteps);
}

NamespaceRepair::Node* NamespaceRepair::find(InodeNumber number) {
  const auto found = nodes_.find(number);
  return found == nodes_.end() ? nullptr : &found->second;
}

NamespaceRepair::Node* NamespaceRepair::find_directory(InodeNumber number) {
  Node* const node = find(number);
  return node != nullptr && is_directory(node->mode) && !node->is_orphan ? node : nullptr;
}

Result<void> NamespaceRepair::read_inodes() {
  return walk(Family::kInodes, [this](std::string_view key, std::string_view value) -> Result<void> {
    const auto number = decode_inode_key(key);
    const auto record = number ? decode_inode(*number, value) : Result<InodeRecord>(number.error());
    if (!record || *number > kLastInode || (*number == kRootInode && !is_directory(record->attributes.mode))) {
      log_.lost(record ? fmt::format("inode {}: its record is invalid", *number) : record.error().message());
      return {};
    }
    Node& node = nodes_[*number];
    node.mode = record->attributes.mode;
    node.size = record->attributes.size;
    node.data_bytes = record->attributes.data_bytes;
    node.parent = record->attributes.parent;
    if (is_directory(node.mode)) node.next_cookie = std::min(record->attributes.next_cookie, kMaxCookie);
    node.has_xattrs = record->has_xattrs;
    node.quota = record->quota;
    return {};
  });
}

Result<void> NamespaceRepair::read_orphans() {
  DEDUPFS_TRY(step());
  return walk(Family::kOrphans, [this](std::string_view key, std::string_view) -> Result<void> {
    const auto number = decode_inode_key(key);
    Node* const node = number ? find(*number) : nullptr;
    if (node == nullptr || *number == kRootInode)
      log_.repaired(number ? fmt::format("orphan {}: there is no such inode", *number) : number.error().message());
    else
      node->is_orphan = true;
    return {};
  });
}

Result<void> NamespaceRepair::gather_names() {
  DEDUPFS_TRY(step());
  if (scope_.names_have_holes) {
    DEDUPFS_TRY(walk(Family::kCookies, [this](std::string_view key, std::string_view value) -> Result<void> {
      const auto place = decode_cookie_key(key);
      if (!place) return {};
      const auto entry = decode_cookie_entry(place->parent, value);
      if (!entry) return {};
      return writer_.put(Family::kDirents, encode_dirent_key(place->parent, entry->name),
                         encode_dirent({.inode = entry->inode, .type = entry->type, .cookie = place->cookie}));
    }));
    DEDUPFS_TRY(writer_.flush());
  }
  return walk(Family::kDirents, [this](std::string_view key, std::string_view value) -> Result<void> {
    const auto place = decode_dirent_key(key);
    const auto dirent = place ? decode_dirent(place->parent, value) : Result<Dirent>(place.error());
    if (dirent) return writer_.put(Family::kDirents, key, value);
    log_.lost(place ? fmt::format("name '{}' in directory {}: {}", place->name, place->parent, dirent.error().message())
                    : dirent.error().message());
    return {};
  });
}

Result<void> NamespaceRepair::make_lost_inodes() {
  DEDUPFS_TRY(walk_names([this](std::string_view key, std::string_view value) -> Result<void> {
    DEDUPFS_ASSIGN(const DirentKey place, decode_dirent_key(key));
    DEDUPFS_ASSIGN(const Dirent dirent, decode_dirent(place.parent, value));
    if (find(place.parent) == nullptr) make_node(place.parent, S_IFDIR | (place.parent == kRootInode ? 0755 : 0700));
    if (Node* const node = find(dirent.inode); node != nullptr && node->is_orphan) {
      node->is_orphan = false;
      log_.repaired(fmt::format("inode {} is not an orphan: it is name '{}' in directory {}", dirent.inode, place.name,
                                place.parent));
    }
    return {};
  }));
  DEDUPFS_TRY(walk(Family::kRecipes, [this](std::string_view key, std::string_view) -> Result<void> {
    const auto place = decode_recipe_key(key);
    if (place && find(place->inode) == nullptr) make_node(place->inode, S_IFREG | 0600);
    return {};
  }));
  if (!nodes_.empty() && find(kRootInode) == nullptr) make_node(kRootInode, S_IFDIR | 0755);
  return {};
}

void NamespaceRepair::make_node(InodeNumber number, std::uint32_t mode) {
  if (number == 0 || number > kLastInode) return;
  Node& node = nodes_[number];
  node.mode = mode;
  node.is_made = true;
  log_.lost(fmt::format("inode {}: owner, permissions and times; it is now a {} of root", number,
                        is_directory(mode) ? "directory" : "file"));
}

Result<void> NamespaceRepair::choose_parents() {
  DEDUPFS_TRY(step());
  std::unordered_map<InodeNumber, InodeNumber> first_parents;
  DEDUPFS_TRY(walk_names([&](std::string_view key, std::string_view value) -> Result<void> {
    DEDUPFS_ASSIGN(const DirentKey place, decode_dirent_key(key));
    DEDUPFS_ASSIGN(const Dirent dirent, decode_dirent(place.parent, value));
    Node* const node = find_directory(dirent.inode);
    if (node == nullptr || dirent.inode == kRootInode || find_directory(place.parent) == nullptr) return {};
    if (node->parent == place.parent)
      node->is_named_by_parent = true;
    else
      first_parents.try_emplace(dirent.inode, place.parent);
    return {};
  }));
  for (auto& [number, node] : nodes_) {
    if (!is_directory(node.mode) || node.is_named_by_parent || number == kRootInode) continue;
    const auto first = first_parents.find(number);
    node.parent = first == first_parents.end() ? 0 : first->second;
  }
  return {};
}

void NamespaceRepair::adopt_what_is_out_of_reach() {
  std::unordered_set<InodeNumber> reachable = {kRootInode};
  std::vector<InodeNumber> directories;
  for (const auto& [number, node] : nodes_)
    if (is_directory(node.mode) && !node.is_orphan) directories.push_back(number);
  std::ranges::sort(directories);  // so that the same damage is always repaired in the same way
  for (const InodeNumber directory : directories) {
    std::vector<InodeNumber> way;
    std::unordered_set<InodeNumber> on_way;
    InodeNumber at = directory;
    while (at != 0 && !reachable.contains(at) && on_way.insert(at).second) {
      way.push_back(at);
      at = find(at)->parent;
    }
    if (!reachable.contains(at)) {
      const InodeNumber top =
          at == 0 ? way.back() : *std::min_element(std::ranges::find(way, at), way.end());  // of the loop
      find(top)->parent = 0;
      adopted_.push_back(top);
      log_.repaired(fmt::format("inode {}: a directory {}, moved to {}", top,
                                at == 0 ? "without a name" : "that was below itself", kLostAndFound));
    }
    reachable.insert(way.begin(), way.end());
  }
}

Result<RepairedNamespace> repair_namespace(const RecordSource& from, const ChunkTable& chunks, Database& to,
                                           const RepairLog& log, const NamespaceRepairScope& scope) {
  return NamespaceRepair(from, chunks, to, log, scope).run();
}

}  // namespace dedupfs
