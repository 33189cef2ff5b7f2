#include "fs/trees/changed_records.h"

#include <optional>
#include <string_view>

#include "fs/format/recipe_format.h"

namespace dedupfs {
namespace {

using Value = std::optional<std::string>;

Result<Dirent> dirent_of(InodeNumber parent, const Value& value) {
  if (!value) return Dirent{};
  return decode_dirent(parent, *value);
}

}  // namespace

Result<void> visit_changes(const CommittedTree& older, const CommittedTree& newer, const ChangeVisitor& visitor) {
  using Key = std::string_view;
  DEDUPFS_TRY(older.walk_changes(newer, Family::kInodes, [&](Key key, const Value&, const Value&) -> Result<void> {
    DEDUPFS_ASSIGN(const InodeNumber inode, decode_inode_key(key));
    visitor.visit_inode(inode);
    return {};
  }));
  DEDUPFS_TRY(older.walk_changes(
      newer, Family::kDirents, [&](Key key, const Value& before, const Value& after) -> Result<void> {
        DEDUPFS_ASSIGN(const DirentKey place, decode_dirent_key(key));
        ChangedDirent changed{.parent = place.parent, .name = std::string(place.name), .before = {}, .after = {}};
        DEDUPFS_ASSIGN(changed.before, dirent_of(place.parent, before));
        DEDUPFS_ASSIGN(changed.after, dirent_of(place.parent, after));
        if (changed.before.inode != changed.after.inode) visitor.visit_dirent(changed);
        return {};
      }));
  DEDUPFS_TRY(older.walk_changes(newer, Family::kXattrs, [&](Key key, const Value&, const Value&) -> Result<void> {
    DEDUPFS_ASSIGN(const XattrKey place, decode_xattr_key(key));
    visitor.visit_xattr(place.inode);
    return {};
  }));
  return older.walk_changes(newer, Family::kRecipes, [&](Key key, const Value&, const Value&) -> Result<void> {
    DEDUPFS_ASSIGN(const RecipeKey place, decode_recipe_key(key));
    visitor.visit_recipe(place.inode);
    return {};
  });
}

}  // namespace dedupfs
