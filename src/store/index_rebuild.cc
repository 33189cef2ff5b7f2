#include "store/index_rebuild.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <unordered_set>
#include <utility>
#include <vector>

#include "store/bulk_writer.h"
#include "store/chunk_reader.h"
#include "store/damaged_chunks.h"
#include "store/region_offsets.h"
#include "store/run_overlay.h"

namespace dedupfs {
namespace {

constexpr std::size_t kRunsTogether = 4096;

// The runs of consecutive ids in a region.
std::vector<ChunkRun> runs_of(RegionPlace place, const RegionHeader& header, std::vector<RegionEntry> entries) {
  std::ranges::sort(entries, {}, &RegionEntry::id);
  std::vector<ChunkRun> runs;
  for (const RegionEntry& entry : entries) append_to_runs(runs, entry);
  for (ChunkRun& run : runs) {
    run.place = place;
    run.region_disk_bytes = static_cast<std::uint32_t>(header.disk_length());
    run.region_payload_bytes = header.payload_length;
  }
  return runs;
}

class ChunkRebuild {
 public:
  ChunkRebuild(const ContainerStore& containers, Database& index, const RebuildHints& hints, CheckReport& report,
               const Progress& progress, int pass)
      : containers_(containers),
        index_(index),
        hints_(hints),
        report_(report),
        progress_(progress),
        pass_(pass),
        fingerprints_(index),
        runs_(index) {}

  Result<ChunkTable> run() {
    if (hints_.old_index != nullptr) {
      DEDUPFS_ASSIGN(known_regions_, RegionOffsets::of(*hints_.old_index));
    }
    DEDUPFS_ASSIGN(const auto containers, containers_.list());
    for (const auto& container : containers) bytes_ += container.bytes;
    for (const auto& container : containers) {
      DEDUPFS_TRY(read_container(container));
      done_bytes_ += container.bytes;
    }
    DEDUPFS_TRY(write_runs());
    DEDUPFS_TRY(fingerprints_.flush());
    DEDUPFS_TRY(fill_table());
    DEDUPFS_TRY(keep_damaged());
    DEDUPFS_TRY(mark_unreadable());
    DEDUPFS_TRY(drop_fingerprints());
    DEDUPFS_TRY(store_list());
    DEDUPFS_TRY(progress_(pass_, bytes_, bytes_));
    return std::move(table_);
  }

 private:
  // ------------------------------------------------------------ what is intact

  Result<void> read_container(const ContainerStore::ContainerInfo& container) {
    if (container.damage) report_.note(container.damage->message());
    const auto scan =
        containers_.scan(container.id, known_regions_.in(container.id),
                         [this](RegionPlace place, const RegionHeader& header) { return read_region(place, header); });
    if (!scan && scan.error().code() == ErrorCode::kCorruption) {  // not ours
      report_.note(scan.error().message());
      return {};
    }
    if (!scan) return scan.error();
    for (const auto& damage : scan->damage) {
      report_.note(fmt::format("container {}, offset {}: {}; {} bytes are left out", container.id, damage.offset,
                               damage.reason, damage.length));
    }
    return {};
  }

  Result<void> read_region(RegionPlace place, const RegionHeader& header) {
    DEDUPFS_TRY(progress_(pass_, done_bytes_ + place.offset, bytes_));
    auto entries = containers_.verify(place);
    if (!entries) {
      report_.note(entries.error().message() + "; the region is damaged");
      damaged_regions_.emplace_back(place, header);
      return {};
    }
    for (const RegionEntry& entry : *entries)
      if (!hints_.unreadable.contains(number_of(entry.id)))
        DEDUPFS_TRY(
            fingerprints_.put(Family::kFingerprints, text_of(entry.fingerprint.bytes), encode_chunk_id(entry.id)));
    for (ChunkRun& run : runs_of(place, header, *entries)) {
      DEDUPFS_ASSIGN(const std::vector<ChunkRun> covered, runs_.lay(std::move(run)));
      for (const ChunkRun& older : covered) DEDUPFS_TRY(drop_other_content(older, place, *entries));
    }
    return runs_.runs() < kRunsTogether ? Result<void>() : write_runs();
  }

  // A chunk that was moved has the content that it had. An id that stands for two contents was given away twice, by a writer
  // whose index was older than its containers: the fingerprint of the one that counts no more must not lead to the other.
  Result<void> drop_other_content(const ChunkRun& older, RegionPlace place, const std::vector<RegionEntry>& entries) {
    DEDUPFS_ASSIGN(const auto older_entries, containers_.read_directory(older.place));
    for (const RegionEntry& was : older_entries) {
      const auto now = std::ranges::find(entries, was.id, &RegionEntry::id);
      if (!older.contains(was.id) || now == entries.end() || now->fingerprint == was.fingerprint) continue;
      report_.note(
          fmt::format("chunk {} is in container {} at {} and in container {} with another content, which counts",
                      number_of(was.id), older.place.container, older.place.offset, place.container));
      DEDUPFS_TRY(fingerprints_.flush());
      DEDUPFS_ASSIGN(const auto leads_to, index_.get(Family::kFingerprints, text_of(was.fingerprint.bytes)));
      if (leads_to == encode_chunk_id(was.id))
        DEDUPFS_TRY(fingerprints_.erase(Family::kFingerprints, text_of(was.fingerprint.bytes)));
    }
    return {};
  }

  Result<void> write_runs() {
    Database::Batch batch(index_);
    runs_.append_to(batch);
    if (batch.empty()) return {};
    return index_.write(batch);
  }

  Result<void> fill_table() {
    table_ = {};
    std::optional<Error> error;
    DEDUPFS_TRY(index_.walk(*index_.snapshot(), Family::kChunks, [&](std::string_view key, std::string_view value) {
      const auto run = decode_run(key, value);
      if (!run)
        error = run.error();
      else
        table_.add(*run);
      return run.has_value();
    }));
    if (error) return *error;
    return {};
  }

  // ------------------------------------------------------------ what is damaged

  // Entries of chunks that lie in no intact region.
  Result<void> keep_damaged() {
    for (const auto& [place, header] : damaged_regions_) {
      auto entries = containers_.read_directory(place);
      if (!entries) continue;  // nobody knows what was in it
      std::erase_if(*entries, [this](const RegionEntry& entry) { return !is_missing(entry.id); });
      if (!has_room_for(entries->size())) continue;
      for (const RegionEntry& entry : *entries) DEDUPFS_TRY(keep_fingerprint(entry.fingerprint.bytes, entry.id));
      for (ChunkRun& run : runs_of(place, header, std::move(*entries))) DEDUPFS_TRY(keep_run(std::move(run)));
    }
    if (hints_.old_index != nullptr) DEDUPFS_TRY(keep_what_the_old_index_knows());
    if (damaged_.size() == 0) return {};
    DEDUPFS_TRY(write_runs());
    DEDUPFS_TRY(fingerprints_.flush());
    return fill_table();
  }

  bool has_room_for(std::size_t chunks) const { return chunks <= DamagedChunks::kMost - damaged_.size(); }
  bool is_missing(ChunkId id) const { return !table_.length_of(id) && !damaged_.contains(id); }

  Result<void> keep_run(ChunkRun run) {
    damaged_.insert(run.first, run.chunks.size());
    DEDUPFS_TRY(runs_.lay(std::move(run)));
    return {};
  }

  // Unless the same content lies elsewhere, intact.
  Result<void> keep_fingerprint(ByteSpan fingerprint, ChunkId id) {
    DEDUPFS_ASSIGN(const auto leads_to, index_.get(Family::kFingerprints, text_of(fingerprint)));
    if (leads_to) return {};
    return fingerprints_.put(Family::kFingerprints, text_of(fingerprint), encode_chunk_id(id));
  }

  Result<void> keep_what_the_old_index_knows() {
    std::unordered_set<std::uint64_t> kept;
    Result<void> result;
    DEDUPFS_TRY(hints_.old_index->walk(Family::kChunks, [&](std::string_view key, std::string_view value) {
      const auto run = decode_run(key, value);
      if (!run || containers_.read_directory(run->place)) return true;  // what is there was seen
      if (!has_room_for(run->chunks.size())) return true;
      for (std::size_t from = 0; from < run->chunks.size() && result; ++from) {
        if (!is_missing(run->id_of(from))) continue;
        std::size_t to = from;
        for (; to < run->chunks.size() && is_missing(run->id_of(to)); ++to) kept.insert(number_of(run->id_of(to)));
        result = keep_run(run->part(from, to));
        from = to;
      }
      return result.has_value();
    }));
    DEDUPFS_TRY(result);
    if (kept.empty()) return {};
    DEDUPFS_TRY(hints_.old_index->walk(Family::kFingerprints, [&](std::string_view key, std::string_view value) {
      const auto id = decode_chunk_id(value);
      if (id && kept.contains(number_of(*id))) result = keep_fingerprint(bytes_of(key), *id);
      return result.has_value();
    }));
    return result;
  }

  Result<void> mark_unreadable() {
    for (const std::uint64_t number : damaged_.numbers()) table_.mark_unreadable(ChunkId{number});
    for (const std::uint64_t number : hints_.unreadable)
      if (table_.length_of(ChunkId{number})) table_.mark_unreadable(ChunkId{number});
    DEDUPFS_TRY(mark_unreadable_deltas(index_, table_));
    for (const auto& [number, why] : table_.unreadable()) damaged_.insert(ChunkId{number});
    for (const std::uint64_t number : hints_.listed)
      if (table_.length_of(ChunkId{number})) damaged_.insert(ChunkId{number});
    return {};
  }

  // Of what nobody may refer to.
  Result<void> drop_fingerprints() {
    Database::Batch batch(index_);
    for (const auto& [number, why] : table_.unreadable()) {
      const ChunkId id{number};
      if (damaged_.contains(id) && !hints_.unreadable.contains(number)) continue;
      DEDUPFS_ASSIGN(const auto run, find_run(index_, id));
      if (!run) continue;
      DEDUPFS_ASSIGN(const auto entries, containers_.read_directory(run->place));
      const auto entry = std::ranges::find(entries, id, &RegionEntry::id);
      if (entry == entries.end()) continue;
      DEDUPFS_ASSIGN(const auto leads_to, index_.get(Family::kFingerprints, text_of(entry->fingerprint.bytes)));
      if (leads_to == encode_chunk_id(id)) batch.erase(Family::kFingerprints, text_of(entry->fingerprint.bytes));
    }
    if (batch.empty()) return {};
    return index_.write(batch);
  }

  Result<void> store_list() {
    if (damaged_.size() == 0) return {};
    Database::Batch batch(index_);
    batch.put(Family::kCounters, kDamagedChunksCounter, damaged_.encode().bytes);
    return index_.write(batch);
  }

  const ContainerStore& containers_;
  Database& index_;
  const RebuildHints& hints_;
  CheckReport& report_;
  const Progress& progress_;
  const int pass_;

  BulkWriter fingerprints_;
  RunOverlay runs_;
  RegionOffsets known_regions_;
  std::vector<std::pair<RegionPlace, RegionHeader>> damaged_regions_;
  DamagedChunks damaged_;  // what becomes the volume's list
  ChunkTable table_;
  std::uint64_t bytes_ = 0;
  std::uint64_t done_bytes_ = 0;
};

}  // namespace

Result<ChunkTable> rebuild_chunks(const ContainerStore& containers, Database& index, const RebuildHints& hints,
                                  CheckReport& report, const Progress& progress, int pass) {
  return ChunkRebuild(containers, index, hints, report, progress, pass).run();
}

}  // namespace dedupfs
