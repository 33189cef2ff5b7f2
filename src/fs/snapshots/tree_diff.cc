#include "fs/snapshots/tree_diff.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <memory>
#include <set>
#include <tuple>
#include <utility>

#include "fs/format/mode.h"
#include "fs/format/records.h"
#include "fs/trees/changed_records.h"
#include "fs/trees/committed_tree.h"
#include "fs/trees/inode_paths.h"
#include "fs/trees/named_inode.h"

namespace dedupfs {
namespace {

using Kind = TreeChange::Kind;

// What was found of an inode.
struct Touched {
  std::vector<Link> gone;  // names of the older tree that do not lead to it in the newer one
  std::vector<Link> come;
  bool recipe = false;
  bool xattrs = false;
};

// A name that leads to another inode in the newer tree.
struct Replaced {
  InodeNumber before = 0;
  InodeNumber after = 0;
};

std::optional<std::uint64_t> size_of(const InodeRecord& record) {
  return is_regular(record.attributes.mode) ? std::optional(record.attributes.size) : std::nullopt;
}

class Difference {
 public:
  Difference(const CommittedTree& older, const CommittedTree& newer)
      : older_(older), newer_(newer), old_paths_(older), paths_(newer) {}

  Result<std::vector<TreeChange>> find() {
    DEDUPFS_TRY(collect());
    DEDUPFS_TRY(compare_replaced());
    for (const auto& [inode, touched] : touched_) DEDUPFS_TRY(compare(inode, touched));
    for (const Found& found : found_) want(found);
    DEDUPFS_TRY(old_paths_.find());
    DEDUPFS_TRY(paths_.find());
    for (Found& found : found_) name(found);
    std::vector<TreeChange> changes;
    for (Found& found : found_) changes.push_back(std::move(found.change));
    std::ranges::sort(changes, {}, [](const TreeChange& change) { return std::tie(change.path, change.kind); });
    return changes;
  }

 private:
  // A change whose path is not known yet. Without a name: any name that the inode has in the newer tree.
  struct Found {
    TreeChange change;
    std::optional<Link> link;
    std::optional<Link> old_link;
  };
  using Record = std::optional<InodeRecord>;

  Result<void> collect() {
    return visit_changes(older_, newer_,
                         {.visit_inode = [this](InodeNumber inode) { touched_[inode]; },
                          .visit_dirent = [this](const ChangedDirent& changed) { note_dirent(changed); },
                          .visit_xattr = [this](InodeNumber inode) { touched_[inode].xattrs = true; },
                          .visit_recipe = [this](InodeNumber inode) { touched_[inode].recipe = true; }});
  }

  void note_dirent(const ChangedDirent& changed) {
    const Link link{changed.parent, changed.name};
    const InodeNumber before = changed.before.inode, after = changed.after.inode;
    changed_folders_.insert(changed.parent);
    if (before != 0) {
      touched_[before].gone.push_back(link);
      old_paths_.know(before, link);
    }
    if (after != 0) {
      touched_[after].come.push_back(link);
      paths_.know(after, link);
    }
    if (before != 0 && after != 0) replaced_[link] = {.before = before, .after = after};
  }

  // Programs write a new file beside the old one, and rename it over that one: to users, a file was modified.
  Result<void> compare_replaced() {
    for (const auto& [link, inodes] : replaced_) {
      DEDUPFS_ASSIGN(const Record stayed, named_inode(newer_, inodes.before));
      DEDUPFS_ASSIGN(const Record was_there, named_inode(older_, inodes.after));
      if (stayed || was_there) continue;
      DEDUPFS_ASSIGN(const Record before, named_inode(older_, inodes.before));
      DEDUPFS_ASSIGN(const Record after, named_inode(newer_, inodes.after));
      if (!before || !after || is_directory(after->attributes.mode) ||
          type_bits(before->attributes.mode) != type_bits(after->attributes.mode))
        continue;
      std::erase(touched_[inodes.before].gone, link);
      std::erase(touched_[inodes.after].come, link);
      DEDUPFS_ASSIGN(const auto old_recipe, records_of(older_, Family::kRecipes, inodes.before));
      DEDUPFS_ASSIGN(const auto recipe, records_of(newer_, Family::kRecipes, inodes.after));
      DEDUPFS_ASSIGN(const auto old_xattrs, records_of(older_, Family::kXattrs, inodes.before));
      DEDUPFS_ASSIGN(const auto xattrs, records_of(newer_, Family::kXattrs, inodes.after));
      TreeChange change = modified(*before, *after, old_recipe != recipe, old_xattrs != xattrs);
      change.old_inode = inodes.before;
      found_.push_back({std::move(change), link, std::nullopt});
    }
    return {};
  }

  // Of one inode, without its number.
  static Result<std::vector<KeyValue>> records_of(const CommittedTree& tree, Family family, InodeNumber inode) {
    std::vector<KeyValue> records;
    DEDUPFS_TRY(tree.walk(family, encode_inode_key(inode), encode_key_behind(inode),
                          [&](std::string_view key, std::string_view value) -> Result<bool> {
                            records.emplace_back(key.substr(sizeof(std::uint64_t)), value);
                            return true;
                          }));
    return records;
  }

  Result<void> compare(InodeNumber inode, const Touched& touched) {
    DEDUPFS_ASSIGN(const Record before, named_inode(older_, inode));
    DEDUPFS_ASSIGN(const Record after, named_inode(newer_, inode));
    const std::size_t renamed = before && after ? std::min(touched.gone.size(), touched.come.size()) : 0;
    for (std::size_t i = 0; i < renamed; ++i)
      found_.push_back({made(Kind::kRenamed, *after), touched.come[i], touched.gone[i]});
    if (before)
      for (std::size_t i = renamed; i < touched.gone.size(); ++i)
        found_.push_back({made(Kind::kRemoved, *before), std::nullopt, touched.gone[i]});
    if (after)
      for (std::size_t i = renamed; i < touched.come.size(); ++i)
        found_.push_back({made(Kind::kAdded, *after), touched.come[i], std::nullopt});
    if (!before || !after) return {};
    TreeChange change = modified(*before, *after, touched.recipe, touched.xattrs);
    if (!change.content && change.attributes.empty()) return {};
    found_.push_back({std::move(change), std::nullopt, std::nullopt});
    return {};
  }

  static TreeChange made(Kind kind, const InodeRecord& record) {
    TreeChange change{.kind = kind, .type = type_bits(record.attributes.mode), .inode = record.attributes.inode};
    if (kind == Kind::kAdded) change.size = size_of(record);
    if (kind == Kind::kRemoved) change.old_size = size_of(record);
    return change;
  }

  TreeChange modified(const InodeRecord& before, const InodeRecord& after, bool recipe, bool xattrs) const {
    TreeChange change = made(Kind::kModified, after);
    const Attributes& was = before.attributes;
    const Attributes& is = after.attributes;
    change.old_size = size_of(before);
    change.size = size_of(after);
    change.content = recipe || change.old_size != change.size || before.symlink_target != after.symlink_target;
    const auto compare = [&](std::string_view name, bool differs) {
      if (differs) change.attributes.push_back(name);
    };
    compare("mode", (was.mode & kPermissionBits) != (is.mode & kPermissionBits));
    compare("uid", was.uid != is.uid);
    compare("gid", was.gid != is.gid);
    compare("device", was.device != is.device);
    // That of a folder says that names in it changed: they stand for themselves.
    compare("mtime", was.mtime != is.mtime && !changed_folders_.contains(is.inode));
    compare("xattrs", xattrs);
    return change;
  }

  void want(const Found& found) {
    if (found.old_link) old_paths_.want(found.old_link->parent);
    if (found.change.kind == Kind::kRemoved) return;
    paths_.want(found.link ? found.link->parent : found.change.inode);
  }

  void name(Found& found) {
    TreeChange& change = found.change;
    if (found.old_link) change.old_path = old_paths_.path_of(*found.old_link);
    if (change.kind == Kind::kRemoved) change.path = std::exchange(change.old_path, {});
    if (change.kind == Kind::kRemoved) return;
    change.path = found.link ? paths_.path_of(*found.link) : paths_.path_of(change.inode);
  }

  const CommittedTree& older_;
  const CommittedTree& newer_;
  InodePaths old_paths_;
  InodePaths paths_;
  std::map<InodeNumber, Touched> touched_;
  std::map<Link, Replaced> replaced_;
  std::set<InodeNumber> changed_folders_;
  std::vector<Found> found_;
};

}  // namespace

Result<TreeDiff> diff_trees(const Database& database, std::string_view from, std::optional<std::string_view> to,
                            GoOn go_on) {
  const auto state = std::make_shared<CommittedState>(database, std::move(go_on));
  DEDUPFS_ASSIGN(const CommittedTree older, CommittedTree::of_snapshot(state, from));
  DEDUPFS_ASSIGN(const CommittedTree newer, to ? CommittedTree::of_snapshot(state, *to) : CommittedTree::live(state));
  if (newer.snapshot() && newer.snapshot()->number < older.snapshot()->number)
    return Error{ErrorCode::kInvalidArgument,
                 fmt::format("snapshot '{}' is older than '{}': name the older one first", *to, from)};
  return diff_trees(*state, older, newer);
}

Result<TreeDiff> diff_trees(CommittedState& state, const CommittedTree& older, const CommittedTree& newer) {
  TreeDiff diff{.from = *older.snapshot(), .to = newer.snapshot(), .changes = {}};
  DEDUPFS_ASSIGN(diff.changes, Difference(older, newer).find());
  diff.records_read = state.records_read;
  return diff;
}

}  // namespace dedupfs
