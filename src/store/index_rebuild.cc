#include "store/index_rebuild.h"

#include <fmt/format.h>

#include <algorithm>

#include "store/bulk_writer.h"
#include "store/chunk_reader.h"
#include "store/run_overlay.h"

namespace dedupfs {
namespace {

constexpr std::size_t kRunsTogether = 4096;

// The runs of consecutive ids in a region.
std::vector<ChunkRun> runs_of(RegionPlace place, const RegionHeader& header, std::vector<RegionEntry> entries) {
  std::ranges::sort(entries, {}, &RegionEntry::id);
  std::vector<ChunkRun> runs;
  for (RegionEntry& entry : entries) {
    if (runs.empty() || number_of(entry.id) != number_of(runs.back().first) + runs.back().chunks.size())
      runs.push_back({.first = entry.id,
                      .place = place,
                      .region_disk_bytes = static_cast<std::uint32_t>(header.disk_length()),
                      .region_payload_bytes = header.payload_length,
                      .chunks = {}});
    runs.back().chunks.push_back({.raw_length = entry.raw_length,
                                  .delta_length = entry.is_delta() ? entry.payload_length : 0,
                                  .sources = std::move(entry.sources)});
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

  Result<RebuiltChunks> run() {
    DEDUPFS_ASSIGN(const auto containers, containers_.list());
    for (const auto& container : containers) bytes_ += container.bytes;
    for (const auto& container : containers) {
      DEDUPFS_TRY(read_container(container));
      done_bytes_ += container.bytes;
    }
    DEDUPFS_TRY(write_runs());
    DEDUPFS_TRY(fingerprints_.flush());
    DEDUPFS_TRY(fill_table());
    DEDUPFS_TRY(drop_fingerprints_of_unreadable());
    DEDUPFS_TRY(progress_(pass_, bytes_, bytes_));
    return std::move(rebuilt_);
  }

 private:
  Result<void> read_container(const ContainerStore::ContainerInfo& container) {
    if (container.damage) report_.note(container.damage->message());
    const auto known = hints_.known_offsets.find(container.id);
    static const std::vector<std::uint32_t> kNone;
    const auto scan =
        containers_.scan(container.id, known == hints_.known_offsets.end() ? kNone : known->second,
                         [this](RegionPlace place, const RegionHeader& header) { return read_region(place, header); });
    if (!scan && scan.error().code() == ErrorCode::kCorruption) {  // not ours
      report_.note(scan.error().message());
      rebuilt_.damaged_bytes += container.bytes;
      return {};
    }
    if (!scan) return scan.error();
    for (const auto& damage : scan->damage) {
      report_.note(fmt::format("container {}, offset {}: {}; {} bytes are left out", container.id, damage.offset,
                               damage.reason, damage.length));
      rebuilt_.damaged_bytes += damage.length;
    }
    return {};
  }

  Result<void> read_region(RegionPlace place, const RegionHeader& header) {
    DEDUPFS_TRY(progress_(pass_, done_bytes_ + place.offset, bytes_));
    auto entries = containers_.verify(place);
    if (!entries) {
      report_.note(entries.error().message() + "; the region is left out");
      rebuilt_.damaged_bytes += header.disk_length();
      return {};
    }
    ++rebuilt_.regions;
    for (const RegionEntry& entry : *entries)
      if (!hints_.unreadable.contains(number_of(entry.id)))
        DEDUPFS_TRY(
            fingerprints_.put(Family::kFingerprints, text_of(entry.fingerprint.bytes), encode_chunk_id(entry.id)));
    for (ChunkRun& run : runs_of(place, header, std::move(*entries))) DEDUPFS_TRY(runs_.lay(std::move(run)));
    return runs_.runs() < kRunsTogether ? Result<void>() : write_runs();
  }

  Result<void> write_runs() {
    Database::Batch batch(index_);
    runs_.append_to(batch);
    if (batch.empty()) return {};
    return index_.write(batch);
  }

  Result<void> fill_table() {
    std::optional<Error> error;
    DEDUPFS_TRY(index_.walk(*index_.snapshot(), Family::kChunks, [&](std::string_view key, std::string_view value) {
      const auto run = decode_run(key, value);
      if (!run)
        error = run.error();
      else
        rebuilt_.table.add(*run);
      return run.has_value();
    }));
    if (error) return *error;
    for (const std::uint64_t id : hints_.unreadable)
      if (rebuilt_.table.length_of(ChunkId{id})) rebuilt_.table.mark_unreadable(ChunkId{id});
    return mark_unreadable_deltas(index_, rebuilt_.table);
  }

  Result<void> drop_fingerprints_of_unreadable() {
    Database::Batch batch(index_);
    for (const auto& [number, why] : rebuilt_.table.unreadable()) {
      const ChunkId id{number};
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

  const ContainerStore& containers_;
  Database& index_;
  const RebuildHints& hints_;
  CheckReport& report_;
  const Progress& progress_;
  const int pass_;

  BulkWriter fingerprints_;
  RunOverlay runs_;
  RebuiltChunks rebuilt_;
  std::uint64_t bytes_ = 0;
  std::uint64_t done_bytes_ = 0;
};

}  // namespace

Result<RebuiltChunks> rebuild_chunks(const ContainerStore& containers, Database& index, const RebuildHints& hints,
                                     CheckReport& report, const Progress& progress, int pass) {
  return ChunkRebuild(containers, index, hints, report, progress, pass).run();
}

}  // namespace dedupfs
