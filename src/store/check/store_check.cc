#include "store/check/store_check.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <unordered_map>
#include <utility>
#include <vector>

#include "index/counters.h"
#include "store/chunks/chunk_reader.h"
#include "store/chunks/damaged_chunks.h"
#include "store/chunks/fingerprint.h"
#include "store/containers/region_cache.h"
#include "store/format/chunk_ids.h"

namespace dedupfs {
namespace {

// Regions of one stream follow one another; those of concurrent streams alternate.
constexpr std::size_t kCheckCacheBytes = 32 << 20;
constexpr std::size_t kCachedDirectories = 1024;
constexpr std::size_t kCachedEntries = 1 << 18;  // of these directories
// The directory entry of a chunk is longer than this.
constexpr std::uint64_t kBytesOfAnEntry = sizeof(Fingerprint::bytes);

class StoreCheck {
 public:
  StoreCheck(Volume& volume, CheckReport& report, const StoreCheckScope& scope)
      : volume_(volume),
        report_(report),
        scope_(scope),
        cache_(kCheckCacheBytes, [this](RegionRange range) { return volume_.containers().read(range); }) {}

  Result<CheckedStore> run() {
    for (const Error& damage : volume_.superblock_damage())
      damage.code() == ErrorCode::kNotFound ? report_.note(damage.message() + "; the next mount creates it")
                                            : report_.error(damage.message());
    DEDUPFS_TRY(volume_.database().verify_tables());
    DEDUPFS_ASSIGN(next_chunk_, counter(kNextChunkIdCounter));
    DEDUPFS_TRY(load_listed());
    DEDUPFS_ASSIGN(containers_, volume_.containers().list());
    DEDUPFS_TRY(check_index());
    mark_listed();
    DEDUPFS_TRY(mark_unreadable_deltas(volume_.database(), store_.chunks));
    DEDUPFS_TRY(check_unreadable());
    DEDUPFS_TRY(check_missing_fingerprints());
    DEDUPFS_TRY(check_fingerprint_count());
    DEDUPFS_TRY(check_counters());
    DEDUPFS_TRY(check_containers());
    return std::move(store_);
  }

 private:
  // ------------------------------------------------------------ chunks

  // Chunks that are known to be damaged are no error any more: writers look out for them.
  Result<void> load_listed() {
    DEDUPFS_ASSIGN(const auto listed, volume_.database().get(Family::kCounters, kDamagedChunksCounter));
    return listed ? listed_.load(*listed) : Result<void>();
  }
  bool is_listed(ChunkId id) const { return listed_.contains(id); }

  // Without verifying data their damage is not seen.
  void mark_listed() {
    for (const std::uint64_t number : listed_.numbers()) {
      const ChunkId id{number};
      if (!store_.chunks.length_of(id) || store_.chunks.is_unreadable(id)) continue;
      if (const auto chunk = volume_.chunks().get(id); !chunk)
        store_.chunks.mark_unreadable(id, chunk.error().message());
    }
  }

  Result<void> check_index() {
    const auto snapshot = volume_.database().snapshot();
    std::optional<Error> fatal;
    const std::uint64_t max_chunks = max_possible_chunks();
    DEDUPFS_TRY(volume_.database().walk(*snapshot, Family::kChunks, [&](std::string_view key, std::string_view value) {
      const auto extent = decode_extent(key, value);
      if (!extent) {
        report_.error(extent.error().message());
      } else if (extent->chunks.size() > max_chunks - store_.chunks.chunks()) {
        fatal = corruption(fmt::format("index: it has more chunks than all containers can hold, {}", max_chunks));
      } else if (!store_.chunks.add(*extent)) {
        report_.error(fmt::format("index: the extent of chunks from {} overlaps another", number_of(extent->first)));
      } else if (auto checked = check_extent(*extent); !checked) {
        fatal = checked.error();
      }
      return !fatal;
    }));
    if (fatal) return *fatal;
    return {};
  }

  // Each chunk is in the directory of a region, or known to be lost. So chunks that an index only claims take no memory.
  std::uint64_t max_possible_chunks() const {
    std::uint64_t chunks = DamagedChunks::kMax;
    for (const auto& container : containers_)
      chunks += std::min<std::uint64_t>(container.bytes, UINT32_MAX) / kBytesOfAnEntry;
    return chunks;
  }

  Result<void> check_extent(const ChunkExtent& extent) {
    DEDUPFS_TRY(scope_.progress(scope_.pass, number_of(extent.first), next_chunk_));
    const auto known = regions_.try_emplace(extent.place, extent.region_disk_bytes).first;
    if (known->second != extent.region_disk_bytes)
      report_.error(
          fmt::format("index: the extent of chunks from {} says that its region has {} bytes, another one says {}",
                      number_of(extent.first), extent.region_disk_bytes, known->second));
    const auto region = read(extent.region());
    if (!region) {
      report_bad_place(extent, region.error());
      // If every checksum is right, a rebuild would take the chunk for sound.
      const bool looks_sound = scope_.verify_data && volume_.containers().verify(extent.region()).has_value();
      for (std::size_t i = 0; i < extent.chunks.size(); ++i) {
        store_.chunks.mark_unreadable(extent.id_of(i), region.error().message());
        if (looks_sound) store_.mismatched.insert(number_of(extent.id_of(i)));
      }
      return {};
    }
    std::uint64_t payload_bytes = 0;
    for (const RegionEntry& entry : (*region)->entries) payload_bytes += entry.payload_length;
    if (payload_bytes != extent.region_payload_bytes)
      report_.error(
          fmt::format("index: the extent of chunks from {} says that its region holds {} bytes of chunks, not {}",
                      number_of(extent.first), extent.region_payload_bytes, payload_bytes));
    std::vector<const RegionEntry*> matching;
    for (std::size_t i = 0; i < extent.chunks.size(); ++i) {
      const ChunkId id = extent.id_of(i);
      const RegionEntry* const entry = (*region)->find(id);
      if (entry == nullptr || entry->raw_length != extent.chunks[i].raw_length ||
          entry->payload_length != extent.chunks[i].payload_length() || entry->sources != extent.chunks[i].sources) {
        report_.error(fmt::format("chunk {} is not in container {} at {} as the index says", number_of(id),
                                  extent.place.container, extent.place.offset));
        continue;
      }
      matching.push_back(entry);
      DEDUPFS_TRY(check_fingerprint(*entry));
    }
    if (scope_.verify_data) check_bytes(**region, matching);
    return {};
  }

  void report_bad_place(const ChunkExtent& extent, const Error& error) {
    const auto [reported, is_new] = bad_places_.try_emplace(extent.place, false);
    bool all_listed = true;
    for (std::size_t i = 0; i < extent.chunks.size(); ++i) all_listed = all_listed && is_listed(extent.id_of(i));
    if (!all_listed && !std::exchange(reported->second, true))
      report_.error(error.message());
    else if (is_new)
      report_.note(error.message());
  }

  // Reads the payload only if data shall be verified.
  Result<std::shared_ptr<const Region>> read(RegionRange range) {
    const RegionPlace place = range.place;
    if (scope_.verify_data) return cache_.get(range);
    if (const auto found = directories_.find(place); found != directories_.end()) return found->second;
    auto region = std::make_shared<Region>();
    DEDUPFS_ASSIGN(region->entries, volume_.containers().read_directory(place));
    std::ranges::sort(region->entries, {}, &RegionEntry::id);
    if (directories_.size() >= kCachedDirectories || cached_entries_ + region->entries.size() > kCachedEntries) {
      directories_.clear();
      cached_entries_ = 0;
    }
    cached_entries_ += region->entries.size();
    return directories_.emplace(place, std::move(region)).first->second;
  }

  void check_bytes(const Region& region, const std::vector<const RegionEntry*>& entries) {
    std::vector<const RegionEntry*> raw;
    std::vector<ByteSpan> payloads;
    for (const RegionEntry* const entry : entries) {
      if (!entry->is_delta()) {
        raw.push_back(entry);
        payloads.push_back(region.payload_of(*entry));
      } else if (const auto chunk = volume_.chunks().get(entry->id); !chunk) {
        mark_mismatched(*entry, chunk.error().message());
      } else {
        compare(*entry, fingerprint_of(chunk->bytes));
      }
    }
    const std::vector<Fingerprint> found = fingerprints_of(payloads);
    for (std::size_t i = 0; i < raw.size(); ++i) compare(*raw[i], found[i]);
  }

  void compare(const RegionEntry& entry, const Fingerprint& found) {
    if (found != entry.fingerprint)
      mark_mismatched(entry, fmt::format("chunk {} does not match its fingerprint", number_of(entry.id)));
  }

  void mark_mismatched(const RegionEntry& entry, const std::string& why) {
    store_.mismatched.insert(number_of(entry.id));
    store_.chunks.mark_unreadable(entry.id, why);
  }

  // ------------------------------------------------------------ fingerprints

  Result<void> check_fingerprint(const RegionEntry& entry) {
    DEDUPFS_ASSIGN(const auto found, lead_of(entry.fingerprint));
    if (found == entry.id) {
      ++fingerprints_found_;
      return {};
    }
    if (!found) {
      without_fingerprint_.push_back(entry.id);
      return {};
    }
    // Another chunk can have the same content: one that was written and never committed, or a reclaim was stopped before it
    // erased this one. Either will do, until one is erased, and its fingerprint with it.
    DEDUPFS_ASSIGN(const auto other, entry_of(*found));
    if (!other || other->fingerprint != entry.fingerprint) misled_.push_back(entry.id);
    return {};
  }

  Result<std::optional<ChunkId>> lead_of(const Fingerprint& fingerprint) {
    DEDUPFS_ASSIGN(const auto value, volume_.database().get(Family::kFingerprints, text_of(fingerprint.bytes)));
    const auto id = value ? decode_chunk_id(*value) : Result<ChunkId>(Error{ErrorCode::kNotFound, ""});
    return id ? std::optional(*id) : std::nullopt;
  }

  // The directory entry of a chunk in its region; nothing if it cannot be read.
  Result<std::optional<RegionEntry>> entry_of(ChunkId id) {
    if (!last_extent_.contains(id)) {
      auto extent = find_extent(volume_.database(), id);
      if (!extent && extent.error().code() != ErrorCode::kCorruption) return extent.error();
      if (!extent || !*extent) return std::optional<RegionEntry>();
      last_extent_ = std::move(**extent);
    }
    if (bad_places_.contains(last_extent_.place)) return std::optional<RegionEntry>();
    const auto region = read(last_extent_.region());
    const RegionEntry* const entry = region ? (*region)->find(id) : nullptr;
    return entry == nullptr ? std::optional<RegionEntry>() : std::optional(*entry);
  }

  // No fingerprint may lead to a chunk that cannot be read and is not listed: new data would be stored as a reference to it,
  // and be lost. Nor may one that is not what its fingerprint says be unlisted: new data would be stored as a delta of it.
  Result<void> check_unreadable() {
    std::vector<std::uint64_t> numbers;
    for (const auto& [number, why] : store_.chunks.unreadable()) numbers.push_back(number);
    std::ranges::sort(numbers);  // so that each extent is decoded once
    for (const std::uint64_t number : numbers) {
      const ChunkId id{number};
      const std::string& why = store_.chunks.unreadable().at(number);
      DEDUPFS_ASSIGN(const auto entry, entry_of(id));
      if (!entry) continue;  // its region is damaged, which was reported
      if (std::ranges::any_of(entry->sources, [&](ChunkId source) { return store_.chunks.is_unreadable(source); }) ||
          std::ranges::any_of(entry->sources, [&](ChunkId source) { return !store_.chunks.length_of(source); }))
        store_.mismatched.erase(number);
      DEDUPFS_ASSIGN(const auto leads_to, lead_of(entry->fingerprint));
      const auto chunk =
          why.empty() ? volume_.chunks().get(id) : Result<PinnedBytes>(Error{ErrorCode::kCorruption, why});
      if (chunk && fingerprint_of(chunk->bytes) == entry->fingerprint) {  // even if its sources have errors
        store_.chunks.mark_readable(id);
        continue;
      }
      const std::string reason =
          chunk ? fmt::format("chunk {} is a delta of a damaged chunk", number) : chunk.error().message();
      if (!is_listed(id) && (leads_to == id || can_be_listed(number)))
        report_.error(reason);
      else
        report_.note(reason);
    }
    return {};
  }

  bool can_be_listed(std::uint64_t number) const {
    return store_.mismatched.contains(number) && listed_.size() < DamagedChunks::kMax;
  }

  Result<void> check_missing_fingerprints() {
    const auto is_readable = [this](ChunkId id) { return !store_.chunks.is_unreadable(id); };
    for (const ChunkId id : misled_)
      if (is_readable(id))
        report_.error(fmt::format("index: the fingerprint of chunk {} does not point to it", number_of(id)));
    if (const auto chunks = std::ranges::count_if(without_fingerprint_, is_readable); chunks != 0)
      report_.note(
          fmt::format("{} chunks have no fingerprint in the index; their content would be stored again", chunks));
    return {};
  }

  // Every chunk's fingerprint was found; there must be no others.
  Result<void> check_fingerprint_count() {
    std::uint64_t fingerprints = 0;
    const auto snapshot = volume_.database().snapshot();
    DEDUPFS_TRY(volume_.database().walk(*snapshot, Family::kFingerprints, [&](std::string_view, std::string_view) {
      ++fingerprints;
      return true;
    }));
    if (fingerprints > fingerprints_found_ && bad_places_.empty())
      report_.error(fmt::format("index: fingerprints that point to no chunk: {}", fingerprints - fingerprints_found_));
    return {};
  }

  // ------------------------------------------------------------ counters and containers

  // Numbers that were given away must not be given away again.
  Result<void> check_counters() {
    if (next_chunk_ < store_.chunks.end())
      report_.error(fmt::format("index: chunk {} exists, but the next id is {}", store_.chunks.end() - 1, next_chunk_));
    if (next_chunk_ == 0 || next_chunk_ > kEndOfChunkIds)
      report_.error(fmt::format("index: the next chunk id is {}, which is out of range", next_chunk_));
    DEDUPFS_ASSIGN(const std::uint64_t next_container, counter(kNextContainerCounter));
    if (!regions_.empty() && next_container <= regions_.rbegin()->first.container)
      report_.error(fmt::format("index: container {} is in use, but the next number is {}",
                                regions_.rbegin()->first.container, next_container));
    return {};
  }

  Result<std::uint64_t> counter(std::string_view name) {
    DEDUPFS_ASSIGN(const auto number, get_number(volume_.database(), name));
    return number.value_or(1);
  }

  // Whether a region between these offsets is.
  bool is_referred_to(std::uint32_t container, std::uint64_t from = 0, std::uint64_t to = UINT32_MAX) const {
    const auto region = regions_.lower_bound({container, static_cast<std::uint32_t>(from)});
    return region != regions_.end() && region->first.container == container && region->first.offset < to;
  }

  // Whether the index has chunks there that can be read, or that are not known to be lost.
  bool has_use_for(std::uint32_t container) const {
    for (const std::uint32_t offset : offsets_in(container)) {
      const auto bad = bad_places_.find({container, offset});
      if (bad == bad_places_.end() || bad->second) return true;
    }
    return false;
  }

  std::vector<std::uint32_t> offsets_in(std::uint32_t container) const {
    std::vector<std::uint32_t> offsets;
    for (auto region = regions_.lower_bound({container, 0});
         region != regions_.end() && region->first.container == container; ++region)
      offsets.push_back(region->first.offset);
    return offsets;
  }

  // Regions that the index does not refer to are leftovers of a crash, or wait for a reclaim.
  Result<void> check_containers() {
    for (const auto& container : containers_) DEDUPFS_TRY(check_container(container));
    if (unused_bytes_ != 0)
      report_.note(
          fmt::format("{} bytes in containers belong to no chunk of the index: garbage, left by a crash or a reclaim",
                      unused_bytes_));
    return {};
  }

  Result<void> check_container(const ContainerInfo& container) {
    if (container.damage && has_use_for(container.id))
      report_.error(container.damage->message());
    else if (container.damage)
      report_.note(container.damage->message());
    const auto scan = volume_.containers().scan(
        container.id, offsets_in(container.id), [this](RegionPlace place, const RegionHeader& header) -> Result<void> {
          const auto known = regions_.find(place);
          if (known == regions_.end())
            unused_bytes_ += header.disk_length();
          else if (known->second != header.disk_length())
            report_.error(fmt::format("index: the region in container {} at {} has {} bytes, not {}", place.container,
                                      place.offset, header.disk_length(), known->second));
          return {};
        });
    if (!scan && scan.error().code() == ErrorCode::kCorruption) return {};  // of another volume, which was said
    if (!scan) return scan.error();
    for (const auto& damage : scan->damage)
      if (!is_referred_to(container.id, damage.offset, damage.offset + damage.length)) unused_bytes_ += damage.length;
    return {};
  }

  Volume& volume_;
  CheckReport& report_;
  const StoreCheckScope& scope_;
  RegionCache cache_;
  std::vector<ContainerInfo> containers_;
  std::unordered_map<RegionPlace, std::shared_ptr<const Region>> directories_;
  std::size_t cached_entries_ = 0;
  ChunkExtent last_extent_;
  DamagedChunks listed_;
  CheckedStore store_;
  std::map<RegionPlace, std::uint32_t> regions_;  // that the index refers to, and how long they are on disk
  std::map<RegionPlace, bool> bad_places_;        // and whether they were reported as an error
  std::vector<ChunkId> without_fingerprint_;
  std::vector<ChunkId> misled_;  // their fingerprints lead to something else
  std::uint64_t fingerprints_found_ = 0;
  std::uint64_t next_chunk_ = 0;
  std::uint64_t unused_bytes_ = 0;
};

}  // namespace

Result<CheckedStore> check_store(Volume& volume, CheckReport& report, const StoreCheckScope& scope) {
  return StoreCheck(volume, report, scope).run();
}

}  // namespace dedupfs
