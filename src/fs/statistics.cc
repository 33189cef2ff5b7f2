#include "fs/statistics.h"

#include <fmt/format.h>
#include <sys/stat.h>

#include <algorithm>
#include <unordered_set>
#include <vector>

#include "base/coding.h"
#include "fs/mode.h"
#include "fs/recipe.h"
#include "fs/records.h"
#include "store/chunk_index.h"

namespace dedupfs {
namespace {

// One bit a chunk, for ids that are dense but for rare gaps.
class ChunkSet {
 public:
  // True if it was not there.
  bool insert(ChunkId id) {
    const std::uint64_t word = number_of(id) / 64;
    if (word >= words_.size()) words_.resize(word + 1 + word / 2);
    const std::uint64_t bit = std::uint64_t{1} << (number_of(id) % 64);
    if ((words_[word] & bit) != 0) return false;
    words_[word] |= bit;
    return true;
  }
  bool contains(ChunkId id) const {
    const std::uint64_t word = number_of(id) / 64;
    return word < words_.size() && (words_[word] >> (number_of(id) % 64) & 1) != 0;
  }

 private:
  std::vector<std::uint64_t> words_;
};

class Counting {
 public:
  explicit Counting(Volume& volume) : volume_(volume), snapshot_(volume.database().snapshot()) {}

  Result<Statistics> run() {
    DEDUPFS_TRY(find_end_of_chunks());
    DEDUPFS_TRY(walk(Family::kOrphans, [this](std::string_view key, std::string_view) -> Result<void> {
      DEDUPFS_ASSIGN(const InodeNumber inode, decode_inode_key(key));
      orphans_.insert(inode);
      return {};
    }));
    DEDUPFS_TRY(walk(Family::kInodes, [this](auto key, auto value) { return count_inode(key, value); }));
    DEDUPFS_TRY(walk(Family::kRecipes, [this](auto key, auto value) { return count_segment(key, value); }));
    DEDUPFS_TRY(walk(Family::kChunks, [this](auto key, auto value) { return count_run(key, value); }));
    statistics_.duplicate_chunks = statistics_.chunks - statistics_.unique_chunks;
    measure_disk();
    return statistics_;
  }

 private:
  template <class Visit>
  Result<void> walk(Family family, Visit visit) {
    Result<void> result;
    DEDUPFS_TRY(volume_.database().walk(*snapshot_, family, [&](std::string_view key, std::string_view value) {
      result = visit(key, value);
      return result.has_value();
    }));
    return result;
  }

  // A wrong id must not make live_ as large as it likes. The volume was opened with this counter, so it parses.
  Result<void> find_end_of_chunks() {
    DEDUPFS_ASSIGN(const auto value, volume_.database().get(Family::kCounters, kNextChunkIdCounter));
    if (value) end_of_chunks_ = Decoder(*value).u64();
    return {};
  }

  Result<void> count_inode(std::string_view key, std::string_view value) {
    DEDUPFS_ASSIGN(const InodeNumber inode, decode_inode_key(key));
    if (orphans_.contains(inode)) return {};
    DEDUPFS_ASSIGN(const InodeRecord record, decode_inode(inode, value));
    const Attributes& attributes = record.attributes;
    switch (type_bits(attributes.mode)) {
      case S_IFREG:
        ++statistics_.files;
        statistics_.logical_bytes += attributes.size;
        statistics_.hole_bytes += attributes.size - std::min(attributes.data_bytes, attributes.size);
        break;
      case S_IFDIR: ++statistics_.directories; break;
      case S_IFLNK: ++statistics_.symlinks; break;
      default: ++statistics_.special_files;
    }
    return {};
  }

  Result<void> count_segment(std::string_view key, std::string_view value) {
    DEDUPFS_ASSIGN(const RecipeKey place, decode_recipe_key(key));
    if (orphans_.contains(place.inode)) return {};
    DEDUPFS_ASSIGN(const auto entries, decode_segment(value));
    for (const RecipeEntry& entry : entries) {
      if (entry.kind == RecipeEntry::Kind::kInline) statistics_.inline_bytes += entry.length;
      if (entry.kind != RecipeEntry::Kind::kChunk) continue;
      if (number_of(entry.chunk) >= end_of_chunks_)
        return Error{ErrorCode::kCorruption, fmt::format("inode {} refers to chunk {}, which was never given away; "
                                                         "fsck.dedupfs says more",
                                                         place.inode, number_of(entry.chunk))};
      ++statistics_.chunks;
      if (!live_.insert(entry.chunk)) continue;
      ++statistics_.unique_chunks;
      statistics_.unique_bytes += entry.length;
    }
    return {};
  }

  // The chunks of a region share its bytes on disk in proportion to their lengths.
  Result<void> count_run(std::string_view key, std::string_view value) {
    DEDUPFS_ASSIGN(const ChunkRun run, decode_run(key, value));
    std::uint64_t live_bytes = 0;
    for (std::size_t i = 0; i < run.chunks.size(); ++i) {
      if (!live_.contains(ChunkId{number_of(run.first) + i})) continue;
      live_bytes += run.chunks[i].payload_length();
      if (run.chunks[i].is_delta()) ++statistics_.delta_chunks;
    }
    if (run.region_payload_bytes != 0)
      statistics_.stored_bytes += live_bytes * run.region_disk_bytes / run.region_payload_bytes;
    return {};
  }

  static std::uint64_t allocated_bytes(const Path& path) {
    struct stat status {};
    if (::lstat(path.c_str(), &status) != 0) return 0;  // files come and go under a running daemon
    return static_cast<std::uint64_t>(status.st_blocks) * 512;
  }

  static std::uint64_t allocated_below(const Path& directory) {
    std::uint64_t bytes = allocated_bytes(directory);
    std::error_code gone;
    for (std::filesystem::recursive_directory_iterator file(directory, gone), end; file != end; file.increment(gone))
      bytes += allocated_bytes(file->path());
    return bytes;
  }

  void measure_disk() {
    const std::uint64_t container_bytes = allocated_below(volume_.path() / kContainersDirectory);
    statistics_.index_bytes = allocated_below(volume_.path() / kIndexDirectory);
    statistics_.disk_bytes = allocated_below(volume_.path());
    statistics_.stored_bytes = std::min(statistics_.stored_bytes, container_bytes);
    statistics_.garbage_bytes = container_bytes - statistics_.stored_bytes;
    const std::uint64_t counted = container_bytes + statistics_.index_bytes;
    statistics_.disk_bytes = std::max(statistics_.disk_bytes, counted);
    statistics_.other_bytes = statistics_.disk_bytes - counted;
  }

  Volume& volume_;
  std::shared_ptr<const Database::Snapshot> snapshot_;
  std::unordered_set<InodeNumber> orphans_;
  std::uint64_t end_of_chunks_ = 0;  // no chunk has this id or a greater one
  ChunkSet live_;
  Statistics statistics_;
};

double ratio(std::uint64_t before, std::uint64_t after) {
  return after == 0 ? 1.0 : static_cast<double>(before) / static_cast<double>(after);
}

}  // namespace

double Statistics::savings_percent() const {
  if (logical_bytes == 0) return 0.0;
  return 100.0 * (1.0 - static_cast<double>(disk_bytes) / static_cast<double>(logical_bytes));
}

double Statistics::dedup_ratio() const {
  return ratio(logical_bytes - hole_bytes - inline_bytes, unique_bytes);
}
double Statistics::compression_ratio() const {
  return ratio(unique_bytes, stored_bytes);
}
double Statistics::total_ratio() const {
  return ratio(logical_bytes, disk_bytes);
}

Result<Statistics> compute_statistics(Volume& volume) {
  return Counting(volume).run();
}

}  // namespace dedupfs
