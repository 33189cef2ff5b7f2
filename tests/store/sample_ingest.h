// The pipeline of ingest over an empty index and an empty folder of containers, for the tests of its parts and of what uses it.
#pragma once

#include <gtest/gtest.h>

#include <future>
#include <memory>
#include <utility>
#include <vector>

#include "base/thread_pool.h"
#include "index/counters.h"
#include "index/database.h"
#include "sample_region.h"
#include "store/chunks/chunk_reader.h"
#include "store/chunks/fingerprint.h"
#include "store/containers/container_store.h"
#include "store/ingest/chunk_writer.h"
#include "store/ingest/ingest.h"
#include "support/folder_at.h"
#include "support/temp_dir.h"

namespace dedupfs {

struct SampleIngest {
  explicit SampleIngest(std::uint64_t next_id = 1, const DeltaSettings* deltas = nullptr) {
    EXPECT_TRUE(Database::create(folder_at(folder.path() / "index")));
    database = std::move(*Database::open(folder_at(folder.path() / "index"), {.memory_bytes = 16 << 20}));
    ContainerStore::Settings settings;
    settings.volume_uuid = "01234567-89ab-4def-8123-456789abcdef";
    containers = std::move(*ContainerStore::open(folder_at(folder.path() / "containers"), settings));
    reader = std::make_unique<ChunkReader>(*containers, *database, pending, 16 << 20);
    ingest = std::make_unique<Ingest>(
        IngestSettings{.compression = {}, .region_bytes = 64 << 10, .waiting_region_bytes = 16 << 20, .threads = 2},
        *containers, *database, next_id, pending, *reader, liveness, pool);
    if (deltas != nullptr) ingest->deltas = std::move(*DeltaStage::make(*deltas, *database, *reader, 0));
  }

  // Puts a batch and waits for its answer.
  static Result<std::vector<ChunkId>> put(ChunkWriter& writer, const std::vector<ByteBuffer>& chunks) {
    std::promise<Result<std::vector<ChunkId>>> answer;
    ChunkWriter::Batch batch;
    for (const ByteBuffer& chunk : chunks) batch.chunks.emplace_back(chunk);
    batch.done = [&](Result<std::vector<ChunkId>> ids) { answer.set_value(std::move(ids)); };
    writer.put(std::move(batch));
    return answer.get_future().get();
  }

  // All that was packed is on disk and in the index.
  void commit() {
    ingest->close_regions();
    pending.freeze();
    ASSERT_TRUE(ingest->writer.wait_for(pending.frozen_regions()));
    ASSERT_TRUE(containers->sync());
    Database::Batch batch(*database);
    ASSERT_TRUE(pending.append_frozen_to(batch, *database));
    ASSERT_TRUE(database->write(batch));
    pending.drop_frozen();
  }

  TempDir folder;
  std::unique_ptr<Database> database;
  std::unique_ptr<ContainerStore> containers;
  PendingChunks pending;
  std::unique_ptr<ChunkReader> reader;
  Liveness liveness;
  std::unique_ptr<Ingest> ingest;
  ThreadPool pool{2, "test"};  // last: its tasks use the rest
};

}  // namespace dedupfs
