#include "fs/statistics/statistics.h"

#include <sys/stat.h>

#include <algorithm>
#include <ctime>
#include <vector>

#include "fs/format/mode.h"
#include "fs/statistics/committed_view.h"
#include "store/chunks/chunk_set.h"
#include "store/chunks/damage_record.h"

namespace dedupfs {
namespace {

constexpr int kDeepestFolder = 8;  // folders in folders; a volume has fewer

Result<std::uint64_t> allocated_below(BackingFolder& parent, std::string_view name, int depth, const GoOn& go_on);

// Files come and go under a running daemon: files that cannot be read are not counted.
Result<std::uint64_t> allocated_below(BackingFolder& folder, int depth, const GoOn& go_on) {
  const auto itself = folder.status();
  std::uint64_t bytes = itself ? itself->allocated_bytes : 0;
  const auto names = folder.list();
  if (!names || depth == 0) return bytes;
  for (const std::string& name : *names) {
    if (go_on) DEDUPFS_TRY(go_on());
    const auto status = folder.status(name);
    if (!status) continue;
    std::uint64_t of_name = status->allocated_bytes;
    if (status->type == Backing::Type::kDirectory) {
      DEDUPFS_ASSIGN(of_name, allocated_below(folder, name, depth - 1, go_on));
    }
    bytes += of_name;
  }
  return bytes;
}

Result<std::uint64_t> allocated_below(BackingFolder& parent, std::string_view name, int depth, const GoOn& go_on) {
  const auto folder = parent.open_folder(name);
  if (!folder) return 0;
  return allocated_below(**folder, depth, go_on);
}

class Counting {
 public:
  Counting(Volume& volume, const CommittedView& view, const GoOn& go_on)
      : volume_(volume), view_(view), go_on_(go_on), max_bytes_(ChunkSet::limit_for(volume.database())) {}

  Result<Statistics> run() {
    DEDUPFS_TRY(view_.walk_inodes([this](const InodeRecord& record) { count_inode(record.attributes); }));
    DEDUPFS_TRY(view_.walk_recipes([this](InodeNumber, const auto& segment) { count_segment(segment); }));
    statistics_.duplicate_chunks = statistics_.chunks - statistics_.unique_chunks;
    const std::vector<SnapshotRecord> snapshots = volume_.snapshots().all();
    const std::int64_t now = std::time(nullptr);
    statistics_.snapshots = snapshots.size();
    for (const SnapshotRecord& snapshot : snapshots)
      if (snapshot.created_unix_seconds <= now)
        statistics_.last_snapshot_unix_seconds =
            std::max(snapshot.created_unix_seconds, statistics_.last_snapshot_unix_seconds.value_or(INT64_MIN));
    DEDUPFS_TRY(view_.walk_old_recipes([this](InodeNumber, const auto& segment) { count_old_segment(segment); }));
    DEDUPFS_TRY(mark_bases());
    for (const ChunkSet* const set : {&live_, &snapshot_only_, &bases_}) DEDUPFS_TRY(set->require_complete());
    DEDUPFS_TRY(view_.walk_extents([this](const ChunkExtent& extent) { count_extent(extent); }));
    DEDUPFS_TRY(measure_disk());
    const DamageRecord& damage = volume_.chunks().damage();
    statistics_.damaged_chunks = damage.damaged_chunks();
    statistics_.healed_chunks = damage.healed_chunks();
    return statistics_;
  }

 private:
  void count_inode(const Attributes& attributes) {
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
  }

  void count_segment(const std::vector<RecipeEntry>& entries) {
    for (const RecipeEntry& entry : entries) {
      if (entry.kind == RecipeEntry::Kind::kInline) statistics_.inline_bytes += entry.length;
      if (entry.kind != RecipeEntry::Kind::kChunk) continue;
      ++statistics_.chunks;
      if (!live_.insert(entry.chunk)) continue;
      ++statistics_.unique_chunks;
      statistics_.unique_bytes += entry.length;
    }
  }

  void count_old_segment(const std::vector<RecipeEntry>& entries) {
    for (const RecipeEntry& entry : entries)
      if (entry.kind == RecipeEntry::Kind::kChunk && !live_.contains(entry.chunk)) snapshot_only_.insert(entry.chunk);
  }

  // A delta needs its sources, and these need their own sources. Most sources were stored before their delta. So a walk passes
  // a source before it knows that the source is needed, and must be repeated until it finds nothing new.
  Result<void> mark_bases() {
    for (bool found = true; found;) {
      found = false;
      DEDUPFS_TRY(view_.walk_extents([&](const ChunkExtent& extent) {
        for (std::size_t i = 0; i < extent.chunks.size(); ++i) {
          if (!extent.chunks[i].is_delta() || !is_needed(extent.id_of(i))) continue;
          for (const ChunkId source : extent.chunks[i].sources)
            if (!is_referred_to(source) && bases_.insert(source)) found = true;
        }
      }));
    }
    return {};
  }

  bool is_referred_to(ChunkId id) const { return live_.contains(id) || snapshot_only_.contains(id); }
  bool is_needed(ChunkId id) const { return is_referred_to(id) || bases_.contains(id); }

  // The chunks of a region share its bytes on disk in proportion to their lengths.
  void count_extent(const ChunkExtent& extent) {
    std::uint64_t live_bytes = 0;
    std::uint64_t snapshot_bytes = 0;
    std::uint64_t base_bytes = 0;
    for (std::size_t i = 0; i < extent.chunks.size(); ++i) {
      const ChunkExtent::Chunk& chunk = extent.chunks[i];
      if (live_.contains(extent.id_of(i))) {
        live_bytes += chunk.payload_length();
        if (chunk.is_delta()) count_delta(chunk);
      } else if (snapshot_only_.contains(extent.id_of(i))) {
        snapshot_bytes += chunk.payload_length();
        ++statistics_.snapshot_only_chunks;
      } else if (bases_.contains(extent.id_of(i))) {
        base_bytes += chunk.payload_length();
        ++statistics_.base_only_chunks;
      }
    }
    statistics_.after_delta_bytes += live_bytes;
    statistics_.stored_bytes += extent.disk_bytes_of(live_bytes);
    statistics_.snapshot_only_bytes += extent.disk_bytes_of(snapshot_bytes);
    statistics_.base_only_bytes += extent.disk_bytes_of(base_bytes);
  }

  void count_delta(const ChunkExtent::Chunk& chunk) {
    ++statistics_.delta_chunks;
    statistics_.delta_raw_bytes += chunk.raw_length;
    statistics_.delta_bytes += chunk.delta_length;
  }

  Result<void> measure_disk() {
    BackingFolder& volume = *volume_.folder();
    DEDUPFS_ASSIGN(const std::uint64_t container_bytes,
                   allocated_below(volume, kContainersDirectory, kDeepestFolder, go_on_));
    DEDUPFS_ASSIGN(statistics_.index_bytes, allocated_below(volume, kIndexDirectory, kDeepestFolder, go_on_));
    statistics_.landed_bytes = volume_.containers().landed_bytes().value_or(0);
    statistics_.index_table_bytes = volume_.database().table_bytes();
    statistics_.index_filters = volume_.database().filter_memory();
    DEDUPFS_ASSIGN(statistics_.disk_bytes, disk_bytes_of(volume_, go_on_));
    // Files come and go while they are counted, and the rest is garbage.
    std::uint64_t rest = container_bytes;
    for (std::uint64_t* const part :
         {&statistics_.stored_bytes, &statistics_.snapshot_only_bytes, &statistics_.base_only_bytes}) {
      *part = std::min(*part, rest);
      rest -= *part;
    }
    statistics_.garbage_bytes = rest;
    const std::uint64_t counted = container_bytes + statistics_.index_bytes;
    statistics_.disk_bytes = std::max(statistics_.disk_bytes, counted);
    statistics_.other_bytes = statistics_.disk_bytes - counted;
    return {};
  }

  Volume& volume_;
  const CommittedView& view_;
  const GoOn& go_on_;                   // may be empty
  const std::uint64_t max_bytes_;       // of each set
  ChunkSet live_{max_bytes_};           // that files refer to
  ChunkSet snapshot_only_{max_bytes_};  // that only files of snapshots refer to
  ChunkSet bases_{max_bytes_};          // that only deltas refer to
  Statistics statistics_;
};

double ratio(std::uint64_t before, std::uint64_t after) {
  return after == 0 ? 1.0 : static_cast<double>(before) / static_cast<double>(after);
}

double part(std::uint64_t some, std::uint64_t all) {
  return all == 0 ? 0.0 : static_cast<double>(some) / static_cast<double>(all);
}

}  // namespace

double Statistics::savings_percent() const {
  if (logical_bytes == 0) return 0.0;
  return 100.0 * (1.0 - static_cast<double>(disk_bytes) / static_cast<double>(logical_bytes));
}

double Statistics::dedup_ratio() const {
  return ratio(logical_bytes - hole_bytes - inline_bytes, unique_bytes);
}
double Statistics::delta_compression_ratio() const {
  return ratio(unique_bytes, after_delta_bytes);
}
double Statistics::local_compression_ratio() const {
  return ratio(after_delta_bytes, stored_bytes);
}
double Statistics::compression_ratio() const {
  return ratio(unique_bytes, stored_bytes);
}
double Statistics::total_ratio() const {
  return ratio(logical_bytes, disk_bytes);
}

double Statistics::similar_chunk_ratio() const {
  return part(delta_chunks, unique_chunks);
}
double Statistics::delta_compression_efficiency() const {
  return delta_chunks == 0 ? 0.0 : 1.0 - part(delta_bytes, delta_raw_bytes);
}
double Statistics::mean_delta_bytes() const {
  return part(delta_bytes, delta_chunks);
}

Result<std::uint64_t> disk_bytes_of(const Volume& volume, const GoOn& go_on) {
  return allocated_below(*volume.folder(), kDeepestFolder, go_on);
}

Result<Statistics> compute_statistics(Volume& volume, GoOn go_on) {
  DEDUPFS_ASSIGN(const CommittedView view, CommittedView::open(volume, go_on));
  return Counting(volume, view, go_on).run();
}

std::uint64_t damaged_chunks_of(Volume& volume) {
  return volume.chunks().damage().damaged_chunks();
}

}  // namespace dedupfs
