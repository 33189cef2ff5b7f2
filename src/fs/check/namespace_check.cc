#include "fs/check/namespace_check.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "fs/check/history_repair.h"
#include "fs/check/quota_check.h"
#include "fs/check/reference_check.h"
#include "fs/content/recipe.h"
#include "fs/format/hold_records.h"
#include "fs/format/mode.h"
#include "fs/format/records.h"

namespace dedupfs {
namespace {

constexpr std::uint64_t kFamilies = 6;
constexpr std::uint64_t kRecordsBetweenReports = 4096;

class NamespaceCheck {
 public:
  NamespaceCheck(Volume& volume, const ChunkTable& chunks, CheckReport& report, const Progress& progress, int pass)
      : volume_(volume),
        chunks_(chunks),
        report_(report),
        progress_(progress),
        pass_(pass),
        snapshot_(volume.database().snapshot()) {}

  Result<NamespaceTotals> run() {
    DEDUPFS_TRY(quotas_.read(volume_.database(), report_));
    DEDUPFS_TRY(walk(Family::kInodes, [this](auto key, auto value) { return read_inode(key, value); }));
    DEDUPFS_TRY(walk(Family::kOrphans, [this](auto key, auto) { return read_orphan(key); }));
    DEDUPFS_TRY(walk(Family::kDirents, [this](auto key, auto value) { return check_dirent(key, value); }));
    DEDUPFS_TRY(walk(Family::kCookies, [this](auto key, auto value) { return check_cookie(key, value); }));
    DEDUPFS_TRY(walk(Family::kXattrs, [this](auto key, auto value) { return check_xattr(key, value); }));
    DEDUPFS_TRY(walk(Family::kRecipes, [this](auto key, auto value) { return check_segment(key, value); }));
    // A volume that was never mounted has no root yet.
    if (!inodes_.empty() && !inodes_.contains(kRootInode)) report_.error("the root directory (inode 1) is missing");
    for (const auto& [number, inode] : inodes_) check_inode(number, inode);
    check_orphans();
    for (const auto& [number, inode] : inodes_) check_quota(number, inode);
    quotas_.check_sums(report_);
    DEDUPFS_TRY(check_counters());
    if (names_ != cookies_) report_.error(fmt::format("{} names, but {} places in directories", names_, cookies_));
    totals_.inodes = inodes_.size();
    totals_.orphans = orphans_.size();
    return totals_;
  }

 private:
  struct Inode {
    std::uint32_t mode = 0;
    std::uint32_t links = 0;
    std::uint64_t size = 0;
    std::uint64_t data_bytes = 0;
    InodeNumber parent = 0;
    std::uint64_t next_cookie = 0;
    bool may_have_xattrs = false;
    QuotaNumber quota = kNoQuota;  // one that is there
    // Found by the check:
    bool has_right_quota = false;
    QuotaNumber other_quota = kNoQuota;  // of a directory with a name for it
    std::uint32_t names = 0;
    std::uint32_t subdirectories = 0;
    std::uint64_t entries = 0;
    std::uint64_t recipe_end = 0;
    std::uint64_t recipe_data_bytes = 0;
  };

  // A record that does not parse is a finding. The walk goes on.
  template <class Check>
  Result<void> walk(Family family, Check check) {
    Result<void> interrupted = progress_(pass_, families_++, kFamilies);
    std::uint64_t records = 0;
    DEDUPFS_TRY(interrupted);
    DEDUPFS_TRY(volume_.database().walk(*snapshot_, family, [&](std::string_view key, std::string_view value) {
      if (const Result<void> checked = check(key, value); !checked) report_.error(checked.error().message());
      if (++records % kRecordsBetweenReports == 0) interrupted = progress_(pass_, families_, kFamilies);
      return interrupted.has_value();
    }));
    return interrupted;
  }

  Inode* find(InodeNumber number) {
    const auto found = inodes_.find(number);
    return found == inodes_.end() ? nullptr : &found->second;
  }

  Result<void> read_inode(std::string_view key, std::string_view value) {
    DEDUPFS_ASSIGN(const InodeNumber number, decode_inode_key(key));
    if (number > kLastInode)
      return Error{ErrorCode::kCorruption, fmt::format("inode {}: the number is out of range", number)};
    DEDUPFS_ASSIGN(const InodeRecord record, decode_inode(number, value));
    const Attributes& attributes = record.attributes;
    if (is_directory(attributes.mode) && attributes.next_cookie > kLastCookie)
      report_.error(
          fmt::format("inode {}: its next cookie is {}, which is out of range", number, attributes.next_cookie));
    Inode& inode = inodes_[number];
    inode.mode = attributes.mode;
    inode.links = attributes.links;
    inode.size = attributes.size;
    inode.data_bytes = attributes.data_bytes;
    inode.parent = attributes.parent;
    inode.next_cookie = attributes.next_cookie;
    inode.may_have_xattrs = record.has_xattrs;
    inode.quota = quotas_.count(record);
    inode.has_right_quota = number == kRootInode && quotas_.of_name(number, inode.quota) == kNoQuota;
    if (is_directory(attributes.mode)) ++totals_.directories;
    return {};
  }

  Result<void> read_orphan(std::string_view key) {
    DEDUPFS_ASSIGN(const InodeNumber number, decode_inode_key(key));
    orphans_.insert(number);
    return {};
  }

  Result<void> check_dirent(std::string_view key, std::string_view value) {
    DEDUPFS_ASSIGN(const DirentKey place, decode_dirent_key(key));
    DEDUPFS_ASSIGN(const Dirent dirent, decode_dirent(place.parent, value));
    ++names_;
    const std::string what = fmt::format("name '{}' in directory {}", place.name, place.parent);
    Inode* const parent = find(place.parent);
    Inode* const inode = find(dirent.inode);
    if (parent == nullptr || !is_directory(parent->mode))
      return Error{ErrorCode::kCorruption, what + ": there is no such directory"};
    ++parent->entries;
    if (inode == nullptr)
      return Error{ErrorCode::kCorruption, fmt::format("{}: inode {} is missing", what, dirent.inode)};
    if (type_bits(inode->mode) != dirent.type)
      return Error{ErrorCode::kCorruption, fmt::format("{}: inode {} is of another type", what, dirent.inode)};
    ++inode->names;
    if (quotas_.of_name(dirent.inode, inode->quota) == parent->quota)
      inode->has_right_quota = true;
    else if (parent->quota != kNoQuota)
      inode->other_quota = parent->quota;
    if (is_directory(inode->mode)) {
      ++parent->subdirectories;
      if (inode->parent != place.parent)
        return Error{ErrorCode::kCorruption, fmt::format("{}: its '..' is {}", what, inode->parent)};
    }
    if (dirent.cookie >= parent->next_cookie)
      return Error{ErrorCode::kCorruption,
                   fmt::format("{}: its cookie {} will be assigned again", what, dirent.cookie)};
    DEDUPFS_ASSIGN(const auto mirror,
                   volume_.database().get(Family::kCookies, encode_cookie_key(place.parent, dirent.cookie)));
    if (!mirror) return Error{ErrorCode::kCorruption, what + " has no place in the order of the directory"};
    DEDUPFS_ASSIGN(const CookieEntry entry, decode_cookie_entry(place.parent, *mirror));
    if (entry.name != place.name || entry.inode != dirent.inode)
      return Error{ErrorCode::kCorruption, what + ": its place in the order of the directory holds another name"};
    return {};
  }

  // Each name leads to its cookie, and no two names to the same one. So if the counts are equal, names and cookies match.
  Result<void> check_cookie(std::string_view key, std::string_view value) {
    DEDUPFS_ASSIGN(const CookieKey place, decode_cookie_key(key));
    DEDUPFS_TRY(decode_cookie_entry(place.parent, value));
    ++cookies_;
    return {};
  }

  Result<void> check_xattr(std::string_view key, std::string_view value) {
    DEDUPFS_ASSIGN(const XattrKey place, decode_xattr_key(key));
    if (value.size() > kMaxXattrValue)
      report_.error(fmt::format("inode {}: attribute '{}' has {} bytes", place.inode, place.name, value.size()));
    const Inode* const inode = find(place.inode);
    if (inode == nullptr)
      return Error{ErrorCode::kCorruption,
                   fmt::format("attribute '{}' of inode {}, which is missing", place.name, place.inode)};
    if (!inode->may_have_xattrs)
      return Error{ErrorCode::kCorruption,
                   fmt::format("inode {} has the attribute '{}', but its record says that it has none", place.inode,
                               place.name)};
    return {};
  }

  Result<void> check_segment(std::string_view key, std::string_view value) {
    DEDUPFS_ASSIGN(const RecipeKey place, decode_recipe_key(key));
    const std::string what = fmt::format("recipe of inode {} at {}", place.inode, place.offset);
    Inode* const inode = find(place.inode);
    if (inode == nullptr) return Error{ErrorCode::kCorruption, what + ": the inode is missing"};
    auto entries = decode_segment(value);
    if (!entries) return entries.error().with(what);
    if (place.offset != inode->recipe_end)
      report_.error(fmt::format("{}: the segment before ends at {}", what, inode->recipe_end));
    std::uint64_t offset = place.offset;
    for (const RecipeEntry& entry : *entries) {
      if (entry.kind == RecipeEntry::Kind::kChunk) check_reference(place.inode, offset, entry);
      if (entry.is_data()) inode->recipe_data_bytes += entry.length;
      offset += entry.length;
    }
    inode->recipe_end = offset;
    return {};
  }

  void check_reference(InodeNumber inode, std::uint64_t offset, const RecipeEntry& entry) {
    ++totals_.chunk_references;
    if (orphans_.contains(inode)) return;
    dedupfs::check_reference(inode, offset, entry, chunks_, report_);
  }

  void check_inode(InodeNumber number, const Inode& inode) {
    const auto wrong = [&](const std::string& what) { report_.error(fmt::format("inode {}: {}", number, what)); };
    if (orphans_.contains(number)) return;  // unlinked; it is deleted at the next mount
    const bool is_root = number == kRootInode;
    if (inode.names == 0 && !is_root) wrong("it has no name");
    if (is_root && !is_directory(inode.mode)) wrong("the root is not a directory");
    if (is_directory(inode.mode)) {
      if (is_root && inode.names != 0) wrong("the root directory has a name");
      if (inode.names > 1) wrong("a directory with several names");
      if (inode.size != kDirectoryEntryBytes * inode.entries)
        wrong(fmt::format("size {}, but {} entries", inode.size, inode.entries));
      if (inode.links != 2 + inode.subdirectories)
        wrong(fmt::format("link count {}, but {} subdirectories", inode.links, inode.subdirectories));
      if (!reaches_root(number)) wrong("not below the root");
    } else if (inode.links != inode.names) {
      wrong(fmt::format("link count {}, but {} names", inode.links, inode.names));
    }
    if (!is_regular(inode.mode)) {
      if (inode.recipe_end != 0) wrong("it has content, but is not a file");
      return;
    }
    if (inode.recipe_end > inode.size)
      wrong(fmt::format("size {}, but content up to {}", inode.size, inode.recipe_end));
    if (inode.recipe_data_bytes != inode.data_bytes)
      wrong(fmt::format("{} bytes of data recorded, {} found", inode.data_bytes, inode.recipe_data_bytes));
  }

  // A file stays in the tree in which a quota found it, even if it keeps its names outside of that tree only.
  void check_quota(InodeNumber number, const Inode& inode) {
    if (orphans_.contains(number)) return;
    if (!inode.has_right_quota && (is_directory(inode.mode) || inode.quota == kNoQuota))
      report_.error(fmt::format("inode {}: its quota is not that of its directory", number));
    else if (inode.other_quota != kNoQuota)  // a repair may leave it
      report_.note(
          fmt::format("inode {}: quota {} counts it, but it has a name in the tree of quota {}; put a copy there",
                      number, inode.quota, inode.other_quota));
  }

  // The rest of their content does not matter.
  void check_orphans() {
    for (const InodeNumber number : orphans_) {
      const Inode* const inode = find(number);
      if (inode == nullptr)
        report_.error(fmt::format("orphan {}: the inode is missing", number));
      else if (inode->names != 0 || inode->links != 0)
        report_.error(fmt::format("orphan {}: link count {}, and {} names", number, inode->links, inode->names));
    }
  }

  Result<void> check_counters() {
    std::uint64_t largest = 0;
    for (const auto& [number, inode] : inodes_) largest = std::max(largest, number);
    DEDUPFS_ASSIGN(const auto next, counter(kNextInodeCounter, kRootInode));
    if (next && *next <= largest)
      report_.error(fmt::format("inode {} exists, but the next number is {}", largest, *next));
    if (next && (*next == 0 || *next > kLastInode + 1))
      report_.error(fmt::format("the next inode number is {}, which is out of range", *next));
    DEDUPFS_ASSIGN(const auto count, counter(kInodesCounter, 0));
    if (count && *count != inodes_.size())
      report_.error(fmt::format("{} inodes recorded, {} found", *count, inodes_.size()));
    DEDUPFS_TRY(check_parses(kHoldsCounter, decode_holds));
    DEDUPFS_TRY(check_parses(kVolumeTimeCounter, decode_volume_time));
    DEDUPFS_ASSIGN(const std::uint64_t damaged_samples, count_damaged_samples(volume_.database()));
    if (damaged_samples != 0)
      report_.note(fmt::format("{} records of the history do not parse and are left out", damaged_samples));
    return {};
  }

  template <class Decode>
  Result<void> check_parses(std::string_view name, const Decode& decode) {
    DEDUPFS_ASSIGN(const auto value, volume_.database().get(Family::kCounters, name));
    if (!value) return {};
    if (const auto decoded = decode(*value); !decoded) report_.error(decoded.error().message());
    return {};
  }

  // Returns nothing, and reports an error, if it does not parse.
  Result<std::optional<std::uint64_t>> counter(std::string_view name, std::uint64_t otherwise) {
    DEDUPFS_ASSIGN(const auto value, volume_.database().get(Family::kCounters, name));
    if (!value) return otherwise;
    const auto number = decode_counter(name, *value);
    if (number) return *number;
    report_.error(number.error().message());
    return std::nullopt;
  }

  // Follows '..' up, and remembers the way; a loop takes more steps than there are directories.
  bool reaches_root(InodeNumber number) {
    std::vector<InodeNumber> way;
    while (number != kRootInode && !reachable_.contains(number)) {
      const Inode* const inode = find(number);
      if (inode == nullptr || !is_directory(inode->mode) || way.size() > totals_.directories) return false;
      way.push_back(number);
      number = inode->parent;
    }
    reachable_.insert(way.begin(), way.end());
    return true;
  }

  Volume& volume_;
  const ChunkTable& chunks_;
  CheckReport& report_;
  const Progress& progress_;
  const int pass_;
  std::uint64_t families_ = 0;  // walked so far
  std::shared_ptr<const Database::Snapshot> snapshot_;
  std::unordered_map<InodeNumber, Inode> inodes_;
  std::unordered_set<InodeNumber> orphans_;
  std::unordered_set<InodeNumber> reachable_;  // directories
  QuotaSums quotas_;
  std::uint64_t names_ = 0;
  std::uint64_t cookies_ = 0;
  NamespaceTotals totals_;
};

}  // namespace

Result<NamespaceTotals> check_namespace(Volume& volume, const ChunkTable& chunks, CheckReport& report,
                                        const Progress& progress, int pass) {
  return NamespaceCheck(volume, chunks, report, progress, pass).run();
}

}  // namespace dedupfs
