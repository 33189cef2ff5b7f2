#include "store/store_check.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>

#include "base/coding.h"
#include "store/fingerprint.h"
#include "store/region_cache.h"

namespace dedupfs {
namespace {

// Regions of one stream follow one another; those of concurrent streams alternate.
constexpr std::size_t kCacheBytes = 32 << 20;

class StoreCheck {
 public:
  StoreCheck(Volume& volume, CheckReport& report)
      : volume_(volume),
        report_(report),
        cache_(kCacheBytes, [this](RegionPlace place) { return volume_.containers().read(place); }) {}

  Result<ChunkTable> run() {
    check_superblock_copies();
    DEDUPFS_TRY(check_index());
    DEDUPFS_TRY(check_fingerprint_count());
    DEDUPFS_TRY(check_counters());
    DEDUPFS_TRY(check_containers());
    return std::move(table_);
  }

 private:
  void check_superblock_copies() {
    for (const std::string_view name : {kSuperblockFile, kSuperblockCopyFile}) {
      const auto text = read_file(volume_.backing(), volume_.path() / name, kLargestSuperblockBytes);
      const auto parsed = text ? decode_superblock(*text) : Result<Superblock>(text.error());
      if (!parsed) report_.error(fmt::format("{}: {}", name, parsed.error().message()));
    }
  }

  Result<void> check_index() {
    const auto snapshot = volume_.database().snapshot();
    std::optional<Error> fatal;
    DEDUPFS_TRY(volume_.database().walk(*snapshot, Family::kChunks, [&](std::string_view key, std::string_view value) {
      const auto run = decode_run(key, value);
      if (!run) {
        report_.error(run.error().message());
      } else if (!table_.add(*run)) {
        report_.error(fmt::format("index: the run of chunks from {} overlaps another", number_of(run->first)));
      } else if (auto checked = check_run(*run); !checked) {
        fatal = checked.error();
      }
      return !fatal;
    }));
    if (fatal) return *fatal;
    return {};
  }

  Result<void> check_run(const ChunkRun& run) {
    const auto known = regions_.try_emplace(run.place, run.region_disk_bytes).first;
    if (known->second != run.region_disk_bytes)
      report_.error(fmt::format("index: the run of chunks from {} takes its region for {} bytes long, another for {}",
                                number_of(run.first), run.region_disk_bytes, known->second));
    const auto region = cache_.get(run.place);
    if (!region) {
      if (bad_places_.insert(run.place).second) report_.error(region.error().message());
      return {};
    }
    if (const std::size_t bytes = (*region)->payload.size(); bytes != run.region_payload_bytes)
      report_.error(
          fmt::format("index: the run of chunks from {} takes its region for one of {} bytes of chunks, not {}",
                      number_of(run.first), run.region_payload_bytes, bytes));
    for (std::size_t i = 0; i < run.chunks.size(); ++i) {
      const ChunkId id{number_of(run.first) + i};
      const RegionEntry* const entry = (*region)->find(id);
      if (entry == nullptr || entry->raw_length != run.chunks[i].raw_length ||
          entry->payload_length != run.chunks[i].payload_length() || entry->sources != run.chunks[i].sources) {
        report_.error(fmt::format("chunk {} is not in container {} at {} as the index says", number_of(id),
                                  run.place.container, run.place.offset));
        continue;
      }
      DEDUPFS_TRY(check_chunk(**region, *entry));
    }
    return {};
  }

  Result<void> check_chunk(const Region& region, const RegionEntry& entry) {
    const auto chunk =
        entry.is_delta() ? volume_.chunks().get(entry.id) : Result<PinnedBytes>({region.payload_of(entry), nullptr});
    if (!chunk)
      report_.error(chunk.error().message());
    else if (fingerprint_of(chunk->bytes) != entry.fingerprint)
      report_.error(fmt::format("chunk {} does not match its fingerprint", number_of(entry.id)));
    DEDUPFS_ASSIGN(const auto value, volume_.database().get(Family::kFingerprints, text_of(entry.fingerprint.bytes)));
    const auto known = value ? decode_chunk_id(*value) : Result<ChunkId>(Error{ErrorCode::kNotFound, ""});
    if (known && *known == entry.id)
      ++fingerprints_found_;
    else
      report_.error(fmt::format("index: the fingerprint of chunk {} does not lead to it", number_of(entry.id)));
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
      report_.error(fmt::format("index: fingerprints that lead to no chunk: {}", fingerprints - fingerprints_found_));
    return {};
  }

  // Numbers that were given away must not be given away again.
  Result<void> check_counters() {
    DEDUPFS_ASSIGN(const std::uint64_t next_chunk, counter(kNextChunkIdCounter));
    if (next_chunk < table_.end())
      report_.error(fmt::format("index: chunk {} is there, but {} is to be the next", table_.end() - 1, next_chunk));
    DEDUPFS_ASSIGN(const std::uint64_t next_container, counter(kNextContainerCounter));
    if (!regions_.empty() && next_container <= regions_.rbegin()->first.container)
      report_.error(fmt::format("index: container {} is referred to, but {} is to be the next",
                                regions_.rbegin()->first.container, next_container));
    return {};
  }

  // It parses: the volume was opened with it.
  Result<std::uint64_t> counter(std::string_view name) {
    DEDUPFS_ASSIGN(const auto value, volume_.database().get(Family::kCounters, name));
    return value ? Decoder(*value).u64() : 1;
  }

  bool is_referred_to(std::uint32_t container, std::uint64_t from_offset = 0) const {
    const auto region = regions_.lower_bound({container, static_cast<std::uint32_t>(from_offset)});
    return region != regions_.end() && region->first.container == container;
  }

  // Regions that the index does not refer to are what a crash leaves behind, or what waits for reclaim.
  Result<void> check_containers() {
    std::uint64_t unused_bytes = 0;
    DEDUPFS_ASSIGN(const auto containers, volume_.containers().list());
    for (const auto& container : containers) {
      if (container.damage && is_referred_to(container.id))
        report_.error(container.damage->message());
      else if (container.damage)
        report_.note(container.damage->message());
      DEDUPFS_ASSIGN(const auto walk, volume_.containers().walk(container.id));
      for (const auto& [place, header] : walk.regions) {
        const auto known = regions_.find(place);
        if (known == regions_.end())
          unused_bytes += header.disk_length();
        else if (known->second != header.disk_length())
          report_.error(fmt::format("index: the region in container {} at {} has {} bytes, not {}", place.container,
                                    place.offset, header.disk_length(), known->second));
      }
      if (walk.stopped_by && !is_referred_to(container.id, walk.end_offset))
        unused_bytes += container.bytes - walk.end_offset;
    }
    if (unused_bytes != 0)
      report_.note(fmt::format("{} bytes in containers belong to no committed chunk (left by a crash)", unused_bytes));
    return {};
  }

  Volume& volume_;
  CheckReport& report_;
  RegionCache cache_;
  ChunkTable table_;
  std::map<RegionPlace, std::uint32_t> regions_;  // that the index refers to, and how long they are on disk
  std::set<RegionPlace> bad_places_;
  std::uint64_t fingerprints_found_ = 0;
};

}  // namespace

bool ChunkTable::add(const ChunkRun& run) {
  const std::uint64_t first = number_of(run.first);
  if (!runs_.empty() && first < runs_.back().end) return false;
  runs_.push_back({first, first + run.chunks.size(), lengths_.size()});
  for (const ChunkRun::Chunk& chunk : run.chunks) lengths_.push_back(chunk.raw_length);
  return true;
}

std::optional<std::uint32_t> ChunkTable::length_of(ChunkId id) const {
  const auto after = std::ranges::upper_bound(runs_, number_of(id), {}, &Run::first);
  if (after == runs_.begin()) return std::nullopt;
  const Run& run = *std::prev(after);
  if (number_of(id) >= run.end) return std::nullopt;
  return lengths_[run.index + (number_of(id) - run.first)];
}

Result<ChunkTable> check_store(Volume& volume, CheckReport& report) {
  return StoreCheck(volume, report).run();
}

}  // namespace dedupfs
