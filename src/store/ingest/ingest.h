// The pipeline from new chunks to regions in containers. All streams share the parts in this struct. A ChunkWriter is one stream.
//
//   fingerprint -> look-up (DuplicateFinder) -> resemblance and delta (DeltaEncoder) -> pack (RegionPacker)
//     -> compress and append (RegionWriter)
//
// Threads:   see each part.
// Ownership: the constructor's references must outlive this object. So must `pool`, which may be constructed later: when its
//            threads run, this object is there.
// Failure:   nothing refers to the chunks of a put that failed.
#pragma once

#include <cstdint>
#include <memory>

#include "base/result.h"
#include "base/thread_pool.h"
#include "delta/settings.h"
#include "index/database.h"
#include "store/chunks/chunk_reader.h"
#include "store/chunks/liveness.h"
#include "store/chunks/pending_chunks.h"
#include "store/containers/container_store.h"
#include "store/format/superblock.h"
#include "store/ingest/chunk_id_reserve.h"
#include "store/ingest/delta_stage.h"
#include "store/ingest/duplicate_finder.h"
#include "store/ingest/ingest_meter.h"
#include "store/ingest/packer_pool.h"
#include "store/ingest/recent_references.h"
#include "store/ingest/region_writer.h"

namespace dedupfs {

struct IngestSettings {
  CompressionTiers compression;
  std::uint32_t region_bytes = 0;
  std::uint64_t waiting_region_bytes = 0;  // of regions that are not on disk yet; at the cap, writers wait
  std::size_t threads = 0;                 // of the region writer
  std::uint64_t slow_bytes = ArrivalRate::kSlowBytes;
};

// Many parts, no logic: see each of them.
struct Ingest {
  Ingest(const IngestSettings& settings, ContainerStore& containers, Database& index, std::uint64_t next_id,
         PendingChunks& pending, ChunkReader& reader_used, Liveness& liveness_used, ThreadPool& pool_used)
      : reader(reader_used),
        liveness(liveness_used),
        pool(pool_used),
        ids(index, next_id),
        duplicates(index, containers, pending, reader_used),
        writer(
            containers, pending, reader_used.regions(), meter,
            {.compression = settings.compression,
             .threads = settings.threads,
             .max_waiting_bytes = settings.waiting_region_bytes,
             .slow_bytes = settings.slow_bytes,
             .are_others_behind = [&pool_used, threads = settings.threads] { return pool_used.waiting() > threads; }}),
        packers(pending, ids.ids(), settings.region_bytes, to_writer()),
        moved_packers(pending, ids.ids(), settings.region_bytes, to_writer()) {}

  // To be called before something is packed. Failed regions are tried again before new data is refused: space may have been
  // freed.
  Result<void> check_writable() {
    if (writer.error()) DEDUPFS_TRY(writer.retry_failed());
    return ids.ensure();
  }
  // The same for chunks that move. They can stay where they are, so nothing is tried: otherwise all of them would come to lie in memory.
  Result<void> check_movable() const {
    if (auto error = writer.error()) return std::move(*error);
    return {};
  }
  // No packer may be in use.
  void close_regions() {
    packers.close_all();
    moved_packers.close_all();
  }

  ChunkReader& reader;
  Liveness& liveness;
  ThreadPool& pool;

  IngestMeter meter;
  ChunkIdReserve ids;
  DuplicateFinder duplicates;
  std::unique_ptr<DeltaStage> deltas;  // null: without
  RecentReferences recent_references;
  RegionWriter writer;
  PackerPool packers;        // of streams
  PackerPool moved_packers;  // of moves: their regions hold nothing that somebody waits for

 private:
  RegionPacker::Closed to_writer() {
    return [this](std::shared_ptr<PendingRegion> region) { writer.submit(std::move(region)); };
  }
};

}  // namespace dedupfs
