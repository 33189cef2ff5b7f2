// The attributes, recipes, inodes, orphans and counters of a repaired namespace.
#include <fmt/format.h>

#include <algorithm>
#include <limits>

#include "fs/check/namespace_repair_state.h"
#include "fs/format/mode.h"

namespace dedupfs {

Result<void> NamespaceRepair::write_xattrs() {
  return walk(Family::kXattrs, [this](std::string_view key, std::string_view value) -> Result<void> {
    const auto place = decode_xattr_key(key);
    Node* const node = place ? find(place->inode) : nullptr;
    if (node == nullptr || value.size() > kMaxXattrValue) {
      log_.lost(place ? fmt::format("attribute '{}' of inode {}", place->name, place->inode) : place.error().message());
      return {};
    }
    if (!node->has_xattrs && !node->is_made)
      log_.repaired(fmt::format("inode {} has the attribute '{}'", place->inode, place->name));
    node->has_xattrs = true;
    return writer_.put(Family::kXattrs, key, value);
  });
}

Result<void> NamespaceRepair::write_recipes() {
  DEDUPFS_TRY(step());
  InodeNumber current = 0;
  const auto finish = [&]() -> Result<void> { return current == 0 ? Result<void>() : end_recipe(current); };
  const auto written = walk(Family::kRecipes, [&](std::string_view key, std::string_view value) -> Result<void> {
    const auto place = decode_recipe_key(key);
    Node* const node = place ? find(place->inode) : nullptr;
    if (node == nullptr || !is_regular(node->mode)) {
      log_.lost(place ? fmt::format("inode {} at {}: content, but it is not a file", place->inode, place->offset)
                      : place.error().message());
      return {};
    }
    if (node->is_orphan) return {};  // the next mount would delete it
    if (place->inode != current) {
      DEDUPFS_TRY(finish());
      current = place->inode;
      begin_recipe(current, *node);
    }
    return recipes_.add(place->offset, value);
  });
  DEDUPFS_TRY(written);
  DEDUPFS_TRY(finish());
  // Files without any segment that should have one.
  for (auto& [number, node] : nodes_) {
    if (!is_regular(node.mode) || node.is_orphan || node.has_recipe || node.data_bytes == 0) continue;
    begin_recipe(number, node);
    DEDUPFS_TRY(end_recipe(number));
  }
  return {};
}

void NamespaceRepair::begin_recipe(InodeNumber number, Node& node) {
  node.has_recipe = true;
  recipes_.begin(number,
                 node.is_made ? std::nullopt : std::optional(RecipeRepair::Recorded{node.size, node.data_bytes}));
}

Result<void> NamespaceRepair::end_recipe(InodeNumber number) {
  DEDUPFS_ASSIGN(const RecipeRepair::Recorded content, recipes_.end());
  Node& node = *find(number);
  node.size = content.size;
  node.data_bytes = content.data_bytes;
  return {};
}

Result<void> NamespaceRepair::write_inodes() {
  const auto written = walk(Family::kInodes, [this](std::string_view key, std::string_view value) -> Result<void> {
    const auto number = decode_inode_key(key);
    const Node* const node = number ? find(*number) : nullptr;
    if (node == nullptr || node->is_made) return {};
    auto record = decode_inode(*number, value);
    if (!record) return {};
    DEDUPFS_TRY(preserve_inode(*number, *record, value));
    const std::string changes = correct(*record, *node, *number);
    if (!changes.empty()) log_.repaired(fmt::format("inode {}:{}", *number, changes));
    return writer_.put(Family::kInodes, key, encode_inode(*record));
  });
  DEDUPFS_TRY(written);
  const Timestamp now = Timestamp::now();
  for (const auto& [number, node] : nodes_) {
    if (!node.is_made) continue;
    InodeRecord record;
    Attributes& attributes = record.attributes;
    attributes.inode = number;
    attributes.mode = node.mode;
    attributes.atime = attributes.mtime = attributes.ctime = attributes.btime = now;
    DEDUPFS_TRY(preserve_inode(number, record, {}));
    correct(record, node, number);
    DEDUPFS_TRY(writer_.put(Family::kInodes, encode_inode_key(number), encode_inode(record)));
  }
  return {};
}

std::string NamespaceRepair::correct(InodeRecord& record, const Node& node, InodeNumber number) {
  std::string changes;
  const auto set = [&changes](auto& value, auto right, std::string_view name) {
    if (value == right) return;
    changes += fmt::format(" {} {} to {}", name, value, right);
    value = right;
  };
  Attributes& attributes = record.attributes;
  if (!record.has_xattrs) record.has_xattrs = node.has_xattrs;
  const QuotaNumber quota = quota_of(number, node);
  if (quota != kNoQuota || scope_.quotas.quotas.contains(record.quota)) set(record.quota, quota, "quota");
  if (is_directory(node.mode)) {
    set(attributes.links, node.is_orphan ? 0 : 2 + node.subdirectories, "links");
    set(attributes.size, kDirectoryEntryBytes * node.entries, "size");
    if (!node.is_orphan) set(attributes.parent, number == kRootInode ? kRootInode : node.parent, "parent");
    set(attributes.next_cookie, node.next_cookie, "next cookie");
    return changes;
  }
  set(attributes.links, node.is_orphan ? 0 : node.names, "links");
  if (is_regular(node.mode) && !node.is_orphan) {
    set(attributes.size, node.size, "size");
    set(attributes.data_bytes, node.data_bytes, "bytes of data");
  }
  return changes;
}

QuotaNumber NamespaceRepair::quota_of(InodeNumber number, const Node& node) {
  const auto& quotas = scope_.quotas.quotas;
  if (quotas.empty()) return kNoQuota;
  if (node.is_orphan) return quotas.contains(node.quota) ? node.quota : kNoQuota;
  std::vector<InodeNumber> way;
  InodeNumber at = is_directory(node.mode) ? number : node.first_parent;
  while (find(at) != nullptr && !quota_of_directory_.contains(at)) {
    way.push_back(at);
    at = at == kRootInode ? 0 : find(at)->parent;
  }
  const auto known = quota_of_directory_.find(at);
  QuotaNumber quota = known == quota_of_directory_.end() ? kNoQuota : known->second;
  for (auto directory = way.rbegin(); directory != way.rend(); ++directory) {
    const auto own = quota_at_.find(*directory);
    if (quota == kNoQuota && own != quota_at_.end()) quota = own->second;
    quota_of_directory_[*directory] = quota;
  }
  return quota;
}

Result<void> NamespaceRepair::write_quotas() {
  QuotaRecords records = scope_.quotas;
  // No quota may get a number that a record names already.
  for (const auto& [number, node] : nodes_)
    if (node.quota >= records.next && node.quota < std::numeric_limits<QuotaNumber>::max())
      records.next = node.quota + 1;
  if (records == QuotaRecords()) return {};  // there never was one
  std::erase_if(records.quotas, [&](const auto& it) {
    const Node* const directory = find_directory(it.second.directory);
    if (directory != nullptr && quota_of(it.second.directory, *directory) == it.first) return false;
    log_.lost(fmt::format("the quota of inode {}: {}", it.second.directory,
                          directory == nullptr ? "the directory is gone" : "it is in a tree with a quota now"));
    return true;
  });
  for (auto& [number, quota] : records.quotas) quota.logical_bytes = quota.files = 0;
  for (const auto& [number, node] : nodes_) {
    const auto quota = records.quotas.find(quota_of(number, node));
    if (quota == records.quotas.end()) continue;
    quota->second.logical_bytes = quota_sum(quota->second.logical_bytes, node.data_bytes);
    ++quota->second.files;
  }
  return writer_.put(Family::kCounters, kQuotasCounter, encode_quotas(records));
}

Result<void> NamespaceRepair::write_orphans() {
  for (const auto& [number, node] : nodes_)
    if (node.is_orphan) DEDUPFS_TRY(writer_.put(Family::kOrphans, encode_inode_key(number), ""));
  return {};
}

Result<std::optional<std::uint64_t>> NamespaceRepair::recorded_counter(std::string_view name) {
  std::optional<std::uint64_t> counter;
  DEDUPFS_TRY(walk(Family::kCounters, [&](std::string_view key, std::string_view value) -> Result<void> {
    const auto number = key == name ? decode_counter(name, value) : Result<std::uint64_t>(0);
    if (key == name && number) counter = *number;
    return {};
  }));
  return counter;
}

Result<void> NamespaceRepair::write_counters() {
  std::uint64_t next = 2;
  for (const auto& [number, node] : nodes_) next = std::max(next, number + 1);
  DEDUPFS_ASSIGN(const auto recorded, recorded_counter(kNextInodeCounter));
  if (recorded && *recorded <= kLastInode) next = std::max(next, *recorded);
  DEDUPFS_TRY(writer_.put(Family::kCounters, kNextInodeCounter, encode_counter(next)));
  return writer_.put(Family::kCounters, kInodesCounter, encode_counter(nodes_.size()));
}

}  // namespace dedupfs
