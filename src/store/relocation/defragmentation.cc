#include <algorithm>
#include <unordered_map>
#include <utility>

#include "store/chunks/chunk_reader.h"
#include "store/chunks/extent_finder.h"
#include "store/chunks/fingerprint.h"
#include "store/relocation/chunk_mover.h"
#include "store/relocation/defragmentation_plan.h"
#include "store/relocation/recently_used.h"
#include "store/relocation/relocator.h"
#include "store/relocation/restore_estimate.h"

namespace dedupfs {
namespace {

constexpr std::uint32_t kYoungShare = 4;
constexpr std::size_t kMaxReadsPerChunk = 1 << 10;

// Containers from this number on are young: the last quarter of the existing ones by number. So a moved chunk stays at least
// until a third more has been stored, even if other streams need it elsewhere.
std::uint32_t first_young_container(std::uint32_t first, std::uint32_t end) {
  return end - std::max<std::uint32_t>(1, (end - first) / kYoungShare);
}

class Defragmentation {
 public:
  Defragmentation(unsigned percent, const RelocationParts& parts, RegionPacker& packer, const InGroup& in_group)
      : percent_(percent),
        containers_(parts.containers),
        extents_(parts.index),
        reader_(parts.reader),
        mover_(parts, packer, in_group, [this](const ChunkMover::Copy& copy) {
          ++findings_.chunks;
          findings_.bytes += copy.entry.payload_length;
        }) {}

  Result<MovedBytes> run(const RecentReferences::Window& window) {
    DEDUPFS_TRY(look_up(window.ids));
    DEDUPFS_ASSIGN(const auto numbers, containers_.numbers_from(0));
    if (numbers.empty()) return findings_;
    const auto chosen = plan_defragmentation(
        needed_, {.moved_bytes = window.bytes * percent_ / 100,
                  .grown_bytes = window.new_bytes * percent_ / 100,
                  .cache_bytes = RestoreEstimate::kCacheBytes,
                  .end_container = first_young_container(numbers.front(), containers_.next_container())});
    for (const std::uint32_t at : chosen) {
      if (!reader_.is_near(needed_.chunks[at].id)) continue;
      if (auto copy = copy_of(needed_.chunks[at]))  // readers report a chunk that cannot be read
        DEDUPFS_TRY(mover_.add(std::move(*copy)));
    }
    DEDUPFS_TRY(mover_.finish());
    return findings_;
  }

 private:
  // The chunks that a reader of the references needs. For a delta that is not in the cache any more, these include its sources.
  Result<void> look_up(const std::vector<ChunkId>& references) {
    RecentlyUsed<ChunkId> decoded(RestoreEstimate::kDecodedCacheBytes);
    std::unordered_map<ChunkId, std::uint32_t> known;
    std::vector<ChunkId> wanted;  // the next one last
    for (const ChunkId reference : references) {
      std::uint32_t wanted_for = 0;
      wanted.push_back(reference);
      for (std::size_t left = kMaxReadsPerChunk; !wanted.empty() && left != 0; --left) {
        const ChunkId id = wanted.back();
        wanted.pop_back();
        DEDUPFS_ASSIGN(const ChunkExtent* const extent, extents_.find(id));
        if (extent == nullptr) continue;  // deleted meanwhile
        const ChunkExtent::Chunk& chunk = extent->at(id);
        if (chunk.is_delta() && decoded.use(id, chunk.raw_length)) continue;
        const auto [at, is_new] = known.emplace(id, needed_.chunks.size());
        if (is_new)
          needed_.chunks.push_back(
              {id, extent->place, extent->region_payload_bytes, chunk.raw_length, chunk.is_delta()});
        if (id == reference) wanted_for = at->second;
        needed_.reads.push_back({at->second, wanted_for});
        wanted.insert(wanted.end(), chunk.sources.rbegin(), chunk.sources.rend());
      }
      wanted.clear();
    }
    extents_.forget_all();
    return {};
  }

  Result<ChunkMover::Copy> copy_of(const NeededChunk& chunk) {
    DEDUPFS_ASSIGN(const ChunkReader::Stored stored, reader_.get_stored(chunk.id));
    ChunkMover::Copy copy{chunk.place, stored.entry, {stored.payload.bytes.begin(), stored.payload.bytes.end()}};
    if (!copy.entry.is_delta()) return copy;
    DEDUPFS_ASSIGN(const ChunkReader::Chunk made, reader_.get(chunk.id));
    if (fingerprint_of(made.bytes.bytes) != copy.entry.fingerprint)
      return Error{ErrorCode::kCorruption, "a delta makes other bytes than its fingerprint says"};
    copy.payload.assign(made.bytes.bytes.begin(), made.bytes.bytes.end());
    copy.entry.payload_length = copy.entry.raw_length;
    copy.entry.sources.clear();
    copy.entry.depth = 0;
    copy.entry.checksum = 0;
    return copy;
  }

  const unsigned percent_;
  const ContainerStore& containers_;
  ExtentFinder extents_;
  ChunkReader& reader_;
  ChunkMover mover_;
  NeededOrder needed_;
  MovedBytes findings_;
};

}  // namespace

Result<MovedBytes> Relocator::defragment(const RecentReferences::Window& window, unsigned percent,
                                         const InGroup& in_group) {
  const PackerPool::Lease packer(parts_.ingest.moved_packers);
  DEDUPFS_ASSIGN(const MovedBytes moved, Defragmentation(percent, parts_, *packer, in_group).run(window));
  dropped_.add(moved.bytes);  // the former copies are nobody's
  return moved;
}

}  // namespace dedupfs
