#include "fs/file_statistics.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>
#include <utility>

#include "fs/committed_view.h"
#include "fs/mode.h"
#include "store/before_images.h"
#include "store/chunk_reader.h"
#include "store/chunk_set.h"
#include "store/entries.h"
#include "store/restore_estimate.h"
#include "store/run_finder.h"

namespace dedupfs {
namespace {

Error not_in_index(ChunkId id) {
  return {ErrorCode::kCorruption, fmt::format("chunk {} is not in the index; fsck.dedupfs says more", number_of(id))};
}

Error no_inode(InodeNumber inode) {
  return {ErrorCode::kNotFound, fmt::format("there is no inode {}", inode)};
}

using Chunks = std::vector<ChunkId>;

// Of a sorted list: behind the references to one chunk.
Chunks::const_iterator end_of_same(Chunks::const_iterator chunk, Chunks::const_iterator end) {
  return std::find_if(chunk, end, [id = *chunk](ChunkId other) { return other != id; });
}

// Which chunks files refer to.
class References {
 public:
  // All those of one more file; leaves them sorted.
  void add_file(Chunks& chunks) {
    std::ranges::sort(chunks);
    for (auto chunk = chunks.cbegin(); chunk != chunks.cend(); chunk = end_of_same(chunk, chunks.cend()))
      if (!of_a_file_.insert(*chunk)) of_several_files_.insert(*chunk);
  }
  bool is_of_a_file(ChunkId id) const { return of_a_file_.contains(id); }
  bool is_of_several_files(ChunkId id) const { return of_several_files_.contains(id); }

 private:
  ChunkSet of_a_file_;
  ChunkSet of_several_files_;
};

class FileCounting {
 public:
  FileCounting(Volume& volume, const CommittedView& view)
      : database_(volume.database()), snapshots_(volume.snapshots()), view_(view), runs_(volume.database()) {}

  Result<std::vector<FileStatistics>> run(const std::vector<InodeNumber>& inodes) {
    for (const InodeNumber inode : inodes) DEDUPFS_TRY(add_file(inode));
    DEDUPFS_TRY(view_.walk_recipes([this](InodeNumber inode, const auto& segment) { add_segment(inode, segment); }));
    end_file();
    DEDUPFS_TRY(add_files_of_snapshots());
    for (auto& [inode, file] : files_) {
      DEDUPFS_TRY(count_chunks(inode, file));
      DEDUPFS_TRY(estimate_restore(file));
    }

    std::vector<FileStatistics> statistics;
    statistics.reserve(inodes.size());
    for (const InodeNumber inode : inodes) statistics.push_back(files_[inode].statistics);
    return statistics;
  }

 private:
  struct File {
    FileStatistics statistics;
    Chunks order;   // a reference each
    Chunks chunks;  // the same, sorted
  };

  Result<void> add_file(InodeNumber inode) {
    DEDUPFS_ASSIGN(const auto value, find_record(inode));
    if (!value) return no_inode(inode);
    DEDUPFS_ASSIGN(const InodeRecord record, decode_inode(inode, *value));
    const Attributes& attributes = record.attributes;
    if (!is_regular(attributes.mode))
      return Error{ErrorCode::kInvalidArgument, fmt::format("inode {} is no regular file", inode)};
    FileStatistics& statistics = files_[inode].statistics;
    statistics.logical_bytes = attributes.size;
    statistics.hole_bytes = attributes.size - std::min(attributes.data_bytes, attributes.size);
    return {};
  }

  // Not of an orphan.
  Result<std::optional<std::string>> find_record(InodeNumber inode) {
    const std::string key = encode_inode_key(inode_of(inode));
    if (tree_of(inode) == kLiveTree) {
      if (view_.is_orphan(inode)) return std::nullopt;
      return database_.get(Family::kInodes, key);
    }
    const auto snapshot = snapshots_.find(tree_of(inode));
    if (!snapshot) return std::nullopt;
    const SnapshotView then(database_, *snapshot);
    DEDUPFS_ASSIGN(const auto orphan, then.get(Family::kOrphans, key));
    if (orphan) return std::nullopt;
    return then.get(Family::kInodes, key);
  }

  void add_segment(InodeNumber inode, const std::vector<RecipeEntry>& entries) {
    if (inode != current_inode_) end_file();
    current_inode_ = inode;
    const auto file = files_.find(inode);
    for (const RecipeEntry& entry : entries) {
      if (entry.kind == RecipeEntry::Kind::kChunk) current_chunks_.push_back(entry.chunk);
      if (entry.kind == RecipeEntry::Kind::kInline && file != files_.end())
        file->second.statistics.inline_bytes += entry.length;
    }
  }

  // All of the current file is known.
  void end_file() {
    const auto file = files_.find(current_inode_);
    if (file != files_.end()) file->second.order = current_chunks_;
    live_.add_file(current_chunks_);
    if (file != files_.end()) file->second.chunks = std::exchange(current_chunks_, {});
    current_chunks_.clear();
  }

  Result<void> add_files_of_snapshots() {
    const auto first = files_.lower_bound(node_of(kLiveTree + 1, 0));
    for (auto file = first; file != files_.end(); ++file) DEDUPFS_TRY(read_recipe(file->first, file->second));
    return first == files_.end() ? Result<void>() : add_old_references();
  }

  // As its snapshot has it.
  Result<void> read_recipe(InodeNumber inode, File& file) {
    const auto snapshot = snapshots_.find(tree_of(inode));
    if (!snapshot) return no_inode(inode);
    const SnapshotView then(database_, *snapshot);
    DEDUPFS_TRY(visit_entries(
        then, Family::kRecipes, encode_recipe_key(inode_of(inode), 0), encode_key_behind(inode_of(inode)),
        kSegmentsOfAPage, [&](const std::string&, const std::string& value) { return add_old_segment(value, file); }));
    if (!snapshots_.find(tree_of(inode))) return no_inode(inode);  // parts of it may have gone before they were read
    file.chunks = file.order;
    std::ranges::sort(file.chunks);
    return {};
  }

  Result<void> add_old_segment(std::string_view value, File& file) {
    DEDUPFS_ASSIGN(const auto entries, decode_segment(value));
    for (const RecipeEntry& entry : entries) {
      if (entry.kind == RecipeEntry::Kind::kInline) file.statistics.inline_bytes += entry.length;
      if (entry.kind != RecipeEntry::Kind::kChunk) continue;
      if (!view_.was_given_away(entry.chunk)) return not_in_index(entry.chunk);
      file.order.push_back(entry.chunk);
    }
    return {};
  }

  // What a file was at several snapshots counts as one file.
  Result<void> add_old_references() {
    InodeNumber current = 0;
    Chunks chunks;
    const auto end_old_file = [&] {
      old_.add_file(chunks);
      chunks.clear();
    };
    DEDUPFS_TRY(view_.walk_old_recipes([&](InodeNumber inode, const std::vector<RecipeEntry>& entries) {
      if (inode != current) end_old_file();
      current = inode;
      for (const RecipeEntry& entry : entries)
        if (entry.kind == RecipeEntry::Kind::kChunk) chunks.push_back(entry.chunk);
    }));
    end_old_file();
    return {};
  }

  // Whether no other file refers to a chunk of this one.
  bool is_own(InodeNumber inode, ChunkId id) const {
    if (tree_of(inode) == kLiveTree) return !live_.is_of_several_files(id);
    return !live_.is_of_a_file(id) && !old_.is_of_several_files(id);
  }

  Result<void> count_chunks(InodeNumber inode, File& file) {
    FileStatistics& statistics = file.statistics;
    statistics.chunks = file.chunks.size();
    Reach reach;
    for (auto chunk = file.chunks.cbegin(); chunk != file.chunks.end();) {
      const auto next = end_of_same(chunk, file.chunks.end());
      DEDUPFS_TRY(count_chunk(*chunk, is_own(inode, *chunk), /*is_repeated=*/next - chunk > 1, statistics));
      reach.seen.insert(*chunk);
      chunk = next;
    }
    DEDUPFS_TRY(follow_deltas(file.chunks, reach));
    statistics.base_chunks = reach.bases;
    statistics.containers = reach.containers.size();
    return {};
  }

  Result<void> count_chunk(ChunkId id, bool is_own, bool is_repeated, FileStatistics& statistics) {
    DEDUPFS_ASSIGN(const ChunkRun* const run, find_run(id));
    const ChunkRun::Chunk& chunk = run->at(id);
    const std::uint64_t disk_bytes = run->disk_bytes_of(chunk.payload_length());
    ++statistics.unique_chunks;
    if (!is_own || is_repeated) ++statistics.shared_chunks;
    if (chunk.is_delta()) ++statistics.delta_chunks;
    statistics.unique_bytes += chunk.raw_length;
    statistics.stored_bytes += disk_bytes;
    if (is_own) statistics.own_bytes += disk_bytes;
    return {};
  }

  // What reading some chunks leads to.
  struct Reach {
    ChunkSet seen;
    std::uint64_t bases = 0;  // beside the chunks themselves
    std::set<std::uint32_t> containers;
  };

  // `chunks`, sorted, have been seen.
  Result<void> follow_deltas(Chunks chunks, Reach& reach) {
    while (!chunks.empty()) {
      Chunks sources;
      for (const ChunkId id : chunks) {
        DEDUPFS_ASSIGN(const ChunkRun* const run, find_run(id));
        reach.containers.insert(run->place.container);
        for (const ChunkId source : run->at(id).sources) {
          if (!view_.was_given_away(source)) return not_in_index(source);
          if (reach.seen.insert(source)) sources.push_back(source);
        }
      }
      reach.bases += sources.size();
      std::ranges::sort(sources);
      chunks = std::move(sources);
    }
    return {};
  }

  // What count_chunks() found to be there.
  Result<void> estimate_restore(File& file) {
    RestoreEstimate estimate;
    for (const ChunkId id : file.order) DEDUPFS_TRY(estimate_chunk(id, estimate));
    FileStatistics& statistics = file.statistics;
    statistics.regions_read = estimate.regions_read();
    statistics.jumps = estimate.jumps();
    statistics.read_bytes = estimate.read_bytes();
    statistics.hard_disk_seconds = estimate.seconds(kHardDisk);
    statistics.ssd_seconds = estimate.seconds(kSsd);
    return {};
  }

  Result<void> estimate_chunk(ChunkId chunk, RestoreEstimate& estimate) {
    Chunks wanted{chunk};  // the next one last
    for (std::size_t left = ChunkReader::kMostChunksOfARead; !wanted.empty() && left != 0; --left) {
      const ChunkId id = wanted.back();
      wanted.pop_back();
      DEDUPFS_ASSIGN(const ChunkRun* const run, find_run(id));
      if (!estimate.read(*run, id)) continue;
      const Chunks& sources = run->at(id).sources;
      wanted.insert(wanted.end(), sources.rbegin(), sources.rend());
    }
    return {};
  }

  Result<const ChunkRun*> find_run(ChunkId id) {
    DEDUPFS_ASSIGN(const ChunkRun* const run, runs_.find(id));
    if (run == nullptr) return not_in_index(id);
    return run;
  }

  const Database& database_;
  const SnapshotList& snapshots_;
  const CommittedView& view_;
  std::map<InodeNumber, File> files_;  // those asked for
  InodeNumber current_inode_ = 0;
  Chunks current_chunks_;
  References live_;
  References old_;  // of what only snapshots have
  RunFinder runs_;
};

}  // namespace

Result<std::vector<FileStatistics>> compute_file_statistics(Volume& volume, const std::vector<InodeNumber>& files) {
  DEDUPFS_ASSIGN(const CommittedView view, CommittedView::open(volume));
  return FileCounting(volume, view).run(files);
}

}  // namespace dedupfs
