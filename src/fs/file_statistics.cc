#include "fs/file_statistics.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>
#include <utility>

#include "fs/committed_view.h"
#include "fs/mode.h"
#include "store/chunk_reader.h"
#include "store/chunk_set.h"
#include "store/restore_estimate.h"
#include "store/run_finder.h"

namespace dedupfs {
namespace {

Error not_in_index(ChunkId id) {
  return {ErrorCode::kCorruption, fmt::format("chunk {} is not in the index; fsck.dedupfs says more", number_of(id))};
}

using Chunks = std::vector<ChunkId>;

// Of a sorted list: behind the references to one chunk.
Chunks::const_iterator end_of_same(Chunks::const_iterator chunk, Chunks::const_iterator end) {
  return std::find_if(chunk, end, [id = *chunk](ChunkId other) { return other != id; });
}

class FileCounting {
 public:
  FileCounting(Volume& volume, const CommittedView& view)
      : database_(volume.database()), view_(view), runs_(volume.database()) {}

  Result<std::vector<FileStatistics>> run(const std::vector<InodeNumber>& inodes) {
    for (const InodeNumber inode : inodes) DEDUPFS_TRY(add_file(inode));
    DEDUPFS_TRY(view_.walk_recipes([this](InodeNumber inode, const auto& segment) { add_segment(inode, segment); }));
    end_file();
    for (auto& [inode, file] : files_) {
      DEDUPFS_TRY(count_chunks(file));
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
    DEDUPFS_ASSIGN(const auto value, database_.get(Family::kInodes, encode_inode_key(inode)));
    if (!value || view_.is_orphan(inode))
      return Error{ErrorCode::kNotFound, fmt::format("there is no inode {}", inode)};
    DEDUPFS_ASSIGN(const InodeRecord record, decode_inode(inode, *value));
    const Attributes& attributes = record.attributes;
    if (!is_regular(attributes.mode))
      return Error{ErrorCode::kInvalidArgument, fmt::format("inode {} is no regular file", inode)};
    FileStatistics& statistics = files_[inode].statistics;
    statistics.logical_bytes = attributes.size;
    statistics.hole_bytes = attributes.size - std::min(attributes.data_bytes, attributes.size);
    return {};
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
    std::ranges::sort(current_chunks_);
    for (auto chunk = current_chunks_.cbegin(); chunk != current_chunks_.end();
         chunk = end_of_same(chunk, current_chunks_.end()))
      if (!of_a_file_.insert(*chunk)) of_several_files_.insert(*chunk);
    if (file != files_.end()) file->second.chunks = std::exchange(current_chunks_, {});
    current_chunks_.clear();
  }

  Result<void> count_chunks(File& file) {
    FileStatistics& statistics = file.statistics;
    statistics.chunks = file.chunks.size();
    Reach reach;
    for (auto chunk = file.chunks.cbegin(); chunk != file.chunks.end();) {
      const auto next = end_of_same(chunk, file.chunks.end());
      DEDUPFS_TRY(count_chunk(*chunk, /*is_repeated=*/next - chunk > 1, statistics));
      reach.seen.insert(*chunk);
      chunk = next;
    }
    DEDUPFS_TRY(follow_deltas(file.chunks, reach));
    statistics.base_chunks = reach.bases;
    statistics.containers = reach.containers.size();
    return {};
  }

  Result<void> count_chunk(ChunkId id, bool is_repeated, FileStatistics& statistics) {
    DEDUPFS_ASSIGN(const ChunkRun* const run, find_run(id));
    const ChunkRun::Chunk& chunk = run->at(id);
    const std::uint64_t disk_bytes = run->disk_bytes_of(chunk.payload_length());
    const bool is_own = !of_several_files_.contains(id);
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
  const CommittedView& view_;
  std::map<InodeNumber, File> files_;  // those asked for
  InodeNumber current_inode_ = 0;
  Chunks current_chunks_;
  ChunkSet of_a_file_;
  ChunkSet of_several_files_;
  RunFinder runs_;
};

}  // namespace

Result<std::vector<FileStatistics>> compute_file_statistics(Volume& volume, const std::vector<InodeNumber>& files) {
  DEDUPFS_ASSIGN(const CommittedView view, CommittedView::open(volume));
  return FileCounting(volume, view).run(files);
}

}  // namespace dedupfs
