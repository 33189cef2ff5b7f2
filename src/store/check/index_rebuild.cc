#include "store/check/index_rebuild.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <map>
#include <optional>
#include <tuple>
#include <unordered_map>
#include <unordered_set>
#include <utility>
#include <vector>

#include "index/bulk_writer.h"
#include "store/check/region_offsets.h"
#include "store/chunks/chunk_reader.h"
#include "store/chunks/damaged_chunks.h"
#include "store/chunks/extent_overlay.h"

namespace dedupfs {
namespace {

constexpr std::size_t kExtentsTogether = 4096;

// The extents of consecutive ids in a region.
std::vector<ChunkExtent> extents_of(RegionPlace place, const RegionHeader& header, std::vector<RegionEntry> entries) {
  std::ranges::sort(entries, {}, &RegionEntry::id);
  std::vector<ChunkExtent> extents;
  for (const RegionEntry& entry : entries) append_to_extents(extents, entry);
  for (ChunkExtent& extent : extents) {
    extent.place = place;
    extent.region_disk_bytes = static_cast<std::uint32_t>(header.disk_length());
    extent.region_payload_bytes = header.payload_length;
  }
  return extents;
}

// How deep chunks are, which only the directories of their regions say. Ids come from a disk: no array spans them all.
class ChunkDepths {
 public:
  void set(ChunkId id, std::uint8_t depth) {
    const auto page = pages_.find(number_of(id) / kPage);
    if (page != pages_.end())
      page->second[number_of(id) % kPage] = depth;
    else if (depth != 0)
      pages_[number_of(id) / kPage][number_of(id) % kPage] = depth;
  }
  std::uint8_t of(ChunkId id) const {
    const auto page = pages_.find(number_of(id) / kPage);
    return page == pages_.end() ? std::uint8_t{0} : page->second[number_of(id) % kPage];
  }

 private:
  static constexpr std::uint64_t kPage = 256;

  std::unordered_map<std::uint64_t, std::array<std::uint8_t, kPage>> pages_;
};

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
        extents_(index) {}

  Result<ChunkTable> run() {
    DEDUPFS_ASSIGN(const auto containers, containers_.list());
    std::unordered_set<std::uint32_t> numbers;
    for (const auto& container : containers) {
      bytes_ += container.bytes;
      numbers.insert(container.id);
    }
    if (hints_.old_index != nullptr) {
      const auto is_there = [&](std::uint32_t number) { return numbers.contains(number); };
      DEDUPFS_ASSIGN(known_regions_, RegionOffsets::of(*hints_.old_index, is_there));
    }
    for (const auto& container : containers) {
      DEDUPFS_TRY(read_container(container));
      done_bytes_ += container.bytes;
    }
    DEDUPFS_TRY(write_extents());
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

  Result<void> read_container(const ContainerInfo& container) {
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
    auto entries = containers_.verify({place, static_cast<std::uint32_t>(header.disk_length())});
    if (!entries) {
      report_.note(entries.error().message() + "; the region is damaged");
      damaged_regions_.emplace_back(place, header);
      return {};
    }
    for (const RegionEntry& entry : *entries)
      if (!hints_.unreadable.contains(number_of(entry.id)))
        DEDUPFS_TRY(
            fingerprints_.put(Family::kFingerprints, text_of(entry.fingerprint.bytes), encode_chunk_id(entry.id)));
    for (const RegionEntry& entry : *entries) depths_.set(entry.id, entry.depth);
    for (ChunkExtent& extent : extents_of(place, header, *entries)) {
      DEDUPFS_ASSIGN(const std::vector<ChunkExtent> covered, extents_.lay(std::move(extent)));
      for (const ChunkExtent& older : covered) DEDUPFS_TRY(cover(older, place, *entries));
    }
    return extents_.extents() < kExtentsTogether ? Result<void>() : write_extents();
  }

  // A chunk that was moved keeps its content and its sources, unless it was re-encoded.
  Result<void> cover(const ChunkExtent& older, RegionPlace place, const std::vector<RegionEntry>& entries) {
    DEDUPFS_ASSIGN(const auto older_entries, containers_.read_directory(older.place));
    for (const RegionEntry& was : older_entries) {
      const auto now = std::ranges::find(entries, was.id, &RegionEntry::id);
      if (!older.contains(was.id) || now == entries.end()) continue;
      if (now->fingerprint != was.fingerprint)
        DEDUPFS_TRY(drop_other_content(was, older.place, place));
      else if (now->is_delta() && (now->sources != was.sources || now->depth != was.depth))
        older_copies_.push_back({was.id, older.place});
    }
    return {};
  }

  // An id with two contents was given away twice, by a writer whose index was older than its containers. The fingerprint of the
  // content that does not count any more must not lead to the other content.
  Result<void> drop_other_content(const RegionEntry& was, RegionPlace older, RegionPlace place) {
    report_.note(
        fmt::format("chunk {} is in container {} at {} and in container {} with other content; the latter counts",
                    number_of(was.id), older.container, older.offset, place.container));
    DEDUPFS_TRY(fingerprints_.flush());
    DEDUPFS_ASSIGN(const auto leads_to, index_.get(Family::kFingerprints, text_of(was.fingerprint.bytes)));
    if (leads_to != encode_chunk_id(was.id)) return {};
    return fingerprints_.erase(Family::kFingerprints, text_of(was.fingerprint.bytes));
  }

  Result<void> write_extents() {
    Database::Batch batch(index_);
    extents_.append_to(batch);
    if (batch.empty()) return {};
    return index_.write(batch);
  }

  Result<void> fill_table() {
    table_ = {};
    std::optional<Error> error;
    DEDUPFS_TRY(index_.walk(*index_.snapshot(), Family::kChunks, [&](std::string_view key, std::string_view value) {
      const auto extent = decode_extent(key, value);
      if (!extent)
        error = extent.error();
      else
        table_.add(*extent);
      return extent.has_value();
    }));
    if (error) return *error;
    return {};
  }

  // ------------------------------------------------------------ what is damaged

  // Entries of chunks that lie in no intact region.
  Result<void> keep_damaged() {
    for (const auto& [place, header] : damaged_regions_) {
      auto entries = containers_.read_directory(place);
      if (!entries) continue;  // its chunks are unknown
      std::erase_if(*entries, [this](const RegionEntry& entry) { return !is_missing(entry.id); });
      if (!has_room_for(entries->size())) continue;
      for (const RegionEntry& entry : *entries) DEDUPFS_TRY(keep_fingerprint(entry.fingerprint.bytes, entry.id));
      for (ChunkExtent& extent : extents_of(place, header, std::move(*entries)))
        DEDUPFS_TRY(keep_extent(std::move(extent)));
    }
    if (hints_.old_index != nullptr) DEDUPFS_TRY(keep_what_the_old_index_knows());
    if (damaged_.size() == 0) return {};
    DEDUPFS_TRY(write_extents());
    DEDUPFS_TRY(fingerprints_.flush());
    return fill_table();
  }

  bool has_room_for(std::size_t chunks) const { return chunks <= DamagedChunks::kMax - damaged_.size(); }
  bool is_missing(ChunkId id) const { return !table_.length_of(id) && !damaged_.contains(id); }

  Result<void> keep_extent(ChunkExtent extent) {
    damaged_.insert(extent.first, extent.chunks.size());
    DEDUPFS_TRY(extents_.lay(std::move(extent)));
    return {};
  }

  // An intact header says how long its region is, even if the rest of the region is damaged. Without an intact header, all
  // extents of the region say the same as the first.
  ChunkExtent with_lengths_of_region(ChunkExtent extent) {
    const auto header = containers_.read_header(extent.place);
    const auto disk_bytes = header ? static_cast<std::uint32_t>(header->disk_length()) : extent.region_disk_bytes;
    const auto payload_bytes = header ? header->payload_length : extent.region_payload_bytes;
    const auto& lengths = lengths_of_lost_.try_emplace(extent.place, disk_bytes, payload_bytes).first->second;
    std::tie(extent.region_disk_bytes, extent.region_payload_bytes) = lengths;
    return extent;
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
      const auto extent = decode_extent(key, value);
      if (!extent || extent->place.container >= hints_.end_of_containers) return true;
      if (containers_.read_directory(extent->place)) return true;  // its chunks were seen
      if (!has_room_for(extent->chunks.size())) return true;
      for (std::size_t from = 0; from < extent->chunks.size() && result; ++from) {
        if (!is_missing(extent->id_of(from))) continue;
        std::size_t to = from;
        for (; to < extent->chunks.size() && is_missing(extent->id_of(to)); ++to)
          kept.insert(number_of(extent->id_of(to)));
        result = keep_extent(with_lengths_of_region(extent->part(from, to)));
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
    DEDUPFS_TRY(mark_what_cannot_be_made());
    // Each older copy that is used may be a source of others.
    for (;;) {
      DEDUPFS_ASSIGN(const std::uint64_t used, use_older_copies());
      if (used == 0) break;
      report_.note(
          fmt::format("{} chunks are restored as they were before a re-encoding, whose sources are missing", used));
      table_.mark_all_readable();
      DEDUPFS_TRY(mark_what_cannot_be_made());
    }
    for (const auto& [number, why] : table_.unreadable()) damaged_.insert(ChunkId{number});
    for (const std::uint64_t number : hints_.listed)
      if (table_.length_of(ChunkId{number})) damaged_.insert(ChunkId{number});
    return {};
  }

  Result<void> mark_what_cannot_be_made() {
    for (const std::uint64_t number : damaged_.numbers()) table_.mark_unreadable(ChunkId{number});
    for (const std::uint64_t number : hints_.unreadable)
      if (table_.length_of(ChunkId{number})) table_.mark_unreadable(ChunkId{number});
    // A reader refuses a delta with a source as deep as itself: the copy that the delta needs is missing. So no circle is left.
    return mark_unreadable_deltas(
        index_, table_, [this](ChunkId delta, ChunkId source) { return depths_.of(source) < depths_.of(delta); });
  }

  // Returns how many can be made now.
  Result<std::uint64_t> use_older_copies() {
    std::uint64_t used = 0;
    for (std::size_t i = older_copies_.size(); i-- > 0;) {  // the last ones first
      const auto& [id, place] = older_copies_[i];
      if (!table_.is_unreadable(id) || hints_.unreadable.contains(number_of(id))) continue;
      DEDUPFS_ASSIGN(const bool is_used, use_older_copy(id, place));
      if (is_used) ++used;
      if (extents_.extents() >= kExtentsTogether) DEDUPFS_TRY(write_extents());
    }
    DEDUPFS_TRY(write_extents());
    return used;
  }

  Result<bool> use_older_copy(ChunkId id, RegionPlace place) {
    DEDUPFS_ASSIGN(const auto extent, find_extent(index_, id));
    if (!extent) return false;
    DEDUPFS_ASSIGN(const auto newer_entries, containers_.read_directory(extent->place));
    DEDUPFS_ASSIGN(const auto entries, containers_.read_directory(place));
    const auto newer = std::ranges::find(newer_entries, id, &RegionEntry::id);
    const auto older = std::ranges::find(entries, id, &RegionEntry::id);
    if (newer == newer_entries.end() || older == entries.end()) return false;
    if (newer->fingerprint != older->fingerprint || newer->raw_length != older->raw_length) return false;
    const auto is_useful = [&](ChunkId source) {
      return table_.length_of(source) && !table_.is_unreadable(source) && depths_.of(source) < older->depth;
    };
    if (!std::ranges::all_of(older->sources, is_useful)) return false;
    depths_.set(id, older->depth);
    table_.mark_readable(id);
    DEDUPFS_ASSIGN(const RegionHeader header, containers_.read_header(place));
    DEDUPFS_TRY(extents_.lay(std::move(extents_of(place, header, {*older}).front())));
    return true;
  }

  // Drops the fingerprints of chunks that nobody may refer to.
  Result<void> drop_fingerprints() {
    Database::Batch batch(index_);
    for (const auto& [number, why] : table_.unreadable()) {
      const ChunkId id{number};
      if (damaged_.contains(id) && !hints_.unreadable.contains(number)) continue;
      DEDUPFS_ASSIGN(const auto extent, find_extent(index_, id));
      if (!extent) continue;
      DEDUPFS_ASSIGN(const auto entries, containers_.read_directory(extent->place));
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
  ExtentOverlay extents_;
  ChunkDepths depths_;  // of the copies that count
  // Older copies of deltas that were stored again, in the order of the newer copies.
  std::vector<std::pair<ChunkId, RegionPlace>> older_copies_;
  RegionOffsets known_regions_;
  std::vector<std::pair<RegionPlace, RegionHeader>> damaged_regions_;
  std::map<RegionPlace, std::pair<std::uint32_t, std::uint32_t>> lengths_of_lost_;  // on disk, and of the payload
  DamagedChunks damaged_;                                                           // what becomes the volume's list
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
