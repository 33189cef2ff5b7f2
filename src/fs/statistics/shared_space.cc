#include "fs/statistics/shared_space.h"

#include <fmt/format.h>
#include <sys/stat.h>

#include <algorithm>
#include <utility>

#include "fs/format/mode.h"
#include "store/chunks/chunk_set.h"

namespace dedupfs {
namespace {

Error no_snapshot(const std::string& name) {
  return {ErrorCode::kNotFound, fmt::format("there is no snapshot '{}'", name)};
}

Result<bool> is_directory_inode(const CommittedView& view, InodeNumber inode) {
  DEDUPFS_ASSIGN(const InodeRecord record, view.get_inode(inode));
  return type_bits(record.attributes.mode) == S_IFDIR;
}

// The set is the only group.
class Deletion {
 public:
  Deletion(const CommittedView& view, std::uint64_t max_bytes) : view_(view), max_bytes_(max_bytes) {}

  Result<Share> compute(const DeletedSet& deleted) {
    DEDUPFS_ASSIGN(set_, sharers_.groups.add());
    sharers_.files.emplace(view_, sharers_.groups, max_bytes_);
    sharers_.snapshots.assign(view_.snapshots().size(), kOthers);
    for (const std::string& name : deleted.snapshots) {
      const auto found = std::ranges::find(view_.snapshots(), name, &SnapshotRecord::name);
      if (found == view_.snapshots().end()) return no_snapshot(name);
      add_snapshot(found);
    }
    for (const DeletedSet::Name& name : deleted.names) DEDUPFS_TRY(add(name));
    expect_walks(view_, sharers_);
    DEDUPFS_TRY(sharers_.files->label_files());
    DEDUPFS_ASSIGN(const auto shares, count_shares(view_, sharers_, max_bytes_));
    return shares.front();
  }

 private:
  void add_snapshot(std::vector<SnapshotRecord>::const_iterator snapshot) {
    sharers_.snapshots[static_cast<std::size_t>(snapshot - view_.snapshots().begin())] = set_;
  }

  Result<void> add(const DeletedSet::Name& name) {
    if (tree_of(name.inode) != kLiveTree || name.inode == kSnapshotsInode) {
      const auto found = std::ranges::find(view_.snapshots(), tree_of(name.inode), &SnapshotRecord::number);
      if (inode_of(name.inode) != kRootInode)
        return Error{ErrorCode::kInvalidArgument, "a snapshot can only be deleted as a whole: name its folder"};
      if (found == view_.snapshots().end()) return no_snapshot(std::to_string(tree_of(name.inode)));
      add_snapshot(found);
      return {};
    }
    DEDUPFS_ASSIGN(const bool is_tree, is_directory_inode(view_, name.inode));
    if (is_tree) return sharers_.files->add_tree(name.inode, set_);
    sharers_.files->add_name(name.inode, name.parent, set_);
    return {};
  }

  const CommittedView& view_;
  const std::uint64_t max_bytes_;
  Label set_ = kNeededByNobody;
  Sharers sharers_;
};

}  // namespace

Result<Share> compute_deletion(Volume& volume, const DeletedSet& deleted, GoOn go_on, JobMeter* meter) {
  DEDUPFS_ASSIGN(const CommittedView view, CommittedView::open(volume, std::move(go_on), meter));
  return Deletion(view, ChunkSet::limit_for(volume.database())).compute(deleted);
}

Result<std::vector<std::optional<Share>>> compute_tree_shares(Volume& volume,
                                                              const std::vector<InodeNumber>& directories, GoOn go_on,
                                                              JobMeter* meter) {
  DEDUPFS_ASSIGN(const CommittedView view, CommittedView::open(volume, std::move(go_on), meter));
  Sharers sharers;
  std::vector<std::pair<std::size_t, Label>> trees;  // by their positions
  for (std::size_t i = 0; i < directories.size(); ++i) {
    const auto is_tree = is_directory_inode(view, directories[i]);
    if (!is_tree && is_tree.error().code() == ErrorCode::kNotFound) continue;
    DEDUPFS_TRY(is_tree);
    if (!*is_tree) continue;
    DEDUPFS_ASSIGN(const Label group, sharers.groups.add());
    trees.emplace_back(i, group);
  }
  std::vector<std::optional<Share>> answer(directories.size());
  if (trees.empty()) return answer;
  const std::uint64_t max_bytes = ChunkSet::limit_for(volume.database());
  FileLabels& files = sharers.files.emplace(view, sharers.groups, max_bytes);
  expect_walks(view, sharers);
  for (const auto& [i, group] : trees) DEDUPFS_TRY(files.add_tree(directories[i], group));
  DEDUPFS_TRY(files.label_files());
  sharers.snapshots.assign(view.snapshots().size(), kOthers);
  DEDUPFS_ASSIGN(const auto shares, count_shares(view, sharers, max_bytes));
  for (const auto& [i, group] : trees) answer[i] = shares[group - kFirstGroup];
  return answer;
}

Result<std::vector<std::vector<FolderShare>>> compute_folder_shares(Volume& volume,
                                                                    const std::vector<InodeNumber>& directories,
                                                                    GoOn go_on, JobMeter* meter) {
  DEDUPFS_ASSIGN(const CommittedView view, CommittedView::open(volume, std::move(go_on), meter));
  struct Folder {
    std::string name;
    InodeNumber inode = 0;
    Label group = kNeededByNobody;
  };
  Sharers sharers;
  std::vector<std::vector<Folder>> found;
  for (const InodeNumber directory : directories) {
    if (tree_of(directory) != kLiveTree || directory == kSnapshotsInode)
      return Error{ErrorCode::kInvalidArgument, "it is in a snapshot: dedupfs-snapshot list shows what snapshots take"};
    DEDUPFS_ASSIGN(const bool is_tree, is_directory_inode(view, directory));
    if (!is_tree) return Error{ErrorCode::kInvalidArgument, fmt::format("inode {} is no directory", directory)};
    DEDUPFS_ASSIGN(const Label whole, sharers.groups.add());
    std::vector<Folder>& folders = found.emplace_back();
    folders.push_back({{}, directory, whole});
    DEDUPFS_TRY(view.walk_names_in(directory, [&](std::string_view name, const Dirent& dirent) -> Result<void> {
      if (dirent.type != S_IFDIR) return {};
      DEDUPFS_ASSIGN(const Label group, sharers.groups.add(whole));
      folders.push_back({std::string(name), dirent.inode, group});
      return {};
    }));
  }
  const std::uint64_t max_bytes = ChunkSet::limit_for(volume.database());
  FileLabels& files = sharers.files.emplace(view, sharers.groups, max_bytes);
  expect_walks(view, sharers);
  for (const auto& folders : found) {
    if (files.of_directory(folders.front().inode) != kNeededByNobody)
      return Error{ErrorCode::kInvalidArgument, "one of the folders lies in another: name only one of them"};
    files.add_directory(folders.front().inode, folders.front().group);
    for (std::size_t i = 1; i < folders.size(); ++i) DEDUPFS_TRY(files.add_tree(folders[i].inode, folders[i].group));
  }
  DEDUPFS_TRY(files.label_files());
  sharers.snapshots.assign(view.snapshots().size(), kOthers);
  DEDUPFS_ASSIGN(const auto shares, count_shares(view, sharers, max_bytes));

  std::vector<std::vector<FolderShare>> answer;
  for (const auto& folders : found) {
    auto& rows = answer.emplace_back();
    for (const Folder& folder : folders) rows.push_back({folder.name, shares[folder.group - kFirstGroup]});
  }
  return answer;
}

Result<std::vector<SnapshotShare>> compute_snapshot_shares(Volume& volume, GoOn go_on, JobMeter* meter) {
  DEDUPFS_ASSIGN(const CommittedView view, CommittedView::open(volume, std::move(go_on), meter));
  Sharers sharers;
  for (std::size_t i = 0; i < view.snapshots().size(); ++i) {
    DEDUPFS_ASSIGN(const Label group, sharers.groups.add());
    sharers.snapshots.push_back(group);
  }
  expect_walks(view, sharers);
  DEDUPFS_ASSIGN(const auto shares, count_shares(view, sharers, ChunkSet::limit_for(volume.database())));
  std::vector<SnapshotShare> answer;
  for (std::size_t i = 0; i < shares.size(); ++i) answer.push_back({view.snapshots()[i].number, shares[i]});
  return answer;
}

}  // namespace dedupfs
