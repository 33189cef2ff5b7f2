// Finds a chunk that resembles a new one and encodes the new one as a delta, if that pays.
//
// The first candidate is the chunk behind the one in which the previous chunk was found again (StreamOrder). That needs no look
// at an index. If it does not give a good delta, the chunk's super-features give candidates. The source of the delta is the base
// with some of its neighbours: where content moved, boundaries around it moved, too.
//
// A chunk that replaces another one is encoded against that one alone. If that gives a good delta, nothing else is looked for, and
// the chunk has no sketch: what resembles it resembles its base, too.
//
// What lies elsewhere than on this machine (ChunkReader::is_near()) is read for a new chunk only within a budget (far_budget.h).
//
// Threads: every function from any thread.
// Failure: none. A chunk that cannot be read is no base; a chunk without a delta is stored as it is.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <type_traits>
#include <vector>

#include "base/bytes.h"
#include "base/shortcuts.h"
#include "delta/resemblance.h"
#include "delta/settings.h"
#include "store/chunks/chunk_reader.h"
#include "store/format/types.h"
#include "store/ingest/encoded_delta.h"
#include "store/ingest/far_budget.h"
#include "store/ingest/feature_index.h"
#include "store/ingest/replaced_chunk.h"
#include "store/ingest/stream_order.h"

namespace dedupfs {

class DeltaWorth;
class SourceWindows;

class DeltaEncoder {
 public:
  // `settings` must be enabled. `far_bytes_an_hour`: see FarBudget. Without a shortcut there may be other deltas, by little.
  static Result<std::unique_ptr<DeltaEncoder>> make(const DeltaSettings& settings, ChunkReader& reader,
                                                    FeatureIndex& features, const StreamOrder& order,
                                                    std::uint64_t far_bytes_an_hour);
  static Result<std::unique_ptr<DeltaEncoder>> make(const DeltaSettings& settings, ChunkReader& reader,
                                                    FeatureIndex& features, const StreamOrder& order,
                                                    std::uint64_t far_bytes_an_hour, Shortcuts shortcuts);

  // The result for a chunk that is not stored yet.
  struct Finding {
    std::optional<Sketch> sketch;  // for the index of features, if the chunk is to be found there
    std::optional<EncodedDelta> delta;
  };
  // `previous`: the chunk in which the one before it in its stream was found again, as duplicate or base, if it was.
  Finding encode(ByteSpan chunk, std::optional<ChunkId> previous, ReplacedChunk replaced = {}) const;

  // A delta of a chunk that is stored already, made from these chunks, as far as they can be read and are less deep than
  // `max_depth`; none where it does not pay. `base`: the one of them that the chunk resembles most, as a rule.
  std::optional<EncodedDelta> encode_from(ByteSpan chunk, const DeltaSources& sources, ChunkId base,
                                          std::uint8_t max_depth) const;
  Sketch sketch_of(ByteSpan chunk) const { return detector_->sketch_of(chunk); }

  // Whether a chunk of this depth may be a source of others. Deeper ones are where a chunk has no delta otherwise.
  bool may_be_source(std::uint8_t depth) const { return depth < settings_.depth; }

 private:
  DeltaEncoder(const DeltaSettings& settings, Shortcuts shortcuts, std::unique_ptr<ResemblanceDetector> detector,
               ChunkReader& reader, FeatureIndex& features, const StreamOrder& order, std::uint64_t far_bytes_an_hour);

  struct Source;
  static std::optional<Source> joined(const DeltaSources& ids, std::vector<ChunkReader::Chunk> chunks,
                                      ChunkId likeliest);
  // What `read` gives for a chunk, if that is near enough.
  template <typename Read, typename T = typename std::invoke_result_t<const Read&>::value_type>
  std::optional<T> read_source(ChunkId id, const Read& read) const;
  std::optional<ChunkReader::Chunk> source_chunk(ChunkId id) const;
  // Takes only chunks of a depth below `end_depth`, and so many neighbours on each side.
  std::optional<Source> source_around(ChunkId base, int end_depth, int neighbours) const;
  std::optional<Source> source_in_place(ReplacedChunk replaced) const;
  // A smaller delta than `smallest`, if this source gives one.
  void try_source(ByteSpan chunk, ChunkId base, const std::optional<Source>& source,
                  std::optional<EncodedDelta>& smallest) const;
  std::optional<std::size_t> encoded(const Source& source, ByteSpan chunk, MutableByteSpan delta,
                                     SourceWindows& windows) const;
  DeltaWorth worth_of(ByteSpan chunk) const;

  const DeltaSettings settings_;
  const Shortcuts shortcuts_;
  const std::uint64_t number_;  // of all encoders of the process
  const int end_of_depths_;     // of any sources
  const std::unique_ptr<ResemblanceDetector> detector_;
  ChunkReader& reader_;
  FeatureIndex& features_;
  const StreamOrder& order_;
  const std::unique_ptr<FarBudget> far_;
};

}  // namespace dedupfs
