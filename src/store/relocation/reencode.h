// Stores a delta once more, under its id: made from other chunks than before, or from none.
//
// A chunk gets no deeper by it. As every source of a delta is less deep than the delta, at any time, no circle can come about,
// and what is made from the chunk stays readable.
//
// Threads: every function from any thread.
// Failure: kCorruption or kIo if the chunk cannot be read or is not what its fingerprint says: it stays as it is, since deltas may
//          have been made from those bytes. kBusy if somebody stores it just now, or has.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <vector>

#include "base/result.h"
#include "store/chunks/chunk_index.h"
#include "store/chunks/chunk_reader.h"
#include "store/chunks/pending_chunks.h"
#include "store/ingest/delta_encoder.h"
#include "store/ingest/feature_index.h"
#include "store/ingest/region_packer.h"
#include "store/relocation/in_group.h"

namespace dedupfs {

// What a delta may be made from: chunks that stay.
struct DeltaBasis {
  std::vector<ChunkId> sources;
  ChunkId base{};  // the one of them that it resembles most
};

// A base for `chunk` with those of its neighbours that may be sources: those that were stored before it and after it.
DeltaBasis basis_around(ChunkId base, ChunkId chunk, const std::function<bool(ChunkId)>& may_be_source);

struct Reencoder {
  const Database& index;
  const PendingChunks& pending;
  ChunkReader& reader;
  const DeltaEncoder& encoder;
  const FeatureIndex& features;

  // `run` is the one that the index has for the chunk. The bases are tried in order until one gives a delta that is about as short
  // as the old one, then chunks with features in common; sources are only those that may be. Returns how many bytes the chunk takes
  // then, before compression; if these are more than `max_bytes`, nothing was done.
  Result<std::uint32_t> store(const ChunkExtent& extent, ChunkId id, const std::vector<DeltaBasis>& bases,
                              const std::function<bool(ChunkId)>& may_be_source, std::uint64_t max_bytes,
                              RegionPacker& packer, const InGroup& in_group) const;

 private:
  std::optional<EncodedDelta> encode(ByteSpan chunk, const RegionEntry& stored, const std::vector<DeltaBasis>& bases,
                                     const std::function<bool(ChunkId)>& may_be_source) const;
  std::vector<DeltaBasis> find_similar(ByteSpan chunk, const RegionEntry& stored,
                                       const std::function<bool(ChunkId)>& may_be_source) const;
};

}  // namespace dedupfs
