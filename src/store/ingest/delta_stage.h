// The parts that only a volume with deltas has: the index of features, the order of streams, and the encoder that uses both.
//
// Threads: as its parts.
#pragma once

#include <cstdint>
#include <memory>

#include "base/result.h"
#include "delta/settings.h"
#include "index/database.h"
#include "store/chunks/chunk_reader.h"
#include "store/ingest/delta_encoder.h"
#include "store/ingest/feature_index.h"
#include "store/ingest/stream_order.h"

namespace dedupfs {

struct DeltaStage {
  // As DeltaEncoder::make().
  static Result<std::unique_ptr<DeltaStage>> make(const DeltaSettings& settings, Database& index, ChunkReader& reader,
                                                  std::uint64_t far_bytes_an_hour) {
    auto stage = std::make_unique<DeltaStage>(index, settings);
    DEDUPFS_ASSIGN(stage->encoder,
                   DeltaEncoder::make(settings, reader, stage->features, stage->order, far_bytes_an_hour));
    return stage;
  }
  DeltaStage(Database& index, const DeltaSettings& settings) : features(index, settings.index_bytes) {}

  FeatureIndex features;
  StreamOrder order;
  std::unique_ptr<DeltaEncoder> encoder;
};

}  // namespace dedupfs
