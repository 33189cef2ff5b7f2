#include "store/ingest/delta_encoder.h"

#include <algorithm>
#include <atomic>
#include <cstring>
#include <utility>

#include "base/inline_vector.h"
#include "base/raw_buffer.h"
#include "delta/xdelta3_codec.h"
#include "store/chunks/joined_chunks.h"
#include "store/format/delta_sources.h"
#include "store/format/format.h"
#include "store/ingest/delta_worth.h"
#include "store/ingest/source_windows.h"

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
// The same of the chunk that it replaces. There are more of these, and hardly ever is another one nearer: an overwrite of a page may
// change half of a small chunk.
constexpr std::size_t kGoodInPlaceShare = 3;
// A delta of more than five eighths of the chunk never pays.
constexpr std::size_t largest_delta(std::size_t chunk_bytes) {
  return chunk_bytes * 5 / 8;
}
// A chunk that would have no delta otherwise may be this many times as deep as others.
constexpr int kMaxTimesDeeper = 2;
// Candidates from the feature index that are tried.
constexpr std::size_t kMaxCandidates = 2;

// What a thread keeps from chunk to chunk. Names of chunks are those of one encoder.
struct Workspace {
  std::uint64_t encoder = 0;
  SourceWindows windows;
  RawBuffer delta;
  RawBuffer decoded;
};

std::uint64_t next_encoder() {
  static std::atomic<std::uint64_t> encoders = 0;
  return ++encoders;
}

Workspace& workspace_of(std::uint64_t encoder) {
  thread_local std::unique_ptr<Workspace> workspace;
  if (!workspace || workspace->encoder != encoder) {
    workspace = std::make_unique<Workspace>();
    workspace->encoder = encoder;
  }
  return *workspace;
}

bool are_same(ByteSpan a, ByteSpan b) {
  return a.size() == b.size() && std::memcmp(a.data(), b.data(), a.size()) == 0;
}

}  // namespace

struct DeltaEncoder::Source {
  JoinedChunks bytes;
  DeltaSources ids;
  InlineVector<std::uint8_t, kMaxDeltaSources> depths;  // of the chunks
  std::size_t likely_offset = 0;                        // in the bytes

  // What of it a delta needs: chunks that lie side by side.
  struct Part {
    DeltaSources ids;
    std::size_t offset = 0;  // in the bytes
    std::size_t length = 0;
    std::uint8_t depth = 0;  // of the deepest
  };
  // Of one that copies nothing, the chunk that it was expected to resemble.
  Part part_for(Xdelta3Codec::Range range) const {
    if (range.begin == range.end) range = {.begin = likely_offset, .end = likely_offset + 1};
    Part part;
    std::size_t begin = 0;
    for (std::size_t i = 0; i < ids.size(); begin += bytes.bytes_of(i++)) {
      if (begin + bytes.bytes_of(i) <= range.begin || begin >= range.end) continue;
      if (part.ids.empty()) part.offset = begin;
      part.ids.push_back(ids[i]);
      part.length += bytes.bytes_of(i);
      part.depth = std::max(part.depth, depths[i]);
    }
    return part;
  }
};

DeltaEncoder::DeltaEncoder(const DeltaSettings& settings, Shortcuts shortcuts,
                           std::unique_ptr<ResemblanceDetector> detector, ChunkReader& reader, FeatureIndex& features,
                           const StreamOrder& order, std::uint64_t far_bytes_an_hour)
    : settings_(settings),
      shortcuts_(shortcuts),
      number_(next_encoder()),
      end_of_depths_(std::min(kMaxTimesDeeper * settings.depth, int{kDeepestDelta})),
      detector_(std::move(detector)),
      reader_(reader),
      features_(features),
      order_(order),
      far_(std::make_unique<FarBudget>(far_bytes_an_hour)) {}

Result<std::unique_ptr<DeltaEncoder>> DeltaEncoder::make(const DeltaSettings& settings, ChunkReader& reader,
                                                         FeatureIndex& features, const StreamOrder& order,
                                                         std::uint64_t far_bytes_an_hour) {
  DEDUPFS_ASSIGN(const Shortcuts shortcuts, Shortcuts::of_environment());
  return make(settings, reader, features, order, far_bytes_an_hour, shortcuts);
}

Result<std::unique_ptr<DeltaEncoder>> DeltaEncoder::make(const DeltaSettings& settings, ChunkReader& reader,
                                                         FeatureIndex& features, const StreamOrder& order,
                                                         std::uint64_t far_bytes_an_hour, Shortcuts shortcuts) {
  DEDUPFS_ASSIGN(const Isa isa, default_isa());
  DEDUPFS_ASSIGN(auto detector, make_resemblance_detector(settings.method, isa));
  return std::unique_ptr<DeltaEncoder>(
      new DeltaEncoder(settings, shortcuts, std::move(detector), reader, features, order, far_bytes_an_hour));
}

// A delta that needs something from far away would make a writer wait for it.
template <typename Read, typename T>
std::optional<T> DeltaEncoder::read_source(ChunkId id, const Read& read) const {
  const bool is_near = reader_.is_near(id);
  if (!is_near && !far_->take()) return std::nullopt;
  auto found = read();
  if (found) return std::optional<T>(std::move(*found));
  if (!is_near) far_->give_up();
  return std::nullopt;
}

std::optional<ChunkReader::Chunk> DeltaEncoder::source_chunk(ChunkId id) const {
  return read_source(id, [&] { return reader_.get(id); });
}

std::optional<DeltaEncoder::Source> DeltaEncoder::source_around(ChunkId base, int end_depth, int neighbours) const {
  // One that is too deep is not made, which takes the longest of all: its sources are all that is needed of it.
  auto chunk = read_source(base, [&]() -> Result<ChunkReader::Chunk> {
    DEDUPFS_ASSIGN(const ChunkReader::Stored stored, reader_.get_stored(base));
    if (stored.entry.depth >= end_depth) return ChunkReader::Chunk{{}, stored.entry.depth, stored.entry.sources};
    return reader_.get(base);
  });
  if (!chunk) return std::nullopt;

  DeltaSources ids;
  std::vector<ChunkReader::Chunk> chunks;
  ChunkId likeliest = base;
  if (chunk->depth >= end_depth) {
    // The sources of this chunk may be sources, and resemble the new chunk nearly as much.
    ids = chunk->sources;
    likeliest = likely_base(ids);
    for (const ChunkId id : ids) {
      auto part = source_chunk(id);
      if (!part || part->depth >= end_depth) return std::nullopt;
      chunks.push_back(std::move(*part));
    }
  } else {
    ids = {base};
    chunks.push_back(std::move(*chunk));
    const auto take = [&](ChunkId id) {
      if (std::ranges::find(ids, id) != ids.end()) return false;
      auto neighbour = source_chunk(id);
      if (!neighbour || neighbour->depth >= end_depth) return false;
      ids.push_back(id);
      chunks.push_back(std::move(*neighbour));
      return true;
    };
    ChunkId id = base;
    for (int i = 0; i < neighbours; ++i)
      if (id = order_.before(id); !take(id)) break;
    std::ranges::reverse(ids);
    std::ranges::reverse(chunks);
    id = base;
    for (int i = 0; i < neighbours; ++i)
      if (id = order_.after(id); !take(id)) break;
  }
  return joined(ids, std::move(chunks), likeliest);
}

// The chunk alone: its neighbours did not change. If it is too deep, its own sources; they have its bytes elsewhere.
std::optional<DeltaEncoder::Source> DeltaEncoder::source_in_place(ReplacedChunk replaced) const {
  auto source = source_around(replaced.id, settings_.depth, 0);
  if (source && source->likely_offset + replaced.offset < source->bytes.size())
    source->likely_offset += replaced.offset;
  return source;
}

std::optional<DeltaEncoder::Source> DeltaEncoder::joined(const DeltaSources& ids,
                                                         std::vector<ChunkReader::Chunk> chunks, ChunkId likeliest) {
  Source source;
  source.ids = ids;
  for (std::size_t i = 0; i < chunks.size(); ++i) {
    if (source.ids[i] == likeliest) source.likely_offset = source.bytes.size();
    source.depths.push_back(chunks[i].depth);
    source.bytes.append(std::move(chunks[i].bytes));
  }
  if (source.ids.empty() || source.bytes.size() > kMaxDeltaSourceBytes) return std::nullopt;
  return source;
}

std::optional<std::size_t> DeltaEncoder::encoded(const Source& source, ByteSpan chunk, MutableByteSpan delta,
                                                 SourceWindows& windows) const {
  Result<std::optional<std::size_t>> length;
  if (shortcuts_.has(Shortcut::kWindows)) {
    const SourceWindows::View view = windows.view(source.ids, source.bytes);
    length = Xdelta3Codec::encode(view.bytes, chunk, delta, source.likely_offset, view.finder, view.moved_by);
  } else {
    length = Xdelta3Codec::encode(source.bytes.bytes(), chunk, delta, source.likely_offset);
  }
  return length ? *length : std::nullopt;
}

void DeltaEncoder::try_source(ByteSpan chunk, ChunkId base, const std::optional<Source>& source,
                              std::optional<EncodedDelta>& smallest) const {
  if (!source) return;
  const std::size_t max_bytes = smallest ? smallest->bytes.size() - 1 : largest_delta(chunk.size());
  if (max_bytes == 0) return;
  Workspace& workspace = workspace_of(number_);
  workspace.delta.resize(std::max(workspace.delta.size(), max_bytes));
  const auto length = encoded(*source, chunk, MutableByteSpan(workspace.delta).first(max_bytes), workspace.windows);
  if (!length) return;
  const ByteSpan delta = ByteSpan(workspace.delta).first(*length);
  // Decoding takes a tenth of the time of encoding: no delta is trusted that was not tried. Not from the bytes that it was made
  // from, but from those that a reader will have.
  workspace.decoded.resize(std::max(workspace.decoded.size(), chunk.size()));
  const MutableByteSpan decoded = MutableByteSpan(workspace.decoded).first(chunk.size());
  const auto range = Xdelta3Codec::source_range(delta);
  if (!range) return;
  // The chunks that it copies nothing from are no sources: the delta is less deep without them, and holds nothing that others need.
  const Source::Part part = source->part_for(
      shortcuts_.has(Shortcut::kNeededSources) ? *range : Xdelta3Codec::Range{0, source->bytes.size()});
  auto shorter = Xdelta3Codec::without_begin_of_source(delta, part.offset);
  const ByteSpan needed = source->bytes.bytes(range->begin, range->end).subspan(part.offset, part.length);
  if (!shorter || !Xdelta3Codec::decode(needed, *shorter, decoded) || !are_same(decoded, chunk)) return;
  smallest = EncodedDelta{std::move(*shorter), part.ids, static_cast<std::uint8_t>(part.depth + 1),
                          delta_checksum_of(chunk), base};
}

DeltaWorth DeltaEncoder::worth_of(ByteSpan chunk) const {
  return DeltaWorth(chunk,
                    shortcuts_.has(Shortcut::kSample) ? DeltaWorth::Method::kSample : DeltaWorth::Method::kExact);
}

DeltaEncoder::Finding DeltaEncoder::encode(ByteSpan chunk, std::optional<ChunkId> previous,
                                           ReplacedChunk replaced) const {
  Finding finding;
  const bool has_delta = chunk.size() >= kMinChunkBytes && chunk.size() <= kMaxDeltaChunkBytes;
  DeltaWorth worth = worth_of(chunk);
  const auto keep_if_it_pays = [&] {
    if (finding.delta && !worth.pays(finding.delta->bytes)) finding.delta.reset();
  };
  if (has_delta && replaced.is_known() && shortcuts_.has(Shortcut::kInPlace)) {
    try_source(chunk, replaced.id, source_in_place(replaced), finding.delta);
    const bool is_good = finding.delta && finding.delta->bytes.size() <= chunk.size() / kGoodInPlaceShare;
    keep_if_it_pays();
    if (is_good && finding.delta) return finding;
  }
  finding.sketch = detector_->sketch_of(chunk);
  if (!has_delta) return finding;

  std::vector<ChunkId> bases;
  const auto try_base = [&](ChunkId base) {
    try_source(chunk, base, source_around(base, settings_.depth, settings_.neighbours), finding.delta);
    bases.push_back(base);
  };
  if (previous) try_base(order_.after(*previous));
  if (!finding.delta || finding.delta->bytes.size() > chunk.size() / kGoodShare) {
    auto candidates = features_.find(*finding.sketch);
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
    const auto known = read_source(base, [&] { return reader_.get_stored(base); });
    if (!known || may_be_source(known->entry.depth)) continue;  // it was tried with all that there is
    try_source(chunk, base, source_around(base, end_of_depths_, settings_.neighbours), finding.delta);
  }
  keep_if_it_pays();
  return finding;
}

std::optional<EncodedDelta> DeltaEncoder::encode_from(ByteSpan chunk, const DeltaSources& sources, ChunkId base,
                                                      std::uint8_t max_depth) const {
  DeltaSources ids;
  std::vector<ChunkReader::Chunk> chunks;
  for (const ChunkId id : sources) {
    auto part = reader_.get(id);
    if (!part || part->depth >= max_depth) continue;
    ids.push_back(id);
    chunks.push_back(std::move(*part));
  }
  std::optional<EncodedDelta> delta;
  try_source(chunk, base, joined(ids, std::move(chunks), base), delta);
  if (delta && !worth_of(chunk).pays(delta->bytes)) delta.reset();
  return delta;
}

}  // namespace dedupfs
