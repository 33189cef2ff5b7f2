#include "store/ingest/stream_order.h"

namespace dedupfs {

StreamOrder::Slot& StreamOrder::take(ChunkId id) {
  Slot& slot = slots_[index_of(id)];
  if (slot.id != id) slot = Slot{.id = id};
  return slot;
}

void StreamOrder::link(ChunkId before, ChunkId after) {
  {
    const MutexLock lock(lock_of(before));
    take(before).after = after;
  }
  const MutexLock lock(lock_of(after));
  take(after).before = before;
}

ChunkId StreamOrder::after(ChunkId id) const {
  const MutexLock lock(lock_of(id));
  const Slot& slot = slots_[index_of(id)];
  return slot.id == id && slot.after != ChunkId{} ? slot.after : ChunkId{number_of(id) + 1};
}

ChunkId StreamOrder::before(ChunkId id) const {
  const MutexLock lock(lock_of(id));
  const Slot& slot = slots_[index_of(id)];
  return slot.id == id && slot.before != ChunkId{} ? slot.before : ChunkId{number_of(id) - 1};
}

}  // namespace dedupfs
