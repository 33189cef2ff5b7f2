#include "store/ingest/delta_encoder.h"

#include <algorithm>
#include <utility>

#include "base/raw_buffer.h"
#include "codec/registry.h"
#include "delta/xdelta3_codec.h"
#include "store/chunks/joined_chunks.h"
#include "store/format/delta_sources.h"
#include "store/format/format.h"

namespace dedupfs {
namespace {

// Every allowed setting can be stored, and every stored value can be encoded.
static_assert(DeltaSettings::kDeepest <= kDeepestDelta && 1 + 2 * DeltaSettings::kMaxNeighbours <= kMaxDeltaSources);
static_assert(kMaxDeltaChunkBytes <= Xdelta3Codec::kMaxTargetBytes &&
              kMaxDeltaSourceBytes <= Xdelta3Codec::kMaxSourceBytes);

// Below, the fingerprint and the names of the sources outweigh what a delta saves.
constexpr std::size_t kMinChunkBytes = 512;
// A delta of less than an eighth is good: no other base is looked for.
constexpr std::size_t kGoodShare = 8;
// A delta of more than five eighths of the chunk never pays.
constexpr std::size_t largest_delta(std::size_t chunk_bytes) {
  return chunk_bytes * 5 / 8;
}
// A chunk that would have no delta otherwise may be this many times as deep as others.
constexpr int kMaxTimesDeeper = 2;
// Candidates from the feature index that are tried.
constexpr std::size_t kMaxCandidates = 2;

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
    : settings_(settings),
      end_of_depths_(std::min(kMaxTimesDeeper * settings.depth, int{kDeepestDelta})),
      detector_(std::move(detector)),
      reader_(reader),
      features_(features),
      order_(order) {}

Result<std::unique_ptr<DeltaEncoder>> DeltaEncoder::make(const DeltaSettings& settings, ChunkReader& reader,
                                                         FeatureIndex& features, const StreamOrder& order) {
  DEDUPFS_ASSIGN(const Isa isa, default_isa());
  DEDUPFS_ASSIGN(auto detector, make_resemblance_detector(settings.method, isa));
  return std::unique_ptr<DeltaEncoder>(new DeltaEncoder(settings, std::move(detector), reader, features, order));
}

std::optional<DeltaEncoder::Source> DeltaEncoder::source_around(ChunkId base, int end_depth) const {
  auto chunk = reader_.get(base);
  if (!chunk) return std::nullopt;

  std::vector<ChunkId> ids;
  std::vector<ChunkReader::Chunk> chunks;
  ChunkId likeliest = base;
  if (chunk->depth >= end_depth) {
    // The sources of this chunk may be sources, and resemble the new chunk nearly as much.
    ids = chunk->sources;
    likeliest = likely_base(ids);
    for (const ChunkId id : ids) {
      auto part = reader_.get(id);
      if (!part || part->depth >= end_depth) return std::nullopt;
      chunks.push_back(std::move(*part));
    }
  } else {
    ids = {base};
    chunks.push_back(std::move(*chunk));
    const auto take = [&](ChunkId id) {
      if (std::ranges::find(ids, id) != ids.end()) return false;
      auto neighbour = reader_.get(id);
      if (!neighbour || neighbour->depth >= end_depth) return false;
      ids.push_back(id);
      chunks.push_back(std::move(*neighbour));
      return true;
    };
    ChunkId id = base;
    for (int i = 0; i < settings_.neighbours; ++i)
      if (id = order_.before(id); !take(id)) break;
    std::ranges::reverse(ids);
    std::ranges::reverse(chunks);
    id = base;
    for (int i = 0; i < settings_.neighbours; ++i)
      if (id = order_.after(id); !take(id)) break;
  }
  return joined(std::move(ids), std::move(chunks), likeliest);
}

std::optional<DeltaEncoder::Source> DeltaEncoder::joined(std::vector<ChunkId> ids,
                                                         std::vector<ChunkReader::Chunk> chunks, ChunkId likeliest) {
  Source source;
  source.ids = std::move(ids);
  for (std::size_t i = 0; i < chunks.size(); ++i) {
    if (source.ids[i] == likeliest) source.likely_offset = source.bytes.size();
    source.depth = std::max(source.depth, chunks[i].depth);
    source.bytes.append(std::move(chunks[i].bytes));
  }
  if (source.ids.empty() || source.bytes.size() > kMaxDeltaSourceBytes) return std::nullopt;
  return source;
}

void DeltaEncoder::try_source(ByteSpan chunk, ChunkId base, const std::optional<Source>& source,
                              std::optional<EncodedDelta>& smallest) {
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
  if (chunk.size() < kMinChunkBytes || chunk.size() > kMaxDeltaChunkBytes) return finding;

  std::vector<ChunkId> bases;
  const auto try_base = [&](ChunkId base) {
    try_source(chunk, base, source_around(base, settings_.depth), finding.delta);
    bases.push_back(base);
  };
  const auto keep_if_it_pays = [&] {
    if (finding.delta && !pays(finding.delta->bytes, chunk)) finding.delta.reset();
  };
  if (previous) try_base(order_.after(*previous));
  if (!finding.delta || finding.delta->bytes.size() > chunk.size() / kGoodShare) {
    auto candidates = features_.find(finding.sketch);
    if (candidates) {
      if (candidates->size() > kMaxCandidates) candidates->resize(kMaxCandidates);
      for (const ChunkId candidate : *candidates)
        if (std::ranges::find(bases, candidate) == bases.end()) try_base(candidate);
    }
  }
  keep_if_it_pays();
  if (finding.delta) return finding;
  // Few get that far, and each would take as much as dozens of deltas.
  for (const ChunkId base : bases) {
    const auto known = reader_.get(base);
    if (!known || may_be_source(known->depth)) continue;  // it was tried with all that there is
    try_source(chunk, base, source_around(base, end_of_depths_), finding.delta);
  }
  keep_if_it_pays();
  return finding;
}

std::optional<EncodedDelta> DeltaEncoder::encode_from(ByteSpan chunk, const std::vector<ChunkId>& sources, ChunkId base,
                                                      std::uint8_t max_depth) const {
  std::vector<ChunkId> ids;
  std::vector<ChunkReader::Chunk> chunks;
  for (const ChunkId id : sources) {
    auto part = reader_.get(id);
    if (!part || part->depth >= max_depth) continue;
    ids.push_back(id);
    chunks.push_back(std::move(*part));
  }
  std::optional<EncodedDelta> delta;
  try_source(chunk, base, joined(std::move(ids), std::move(chunks), base), delta);
  if (delta && !pays(delta->bytes, chunk)) delta.reset();
  return delta;
}

}  // namespace dedupfs
