// One stream of chunks through the pipeline. Its chunks stay together and in order, on disk too. Batches are fingerprinted and
// looked up side by side, on the threads of the pool, and packed in order.
//
// Threads:   one thread at a time.
// Ownership: bytes of a batch are shared with the caller until `done` has run.
// Failure:   a put that failed stores nothing that is referred to. A chunk that a read found damaged is stored again, under its
//            id, when its content is put again.
#pragma once

#include <functional>
#include <memory>
#include <vector>

#include "base/bytes.h"
#include "base/result.h"
#include "store/format/types.h"
#include "store/ingest/replaced_chunk.h"

namespace dedupfs {

struct Ingest;

class ChunkWriter {
 public:
  // Consecutive chunks of the stream.
  struct Batch {
    std::shared_ptr<const void> owner;  // keeps the bytes alive
    std::vector<ByteSpan> chunks;       // none empty
    // Runs once, on a thread of the pool or on one that runs Work, in the order of the put()s. `ids` match `chunks`. It must not throw; the pipeline has
    // given up `owner` by then.
    std::function<void(Result<std::vector<ChunkId>> ids)> done;
    std::vector<ReplacedChunk> replaced = {};  // one for each of the chunks, or none at all: a hint
  };

  explicit ChunkWriter(Ingest& ingest);
  ~ChunkWriter();         // no put may be in progress
  void put(Batch batch);  // if it throws (std::bad_alloc), `done` does not run
  // As put(), but the caller runs the work itself, once, on any thread: for a caller that would only wait for it. It does not
  // throw. `done` may run later if earlier batches are still in progress.
  using Work = std::function<void()>;
  Work begin(Batch batch);
  ChunkWriter(const ChunkWriter&) = delete;
  ChunkWriter& operator=(const ChunkWriter&) = delete;

 private:
  class Stream;
  std::shared_ptr<Stream> stream_;  // shared with the tasks in the pool
};

}  // namespace dedupfs
