// The parts of a store that a move of chunks works with.
#pragma once

#include "index/database.h"
#include "store/chunks/chunk_reader.h"
#include "store/chunks/pending_chunks.h"
#include "store/containers/container_store.h"
#include "store/ingest/ingest.h"

namespace dedupfs {

struct RelocationParts {
  ContainerStore& containers;
  const Database& index;
  PendingChunks& pending;
  ChunkReader& reader;
  Ingest& ingest;
};

}  // namespace dedupfs
