#include "fs/check/namespace_repair.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <unordered_map>
#include <unordered_set>
#include <utility>
#include <vector>

#include "fs/check/recipe_repair.h"
#include "fs/format/mode.h"
#include "fs/format/records.h"
#include "index/bulk_writer.h"
#include "store/metadata/before_images.h"

namespace dedupfs {
namespace {

constexpr std::string_view kLostAndFound = "lost+found";
constexpr std::uint64_t kMaxCookie = std::uint64_t{1} << 62;  // counting up from there would take for ever
constexpr std::uint64_t kSteps = 6;                           // of progress
constexpr std::uint64_t kRecordsARepairStep = 4096;

class NamespaceRepair {
 public:
  NamespaceRepair(const RecordSource& from, const ChunkTable& chunks, Database& to, const RepairLog& log,
                  const NamespaceRepairScope& scope)
      : from_(from), to_(to), writer_(to), recipes_(chunks, writer_, log), log_(log), scope_(scope) {}

  Result<RepairedNamespace> run() {
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
    DEDUPFS_TRY(writer_.flush());
    return RepairedNamespace{.end_of_chunks = recipes_.end_of_chunks()};
  }

 private:
  struct Node {
    std::uint32_t mode = 0;
    std::uint64_t size = 0;
    std::uint64_t data_bytes = 0;
    std::uint64_t next_cookie = kFirstCookie;
    InodeNumber parent = 0;  // of a directory: as recorded, then as chosen; 0: no name leads to it
    // What is found of it:
    std::uint32_t names = 0;
    std::uint32_t subdirectories = 0;
    std::uint64_t entries = 0;
    bool is_made = false;  // its record was lost
    bool is_orphan = false;
    bool is_named_by_parent = false;  // of a directory: the recorded parent has a name for it
    bool has_xattrs = false;
    bool has_recipe = false;
  };

  // ------------------------------------------------------------ reading

  template <class Visit>
  Result<void> walk(Family family, Visit visit) {
    return walk_with([&](const RecordSource::Visit& each) { return from_.walk(family, each); }, visit);
  }
  // The names that were gathered, as they were when the walk began.
  template <class Visit>
  Result<void> walk_names(Visit visit) {
    DEDUPFS_TRY(writer_.flush());
    const auto names = to_.snapshot();
    return walk_with([&](const RecordSource::Visit& each) { return to_.walk(*names, Family::kDirents, each); }, visit);
  }
  template <class Walk, class Visit>
  Result<void> walk_with(Walk walk_records, Visit visit) {
    Result<void> result;
    std::uint64_t records = 0;
    DEDUPFS_TRY(walk_records([&](std::string_view key, std::string_view value) {
      result = visit(key, value);
      if (result && ++records % kRecordsARepairStep == 0) result = scope_.progress(scope_.pass, steps_, kSteps);
      return result.has_value();
    }));
    return result;
  }
  Result<void> step() { return scope_.progress(scope_.pass, ++steps_, kSteps); }

  Node* find(InodeNumber number) {
    const auto found = nodes_.find(number);
    return found == nodes_.end() ? nullptr : &found->second;
  }
  Node* find_directory(InodeNumber number) {
    Node* const node = find(number);
    return node != nullptr && is_directory(node->mode) && !node->is_orphan ? node : nullptr;
  }

  Result<void> read_inodes() {
    return walk(Family::kInodes, [this](std::string_view key, std::string_view value) -> Result<void> {
      const auto number = decode_inode_key(key);
      const auto record = number ? decode_inode(*number, value) : Result<InodeRecord>(number.error());
      if (!record || *number > kLastInode || (*number == kRootInode && !is_directory(record->attributes.mode))) {
        log_.lost(record ? fmt::format("inode {}: its record is impossible", *number) : record.error().message());
        return {};
      }
      Node& node = nodes_[*number];
      node.mode = record->attributes.mode;
      node.size = record->attributes.size;
      node.data_bytes = record->attributes.data_bytes;
      node.parent = record->attributes.parent;
      if (is_directory(node.mode)) node.next_cookie = std::min(record->attributes.next_cookie, kMaxCookie);
      node.has_xattrs = record->has_xattrs;
      return {};
    });
  }

  Result<void> read_orphans() {
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

  // Into the copy, where they can be changed. Where names are missing, the order of the directory may still know them.
  Result<void> gather_names() {
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
      log_.lost(place
                    ? fmt::format("name '{}' in directory {}: {}", place->name, place->parent, dirent.error().message())
                    : dirent.error().message());
      return {};
    });
  }

  // ------------------------------------------------------------ deciding

  // Inodes whose records are lost and that still have something: directories their entries, files their content.
  Result<void> make_lost_inodes() {
    DEDUPFS_TRY(walk_names([this](std::string_view key, std::string_view value) -> Result<void> {
      DEDUPFS_ASSIGN(const DirentKey place, decode_dirent_key(key));
      DEDUPFS_ASSIGN(const Dirent dirent, decode_dirent(place.parent, value));
      if (find(place.parent) == nullptr) make_node(place.parent, S_IFDIR | (place.parent == kRootInode ? 0755 : 0700));
      if (Node* const node = find(dirent.inode); node != nullptr && node->is_orphan) {
        node->is_orphan = false;
        log_.repaired(fmt::format("inode {} is no orphan: name '{}' in directory {} leads to it", dirent.inode,
                                  place.name, place.parent));
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

  void make_node(InodeNumber number, std::uint32_t mode) {
    if (number == 0 || number > kLastInode) return;
    Node& node = nodes_[number];
    node.mode = mode;
    node.is_made = true;
    log_.lost(fmt::format("inode {}: owner, permissions and times; it is a {} of root's now", number,
                          is_directory(mode) ? "directory" : "file"));
  }

  // A directory has one name. The one that its '..' agrees with, else the first.
  Result<void> choose_parents() {
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

  // Follows '..' up from each directory; what ends elsewhere than at the root, in nothing or in a loop, gets its top adopted.
  void adopt_what_is_out_of_reach() {
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
                                  at == 0 ? "that no name leads to" : "that was below itself", kLostAndFound));
      }
      reachable.insert(way.begin(), way.end());
    }
  }

  // ------------------------------------------------------------ names

  // One directory's, while its entries pass by.
  struct Entries {
    InodeNumber directory = 0;
    std::unordered_set<std::uint64_t> cookies;
    std::vector<std::pair<std::string, Dirent>> without_cookie;
  };

  Result<void> write_names() {
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

  Result<void> write_name(const DirentKey& place, Dirent dirent, Entries& entries) {
    const std::string what = fmt::format("name '{}' in directory {}", place.name, place.parent);
    if (const std::string why = reason_to_drop(place, dirent); !why.empty()) {
      log_.lost(fmt::format("{}: {}", what, why));
      return writer_.erase(Family::kDirents, encode_dirent_key(place.parent, place.name));
    }
    Node& node = *find(dirent.inode);
    Node& parent = *find(place.parent);
    ++node.names;
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

  std::string reason_to_drop(const DirentKey& place, const Dirent& dirent) {
    const Node* const node = find(dirent.inode);
    if (node == nullptr) return fmt::format("inode {} is lost", dirent.inode);
    if (find_directory(place.parent) == nullptr) return "there is no such directory";
    if (dirent.inode == kRootInode) return "it leads to the root directory";
    if (is_directory(node->mode) && (node->parent != place.parent || node->names != 0))
      return fmt::format("directory {} has another name, or was below itself", dirent.inode);
    return {};
  }

  Result<void> give_cookies(const Entries& entries) {
    for (const auto& [name, dirent] : entries.without_cookie) {
      Dirent placed = dirent;
      placed.cookie = find(entries.directory)->next_cookie++;
      DEDUPFS_TRY(put_name(entries.directory, name, placed, true));
    }
    return {};
  }

  // The name itself is there already, if it did not change.
  Result<void> put_name(InodeNumber parent, std::string_view name, const Dirent& dirent, bool changed) {
    if (changed) DEDUPFS_TRY(writer_.put(Family::kDirents, encode_dirent_key(parent, name), encode_dirent(dirent)));
    return writer_.put(Family::kCookies, encode_cookie_key(parent, dirent.cookie),
                       encode_cookie_entry({.inode = dirent.inode, .type = dirent.type, .name = std::string(name)}));
  }

  Result<void> write_adopted() {
    DEDUPFS_TRY(step());
    for (const auto& [number, node] : nodes_)
      if (node.names == 0 && !node.is_orphan && number != kRootInode && !is_directory(node.mode)) {
        adopted_.push_back(number);
        log_.repaired(fmt::format("inode {}: no name leads to it, moved to {}", number, kLostAndFound));
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

  Result<void> make_lost_and_found() {
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

  // Somebody may have such a name already.
  Result<std::string> free_name(InodeNumber directory, const std::string& wanted) {
    std::string name = wanted;
    for (std::uint64_t i = 1;; ++i) {
      DEDUPFS_ASSIGN(const auto taken, to_.get(Family::kDirents, encode_dirent_key(directory, name)));
      if (!taken) return name;
      name = fmt::format("{}.{}", wanted, i);
    }
  }

  Result<void> add_name(InodeNumber directory, const std::string& name, InodeNumber number) {
    Node& node = *find(number);
    Node& parent = *find(directory);
    ++node.names;
    ++parent.entries;
    if (is_directory(node.mode)) ++parent.subdirectories;
    DEDUPFS_TRY(preserve(Family::kDirents, encode_dirent_key(directory, name), std::nullopt));
    DEDUPFS_TRY(preserve(Family::kCookies, encode_cookie_key(directory, parent.next_cookie), std::nullopt));
    return put_name(directory, name, {.inode = number, .type = type_bits(node.mode), .cookie = parent.next_cookie++},
                    true);
  }

  // The image of a key that the repair adds or changes: snapshots see nothing of "lost+found", and a rollback leaves no name in
  // the root that leads nowhere. Where there is an image already, it is written later and takes the place of this one.
  Result<void> preserve(Family family, const std::string& key, const std::optional<std::string>& before) {
    if (!scope_.preservation || node_in_key(key) >= scope_.preservation->end_of_inodes) return {};
    return writer_.put(Family::kBeforeImages, encode_before_image_key(family, key, scope_.preservation->number),
                       encode_before_image(before));
  }
  // `as_found`: the record as it was, if it could be read.
  Result<void> preserve_inode(InodeNumber number, InodeRecord record, std::string_view as_found) {
    if (const auto before = without_adopted_.find(number); before != without_adopted_.end()) {
      before->second.has_xattrs = find(number)->has_xattrs;
      correct(record, before->second, number);
      return preserve(Family::kInodes, encode_inode_key(number), encode_inode(record));
    }
    if (as_found.empty() || !std::ranges::binary_search(adopted_, number)) return {};
    return preserve(Family::kInodes, encode_inode_key(number), std::string(as_found));
  }

  // ------------------------------------------------------------ the rest

  Result<void> write_xattrs() {
    return walk(Family::kXattrs, [this](std::string_view key, std::string_view value) -> Result<void> {
      const auto place = decode_xattr_key(key);
      Node* const node = place ? find(place->inode) : nullptr;
      if (node == nullptr || value.size() > kMaxXattrValue) {
        log_.lost(place ? fmt::format("attribute '{}' of inode {}", place->name, place->inode)
                        : place.error().message());
        return {};
      }
      if (!node->has_xattrs && !node->is_made)
        log_.repaired(fmt::format("inode {} has the attribute '{}'", place->inode, place->name));
      node->has_xattrs = true;
      return writer_.put(Family::kXattrs, key, value);
    });
  }

  Result<void> write_recipes() {
    DEDUPFS_TRY(step());
    InodeNumber current = 0;
    const auto finish = [&]() -> Result<void> { return current == 0 ? Result<void>() : end_recipe(current); };
    const auto written = walk(Family::kRecipes, [&](std::string_view key, std::string_view value) -> Result<void> {
      const auto place = decode_recipe_key(key);
      Node* const node = place ? find(place->inode) : nullptr;
      if (node == nullptr || !is_regular(node->mode)) {
        log_.lost(place
                      ? fmt::format("inode {} at {}: content of something that is no file", place->inode, place->offset)
                      : place.error().message());
        return {};
      }
      if (node->is_orphan) return {};  // what deleting it at the next mount would do
      if (place->inode != current) {
        DEDUPFS_TRY(finish());
        current = place->inode;
        begin_recipe(current, *node);
      }
      return recipes_.add(place->offset, value);
    });
    DEDUPFS_TRY(written);
    DEDUPFS_TRY(finish());
    // Files that have no segment at all, and should have.
    for (auto& [number, node] : nodes_) {
      if (!is_regular(node.mode) || node.is_orphan || node.has_recipe || node.data_bytes == 0) continue;
      begin_recipe(number, node);
      DEDUPFS_TRY(end_recipe(number));
    }
    return {};
  }

  void begin_recipe(InodeNumber number, Node& node) {
    node.has_recipe = true;
    recipes_.begin(number,
                   node.is_made ? std::nullopt : std::optional(RecipeRepair::Recorded{node.size, node.data_bytes}));
  }
  Result<void> end_recipe(InodeNumber number) {
    DEDUPFS_ASSIGN(const RecipeRepair::Recorded content, recipes_.end());
    Node& node = *find(number);
    node.size = content.size;
    node.data_bytes = content.data_bytes;
    return {};
  }

  Result<void> write_inodes() {
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

  // Makes the record say what was found, and tells what it said else.
  static std::string correct(InodeRecord& record, const Node& node, InodeNumber number) {
    std::string changes;
    const auto set = [&changes](auto& value, auto right, std::string_view name) {
      if (value == right) return;
      changes += fmt::format(" {} {} to {}", name, value, right);
      value = right;
    };
    Attributes& attributes = record.attributes;
    if (!record.has_xattrs) record.has_xattrs = node.has_xattrs;
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

  Result<void> write_orphans() {
    for (const auto& [number, node] : nodes_)
      if (node.is_orphan) DEDUPFS_TRY(writer_.put(Family::kOrphans, encode_inode_key(number), ""));
    return {};
  }

  Result<std::optional<std::uint64_t>> recorded_counter(std::string_view name) {
    std::optional<std::uint64_t> counter;
    DEDUPFS_TRY(walk(Family::kCounters, [&](std::string_view key, std::string_view value) -> Result<void> {
      const auto number = key == name ? decode_counter(name, value) : Result<std::uint64_t>(0);
      if (key == name && number) counter = *number;
      return {};
    }));
    return counter;
  }

  Result<void> write_counters() {
    std::uint64_t next = 2;
    for (const auto& [number, node] : nodes_) next = std::max(next, number + 1);
    DEDUPFS_ASSIGN(const auto recorded, recorded_counter(kNextInodeCounter));
    if (recorded && *recorded <= kLastInode) next = std::max(next, *recorded);
    DEDUPFS_TRY(writer_.put(Family::kCounters, kNextInodeCounter, encode_counter(next)));
    return writer_.put(Family::kCounters, kInodesCounter, encode_counter(nodes_.size()));
  }

  const RecordSource& from_;
  Database& to_;
  BulkWriter writer_;
  RecipeRepair recipes_;
  const RepairLog& log_;
  const NamespaceRepairScope& scope_;

  std::unordered_map<InodeNumber, Node> nodes_;
  std::vector<InodeNumber> adopted_;                       // get a name in lost+found
  std::unordered_map<InodeNumber, Node> without_adopted_;  // the directories that get names, as they were without these
  InodeNumber lost_and_found_ = 0;
  std::uint64_t steps_ = 0;
};

}  // namespace

Result<RepairedNamespace> repair_namespace(const RecordSource& from, const ChunkTable& chunks, Database& to,
                                           const RepairLog& log, const NamespaceRepairScope& scope) {
  return NamespaceRepair(from, chunks, to, log, scope).run();
}

}  // namespace dedupfs
