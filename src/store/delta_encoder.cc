#include "store/delta_encoder.h"

#include <algorithm>
#include <utility>

#include "base/raw_buffer.h"
#include "delta/xdelta3_codec.h"
#include "store/compressor.h"
#include "store/format.h"
#include "store/joined_chunks.h"

namespace dedupfs {
namespace {

// What can be asked for can be written down, and what can be written down can be coded.
static_assert(DeltaSettings::kDeepest <= kDeepestDelta && 1 + 2 * DeltaSettings::kMostNeighbours <= kMostDeltaSources);
static_assert(kLargestDeltaChunkBytes <= Xdelta3Codec::kMaxTargetBytes &&
              kLargestDeltaSourceBytes <= Xdelta3Codec::kMaxSourceBytes);

// Below, the fingerprint and the names of the sources outweigh what a delta saves.
constexpr std::size_t kSmallestChunkBytes = 512;
// A delta of less than an eighth is good: no other base is looked for.
constexpr std::size_t kGoodShare = 8;
// A delta of more than five eighths of the chunk never pays.
constexpr std::size_t largest_delta(std::size_t chunk_bytes) {
  return chunk_bytes * 5 / 8;
}
// Candidates from the feature index that are tried.
constexpr std::size_t kMostCandidates = 2;

// Whether it takes less disk than the chunk would, with a margin: compressed among its neighbours the chunk gets smaller than
// alone, and a delta costs reads another region. Found by trial, see docs/delta.md.
bool pays(ByteSpan delta, ByteSpan chunk) {
  constexpr std::size_t kClearlySmallerShare = 64;
  if (delta.size() <= chunk.size() / kClearlySmallerShare) return true;
  return compressed_size(delta) * 10 < compressed_size(chunk) * 6;
}

}  // namespace

struct DeltaEncoder::Source {
  JoinedChunks bytes;
  std::vector<ChunkId> ids;
  std::uint8_t depth = 0;         // of the deepest
  std::size_t likely_offset = 0;  // in the bytes
};

DeltaEncoder::DeltaEncoder(const DeltaSettings& settings, std::unique_ptr<ResemblanceDetector> detector,
                           ChunkReader& reader, FeatureIndex& features, const StreamOrder& order)
    : settings_(settings), detector_(std::move(detector)), reader_(reader), features_(features), order_(order) {}

Result<std::unique_ptr<DeltaEncoder>> DeltaEncoder::make(const DeltaSettings& settings, ChunkReader& reader,
                                                         FeatureIndex& features, const StreamOrder& order) {
  DEDUPFS_ASSIGN(const Isa isa, default_isa());
  DEDUPFS_ASSIGN(auto detector, make_resemblance_detector(settings.method, isa));
  return std::unique_ptr<DeltaEncoder>(new DeltaEncoder(settings, std::move(detector), reader, features, order));
}

std::optional<DeltaEncoder::Source> DeltaEncoder::source_around(ChunkId base) const {
  auto chunk = reader_.get(base);
  if (!chunk) return std::nullopt;

  Source source;
  std::vector<ChunkReader::Chunk> chunks;
  ChunkId likeliest = base;
  if (!may_be_source(chunk->depth)) {
    // What it was made from may be a source, and resembles the new chunk nearly as much.
    source.ids = chunk->sources;
    likeliest = source.ids[source.ids.size() / 2];  // its own base, as a rule
    for (const ChunkId id : source.ids) {
      auto part = reader_.get(id);
      if (!part || !may_be_source(part->depth)) return std::nullopt;
      chunks.push_back(std::move(*part));
    }
  } else {
    source.ids = {base};
    chunks.push_back(std::move(*chunk));
    const auto take = [&](ChunkId id) {
      if (std::ranges::find(source.ids, id) != source.ids.end()) return false;
      auto neighbour = reader_.get(id);
      if (!neighbour || !may_be_source(neighbour->depth)) return false;
      source.ids.push_back(id);
      chunks.push_back(std::move(*neighbour));
      return true;
    };
    ChunkId id = base;
    for (int i = 0; i < settings_.neighbours; ++i)
      if (id = order_.before(id); !take(id)) break;
    std::ranges::reverse(source.ids);
    std::ranges::reverse(chunks);
    id = base;
    for (int i = 0; i < settings_.neighbours; ++i)
      if (id = order_.after(id); !take(id)) break;
  }

  for (std::size_t i = 0; i < chunks.size(); ++i) {
    if (source.ids[i] == likeliest) source.likely_offset = source.bytes.size();
    source.depth = std::max(source.depth, chunks[i].depth);
    source.bytes.append(std::move(chunks[i].bytes));
  }
  if (source.bytes.size() > kLargestDeltaSourceBytes) return std::nullopt;
  return source;
}

void DeltaEncoder::try_base(ByteSpan chunk, ChunkId base, std::optional<EncodedDelta>& smallest) const {
  const auto source = source_around(base);
  if (!source) return;
  ByteBuffer delta(smallest ? smallest->bytes.size() - 1 : largest_delta(chunk.size()));
  if (delta.empty()) return;
  const ByteSpan source_bytes = source->bytes.bytes();
  const auto length = Xdelta3Codec::encode(source_bytes, chunk, delta, source->likely_offset);
  if (!length || !*length) return;
  delta.resize(**length);
  // Decoding takes a tenth of the time of encoding: no delta is trusted that was not tried.
  thread_local RawBuffer decoded;
  decoded.resize(chunk.size());
  if (!Xdelta3Codec::decode(source_bytes, delta, decoded) || !std::ranges::equal(decoded, chunk)) return;
  smallest = EncodedDelta{std::move(delta), source->ids, static_cast<std::uint8_t>(source->depth + 1),
                          delta_checksum_of(chunk), base};
}

DeltaEncoder::Finding DeltaEncoder::encode(ByteSpan chunk, std::optional<ChunkId> previous) const {
  Finding finding;
  finding.sketch = detector_->sketch_of(chunk);
  if (chunk.size() < kSmallestChunkBytes || chunk.size() > kLargestDeltaChunkBytes) return finding;

  std::optional<ChunkId> tried;
  if (previous) {
    tried = order_.after(*previous);
    try_base(chunk, *tried, finding.delta);
  }
  if (!finding.delta || finding.delta->bytes.size() > chunk.size() / kGoodShare) {
    auto candidates = features_.find(finding.sketch);
    if (candidates) {
      if (candidates->size() > kMostCandidates) candidates->resize(kMostCandidates);
      for (const ChunkId candidate : *candidates)
        if (candidate != tried) try_base(chunk, candidate, finding.delta);
    }
  }
  if (finding.delta && !pays(finding.delta->bytes, chunk)) finding.delta.reset();
  return finding;
}

}  // namespace dedupfs
