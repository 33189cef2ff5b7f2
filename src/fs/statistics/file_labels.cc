#include "fs/statistics/file_labels.h"

#include <fmt/format.h>
#include <sys/stat.h>

#include <memory>

namespace dedupfs {

Result<void> FileLabels::add_tree(InodeNumber directory, Label group) {
  const std::uint64_t max_bytes = ChunkSet::kMinLimit;
  auto found = std::make_unique<ChunkSet>(max_bytes);
  found->insert(ChunkId{directory});
  while (!found->empty()) {
    auto deeper = std::make_unique<ChunkSet>(max_bytes);
    DEDUPFS_TRY(found->for_each([&](ChunkId number) -> Result<void> {
      const InodeNumber inode = number_of(number);
      const Label before = directories_.get(inode);
      if (before == group) return {};
      if (before != kNeededByNobody)
        return Error{ErrorCode::kInvalidArgument, "one of the folders lies in another: name only one of them"};
      directories_.set(inode, group);
      return view_.walk_names_in(inode, [&](std::string_view, const Dirent& dirent) -> Result<void> {
        if (dirent.type == S_IFDIR) deeper->insert(ChunkId{dirent.inode});
        return {};
      });
    }));
    DEDUPFS_TRY(deeper->require_complete());
    found = std::move(deeper);
  }
  return directories_.require_complete();
}

void FileLabels::add_name(InodeNumber file, InodeNumber parent, Label group) {
  Name& name = names_[{file, parent}];
  name.group = group;
  ++name.missing;
}

Result<void> FileLabels::label_files() {
  DEDUPFS_TRY(view_.walk_names([&](const DirentKey& key, const Dirent& dirent) -> Result<void> {
    if (dirent.type == S_IFDIR) return {};
    Label label = directories_.get(key.parent);
    if (const auto name = names_.find({dirent.inode, key.parent}); name != names_.end() && name->second.missing != 0) {
      --name->second.missing;
      if (label == kNeededByNobody) label = name->second.group;
    }
    files_.join(dirent.inode, label == kNeededByNobody ? kOthers : label);
    return {};
  }));
  for (const auto& [place, name] : names_)
    if (name.missing != 0)
      return Error{ErrorCode::kNotFound, fmt::format("inode {} does not have that name any more", place.first)};
  return files_.require_complete();
}

Result<void> FileLabels::add_users(std::span<const Label> groups, std::span<ChunkSet* const> users) const {
  DEDUPFS_TRY(view_.walk_names([&](const DirentKey& key, const Dirent& dirent) -> Result<void> {
    if (dirent.type == S_IFDIR) return {};
    Label label = directories_.get(key.parent);
    if (const auto name = names_.find({dirent.inode, key.parent}); label == kNeededByNobody && name != names_.end())
      label = name->second.group;
    if (label < kFirstGroup) return {};
    const Label owner = of(dirent.inode);
    for (std::size_t i = 0; i < groups.size(); ++i)
      if (groups_.is_in(label, groups[i]) && !groups_.is_in(owner, groups[i])) users[i]->insert(ChunkId{dirent.inode});
    return {};
  }));
  for (const ChunkSet* const set : users) DEDUPFS_TRY(set->require_complete());
  return {};
}

}  // namespace dedupfs
