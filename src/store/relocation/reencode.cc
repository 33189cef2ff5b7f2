#include <algorithm>
#include <utility>

#include "base/check.h"
#include "store/chunks/fingerprint.h"
#include "store/relocation/relocator.h"

namespace dedupfs {
namespace {

// Another base is tried if a delta is longer than the old one by more than a fourth and by more than these bytes.
constexpr std::size_t kAboutAsLong = 64;

// The number of candidates with features in common.
constexpr std::size_t kMaxSimilarTried = 2;

class Reencoder {
 public:
  Reencoder(const RelocationParts& parts, RegionPacker& packer, const InGroup& in_group)
      : parts_(parts), deltas_(*parts.ingest.deltas), packer_(packer), in_group_(in_group) {}

  Result<std::uint32_t> store(const ChunkExtent& extent, ChunkId id, const std::vector<DeltaBasis>& bases,
                              const std::function<bool(ChunkId)>& may_be_source, std::uint64_t max_bytes) const;

 private:
  std::optional<EncodedDelta> encode(ByteSpan chunk, const RegionEntry& stored, const std::vector<DeltaBasis>& bases,
                                     const std::function<bool(ChunkId)>& may_be_source) const;
  std::vector<DeltaBasis> find_similar(ByteSpan chunk, const RegionEntry& stored,
                                       const std::function<bool(ChunkId)>& may_be_source) const;

  const RelocationParts& parts_;
  const DeltaStage& deltas_;
  RegionPacker& packer_;
  const InGroup& in_group_;
};

bool is_good(const EncodedDelta& delta, const RegionEntry& stored) {
  return delta.bytes.size() <= stored.payload_length + stored.payload_length / 4 + kAboutAsLong;
}

Result<std::uint32_t> Reencoder::store(const ChunkExtent& extent, ChunkId id, const std::vector<DeltaBasis>& bases,
                                       const std::function<bool(ChunkId)>& may_be_source,
                                       std::uint64_t max_bytes) const {
  DEDUPFS_ASSIGN(const auto region, parts_.reader.regions().get(extent.region()));
  const RegionEntry* const stored = region->find(id);
  if (stored == nullptr) return Error{ErrorCode::kCorruption, "a chunk is not where the index has it"};
  DEDUPFS_ASSIGN(const ChunkReader::Chunk chunk, parts_.reader.get(id));
  if (fingerprint_of(chunk.bytes.bytes) != stored->fingerprint)
    return Error{ErrorCode::kCorruption, "a chunk does not match its fingerprint"};

  const auto delta = encode(chunk.bytes.bytes, *stored, bases, may_be_source);
  const ByteSpan payload = delta ? ByteSpan(delta->bytes) : chunk.bytes.bytes;
  const auto bytes = static_cast<std::uint32_t>(payload.size());
  if (bytes > max_bytes) return bytes;
  RegionEntry entry = *stored;
  entry.payload_length = bytes;
  entry.sources = delta ? delta->sources : DeltaSources();
  entry.depth = delta ? delta->depth : std::uint8_t{0};
  entry.checksum = delta ? delta->checksum : 0;

  const Error busy{ErrorCode::kBusy, "the chunk is being stored"};
  // Within a group, a chunk that is pending now is still pending, or in the index, when it is packed. A chunk that was healed
  // meanwhile is less deep than before, and other deltas may rely on that.
  DEDUPFS_TRY(in_group_([&]() -> Result<void> {
    if (parts_.pending.locate(id)) return busy;
    DEDUPFS_ASSIGN(const auto now, find_extent_front(parts_.index, id));
    return now && now->place == extent.place && packer_.add_moved(entry, payload) ? Result<void>() : busy;
  }));
  return bytes;
}

std::optional<EncodedDelta> Reencoder::encode(ByteSpan chunk, const RegionEntry& stored,
                                              const std::vector<DeltaBasis>& bases,
                                              const std::function<bool(ChunkId)>& may_be_source) const {
  std::optional<EncodedDelta> smallest;
  const auto try_all = [&](const std::vector<DeltaBasis>& some) {
    for (const DeltaBasis& basis : some) {
      if (basis.sources.empty() || (smallest && is_good(*smallest, stored))) continue;
      auto delta = deltas_.encoder->encode_from(chunk, basis.sources, basis.base, stored.depth);
      if (delta && (!smallest || delta->bytes.size() < smallest->bytes.size())) smallest = std::move(delta);
    }
  };
  try_all(bases);
  if (!smallest || !is_good(*smallest, stored)) try_all(find_similar(chunk, stored, may_be_source));
  // A crash may leave this copy and not that of a source which is re-encoded in the same group, and is as deep as before in an
  // index that is made from the containers then.
  if (smallest &&
      std::ranges::any_of(smallest->sources, [&](ChunkId id) { return parts_.pending.locate(id).has_value(); }))
    smallest->depth = stored.depth;
  return smallest;
}

// The index of features leads to the newest chunks. One that may not be a source was made from others which are like it.
std::vector<DeltaBasis> Reencoder::find_similar(ByteSpan chunk, const RegionEntry& stored,
                                                const std::function<bool(ChunkId)>& may_be_source) const {
  std::vector<DeltaBasis> found;
  const auto candidates = deltas_.features.find(deltas_.encoder->sketch_of(chunk));
  if (!candidates) return found;
  for (ChunkId id : *candidates) {
    for (int depth = 0; depth <= kDeepestDelta && found.size() < kMaxSimilarTried; ++depth) {
      const auto candidate = parts_.reader.get(id);
      if (!candidate) break;
      if (id != stored.id && candidate->depth < stored.depth && may_be_source(id)) {
        if (std::ranges::find(found, id, &DeltaBasis::base) == found.end())
          found.push_back(basis_around(id, stored.id, may_be_source));
        break;
      }
      if (candidate->sources.empty()) break;
      id = likely_base(candidate->sources);
    }
  }
  return found;
}

}  // namespace

DeltaBasis basis_around(ChunkId base, ChunkId chunk, const std::function<bool(ChunkId)>& may_be_source) {
  constexpr std::uint64_t kNeighbours = 2;
  DeltaBasis basis{{}, base};
  const std::uint64_t first = number_of(base) - std::min(number_of(base), kNeighbours);
  for (std::uint64_t number = first; number <= number_of(base) + kNeighbours; ++number)
    if (const ChunkId id{number}; id != chunk && may_be_source(id)) basis.sources.push_back(id);
  return basis;
}

Result<std::uint32_t> Relocator::reencode(const ChunkExtent& extent, ChunkId id, const std::vector<DeltaBasis>& bases,
                                          const std::function<bool(ChunkId)>& may_be_source, std::uint64_t max_bytes,
                                          const InGroup& in_group) {
  DEDUPFS_CHECK(parts_.ingest.deltas != nullptr);  // Rebase looks at the superblock as the volume does
  DEDUPFS_TRY(parts_.ingest.check_writable());
  const PackerPool::Lease packer(parts_.ingest.moved_packers);
  return Reencoder(parts_, *packer, in_group).store(extent, id, bases, may_be_source, max_bytes);
}

}  // namespace dedupfs
