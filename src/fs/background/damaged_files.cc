#include "fs/background/damaged_files.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <map>
#include <memory>
#include <unordered_set>
#include <utility>

#include "fs/format/recipe_format.h"
#include "fs/format/records.h"
#include "fs/trees/committed_tree.h"
#include "fs/trees/inode_paths.h"
#include "store/chunks/chunk_index.h"
#include "store/chunks/damaged_chunks.h"
#include "store/metadata/before_images.h"

namespace dedupfs {
namespace {

class DamagedFiles {
 public:
  DamagedFiles(const Database& database, std::size_t most, GoOn go_on)
      : state_(std::make_shared<CommittedState>(database, std::move(go_on))), most_(most) {}

  Result<DamagedFileNames> name() {
    DEDUPFS_TRY(find_chunks());
    if (chunks_.empty()) return DamagedFileNames();
    const CommittedTree live = CommittedTree::live(state_);
    Kept kept;
    DEDUPFS_TRY(live.walk(Family::kRecipes, encode_inode_key(kRootInode), encode_inode_key(kEndOfInodes),
                          [&](std::string_view key, std::string_view segment) -> Result<bool> {
                            DEDUPFS_ASSIGN(const bool needs, needs_damaged(segment));
                            if (needs) keep(kept, node_in_key(key));
                            return true;
                          }));
    DEDUPFS_TRY(add_names(live, kept, "/"));
    DEDUPFS_TRY(add_names_in_snapshots());
    return std::move(found_);
  }

 private:
  // Files of one tree to be named. Their segments follow each other.
  struct Kept {
    std::vector<InodeNumber> inodes;
    InodeNumber last = 0;
  };

  void keep(Kept& kept, InodeNumber inode) {
    if (std::exchange(kept.last, inode) == inode) return;
    if (kept_ == most_) {
      ++found_.more;
    } else {
      kept.inodes.push_back(inode);
      ++kept_;
    }
  }

  // With the deltas that are made from them, directly or not.
  Result<void> find_chunks() {
    DEDUPFS_ASSIGN(const auto stored, state_->database.get(Family::kCounters, kDamagedChunksCounter));
    if (!stored) return {};
    DamagedChunks damaged;
    DEDUPFS_TRY(damaged.load(*stored));
    for (const std::uint64_t number : damaged.numbers()) chunks_.insert(number);
    for (std::size_t before = 0; before != chunks_.size();) {
      before = chunks_.size();
      DEDUPFS_TRY(add_deltas());
    }
    return {};
  }

  Result<void> add_deltas() {
    return walk_extents(state_->database, *state_->view, [this](const ChunkExtent& extent) -> Result<void> {
      DEDUPFS_TRY(state_->note_read());
      for (std::size_t i = 0; i < extent.chunks.size(); ++i)
        if (std::ranges::any_of(extent.chunks[i].sources, [&](ChunkId id) { return chunks_.contains(number_of(id)); }))
          chunks_.insert(number_of(extent.id_of(i)));
      return {};
    });
  }

  // False ends it.
  template <class Visit>
  Result<void> walk(Family family, std::string_view from, const Visit& visit) const {
    Result<void> result;
    DEDUPFS_TRY(
        state_->database.walk_from(*state_->view, family, from, [&](std::string_view key, std::string_view value) {
          const Result<void> noted = state_->note_read();
          const Result<bool> goes_on = noted ? visit(key, value) : Result<bool>(noted.error());
          if (!goes_on) result = goes_on.error();
          return goes_on && *goes_on;
        }));
    return result;
  }

  Result<bool> needs_damaged(std::string_view segment) const {
    DEDUPFS_ASSIGN(const auto entries, decode_segment(segment));
    return std::ranges::any_of(entries, [&](const RecipeEntry& entry) {
      return entry.kind == RecipeEntry::Kind::kChunk && chunks_.contains(number_of(entry.chunk));
    });
  }

  // What only snapshots have is in before-images. The newest snapshot up to its number sees an image, unless one with a lesser number
  // is behind that snapshot, too.
  Result<void> add_names_in_snapshots() {
    std::map<TreeNumber, SnapshotRecord> snapshots;
    DEDUPFS_TRY(walk(Family::kSnapshots, {}, [&](std::string_view key, std::string_view value) -> Result<bool> {
      DEDUPFS_ASSIGN(const TreeNumber number, decode_snapshot_key(key));
      DEDUPFS_ASSIGN(SnapshotRecord record, decode_snapshot(number, value));
      if (!record.is_deleted) snapshots.emplace(number, std::move(record));
      return true;
    }));
    std::map<TreeNumber, Kept> kept;
    BeforeImageKey before;
    const auto add = [&](std::string_view key, std::string_view value) -> Result<bool> {
      DEDUPFS_ASSIGN(const BeforeImageKey image, decode_before_image_key(key));
      if (image.family != Family::kRecipes) return false;
      const BeforeImageKey lesser = std::exchange(before, image);
      const auto behind = snapshots.upper_bound(image.number);
      if (behind == snapshots.begin()) return true;
      const TreeNumber seen_by = std::prev(behind)->first;
      if (lesser.key == image.key && lesser.number >= seen_by) return true;
      DEDUPFS_ASSIGN(const auto segment, decode_before_image(value));
      if (!segment) return true;
      DEDUPFS_ASSIGN(const bool needs, needs_damaged(*segment));
      if (needs) keep(kept[seen_by], node_in_key(image.key));
      return true;
    };
    DEDUPFS_TRY(walk(Family::kBeforeImages, first_before_image_key(Family::kRecipes), add));
    for (const auto& [number, files] : kept) {
      const SnapshotRecord& record = snapshots.at(number);
      DEDUPFS_TRY(add_names(CommittedTree::of_snapshot(state_, record), files,
                            fmt::format("/{}/{}/", kSnapshotsName, record.name)));
    }
    return {};
  }

  Result<void> add_names(const CommittedTree& tree, const Kept& kept, const std::string& root) {
    InodePaths paths(tree);
    for (const InodeNumber inode : kept.inodes) paths.want(inode);
    DEDUPFS_TRY(paths.find());
    for (const InodeNumber inode : kept.inodes) found_.names.push_back(root + paths.path_of(inode));
    return {};
  }

  const std::shared_ptr<CommittedState> state_;
  const std::size_t most_;
  std::unordered_set<std::uint64_t> chunks_;
  std::size_t kept_ = 0;  // of all trees
  DamagedFileNames found_;
};

}  // namespace

Result<DamagedFileNames> name_damaged_files(const Database& database, std::size_t most, GoOn go_on) {
  return DamagedFiles(database, most, std::move(go_on)).name();
}

}  // namespace dedupfs
