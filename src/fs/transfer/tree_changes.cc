#include "fs/transfer/tree_changes.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "fs/format/mode.h"
#include "fs/trees/named_inode.h"

namespace dedupfs::transfer {
namespace {

Record made(InodeNumber parent, const std::string& name, InodeNumber inode, const InodeRecord& record) {
  return MadeInode{.parent = parent,
                   .name = name,
                   .inode = inode,
                   .mode = record.attributes.mode,
                   .device = record.attributes.device,
                   .target = record.symlink_target};
}

}  // namespace

// ---------------------------------------------------------------- WholeTree

Result<void> WholeTree::visit_names(const VisitName& visit) {
  inodes_ = {kRootInode};
  directories_ = {kRootInode};
  while (!directories_.empty()) {
    const InodeNumber directory = directories_.back();
    directories_.pop_back();
    DEDUPFS_TRY(visit_directory(directory, visit));
  }
  std::ranges::sort(inodes_);
  return {};
}

Result<void> WholeTree::visit_directory(InodeNumber directory, const VisitName& visit) {
  return tree_.walk(
      Family::kCookies, encode_inode_key(directory), encode_key_behind(directory),
      [&](std::string_view, std::string_view value) -> Result<bool> {
        DEDUPFS_ASSIGN(const CookieEntry entry, decode_cookie_entry(directory, value));
        DEDUPFS_ASSIGN(const auto record, named_inode(tree_, entry.inode));
        const std::string& name = entry.name;
        if (!record)
          return corruption(
              fmt::format("'{}' in directory {} leads to no inode: unmount and run fsck.dedupfs -y", name, directory));
        const bool has_more_names = !is_directory(record->attributes.mode) && record->attributes.links > 1;
        if (has_more_names && !linked_.insert(entry.inode).second) {
          DEDUPFS_TRY(visit(PlacedName{directory, name, entry.inode}));
          return true;
        }
        if (is_directory(record->attributes.mode)) {
          if (record->attributes.parent != directory)
            return corruption(
                fmt::format("directory {} is in the tree twice: unmount and run fsck.dedupfs -y", entry.inode));
          directories_.push_back(entry.inode);
        }
        inodes_.push_back(entry.inode);
        DEDUPFS_TRY(visit(made(directory, name, entry.inode, *record)));
        return true;
      });
}

std::vector<InodeNumber> WholeTree::take_inodes() {
  return std::move(inodes_);
}

// ---------------------------------------------------------------- TreeChanges

Result<void> TreeChanges::collect() {
  const auto note = [this](InodeNumber inode) { inodes_.insert(inode); };
  DEDUPFS_TRY(visit_changes(older_, newer_,
                            {.visit_inode = note,
                             .visit_dirent = [this](const ChangedDirent& changed) { note_dirent(changed); },
                             .visit_xattr = note,
                             .visit_recipe = note}));
  note(kRootInode);
  for (std::size_t i = 0; i < changes_.size(); ++i) {
    if (changes_[i].after == 0) continue;
    DEDUPFS_ASSIGN(const bool makes, is_new(changes_[i].after));
    if (makes) makers_.try_emplace(changes_[i].after, i);
  }
  return {};
}

void TreeChanges::note_dirent(const ChangedDirent& changed) {
  const Dirent& before = changed.before;
  const Dirent& after = changed.after;
  changes_.push_back({.parent = changed.parent, .name = changed.name, .before = before.inode, .after = after.inode});
  if (before.type == S_IFREG && after.type == S_IFREG) predecessors_.try_emplace(after.inode, before.inode);
  // The receiver changes the times of all of them.
  for (const InodeNumber inode : {changed.parent, before.inode, after.inode})
    if (inode != 0) inodes_.insert(inode);
}

Result<bool> TreeChanges::is_new(InodeNumber inode) const {
  DEDUPFS_ASSIGN(const auto before, named_inode(older_, inode));
  return !before.has_value();
}

Result<void> TreeChanges::visit_names(const VisitName& visit) {
  for (const Change& change : changes_) {
    if (change.before == 0) continue;
    DEDUPFS_ASSIGN(const auto stays, named_inode(newer_, change.before));
    DEDUPFS_TRY(visit(RemovedName{change.parent, change.name, change.before, stays.has_value()}));
  }
  for (Change& change : changes_)
    if (change.after != 0) DEDUPFS_TRY(make(change, visit));
  return {};
}

// New directories above it come first.
Result<void> TreeChanges::make(Change& change, const VisitName& visit) {
  std::vector<Change*> chain;
  for (Change* next = &change; next != nullptr && !next->is_made;) {
    next->is_made = true;
    chain.push_back(next);
    const auto maker = makers_.find(next->parent);
    next = maker == makers_.end() ? nullptr : &changes_[maker->second];
  }
  for (; !chain.empty(); chain.pop_back()) {
    const Change* const next = chain.back();
    const auto maker = makers_.find(next->after);
    if (maker == makers_.end() || &changes_[maker->second] != next) {
      // The name of a new file that is not the first one of it: that one comes before.
      if (maker != makers_.end() && !changes_[maker->second].is_made) DEDUPFS_TRY(make(changes_[maker->second], visit));
      DEDUPFS_TRY(visit(PlacedName{next->parent, next->name, next->after}));
      continue;
    }
    DEDUPFS_ASSIGN(const auto record, named_inode(newer_, next->after));
    if (!record)
      return corruption(fmt::format("'{}' in directory {} leads to no inode: unmount and run fsck.dedupfs -y",
                                    next->name, next->parent));
    DEDUPFS_TRY(visit(made(next->parent, next->name, next->after, *record)));
  }
  return {};
}

InodeNumber TreeChanges::predecessor_of(InodeNumber inode) const {
  const auto found = predecessors_.find(inode);
  return found == predecessors_.end() ? 0 : found->second;
}

std::optional<Link> TreeChanges::maker_of(InodeNumber inode) const {
  const auto maker = makers_.find(inode);
  if (maker == makers_.end()) return std::nullopt;
  const Change& change = changes_[maker->second];
  return Link{.parent = change.parent, .name = change.name};
}

}  // namespace dedupfs::transfer
