// Reserves chunk ids in the index, durably, before the first of them is used: no id that reached a container is handed out
// again, even if its transaction group never was committed.
//
// Threads: every function from any thread.
// Failure: kCorruption if the counter of the index is out of range; kNoSpace when all ids are used up; errors of the index.
#pragma once

#include <atomic>
#include <cstdint>

#include "base/mutex.h"
#include "base/result.h"
#include "index/database.h"
#include "store/containers/container_store.h"
#include "store/ingest/region_packer.h"

namespace dedupfs {

// The first id that nothing uses: neither the counter, nor an extent, nor a container from `first_unknown_container` on, which
// the index does not know. An id that is given away twice would stand for two contents.
Result<std::uint64_t> load_next_chunk_id(const Database& index, const ContainerStore& containers,
                                         std::uint32_t first_unknown_container);

class ChunkIdReserve {
 public:
  ChunkIdReserve(Database& index, std::uint64_t next_id) : index_(index), ids_(next_id), end_(next_id) {}
  // Gives back reserved ids that were not used. A failure is harmless: there are plenty of ids.
  ~ChunkIdReserve();
  ChunkIdReserve(const ChunkIdReserve&) = delete;
  ChunkIdReserve& operator=(const ChunkIdReserve&) = delete;

  // To be called before ids are taken: reserves more, if few are left.
  Result<void> ensure();

  ChunkIdAllocator& ids() { return ids_; }
  const ChunkIdAllocator& ids() const { return ids_; }

 private:
  bool is_low() const;
  Result<void> write(std::uint64_t next_id);

  Database& index_;
  ChunkIdAllocator ids_;
  Mutex mutex_;  // one thread at a time reserves
  std::atomic<std::uint64_t> end_;
};

}  // namespace dedupfs
