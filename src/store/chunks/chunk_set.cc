#include "store/chunks/chunk_set.h"

#include <fmt/format.h>

#include "index/database.h"

namespace dedupfs {

std::uint64_t ChunkSet::limit_for(const Database& database) {
  return kMinLimit + 2 * database.table_bytes()[static_cast<std::size_t>(Family::kChunks)];
}

ChunkSet::ChunkSet(std::uint64_t max_bytes, std::uint64_t end) : ChunkSet(max_bytes) {
  if (end != 0) grow_over(end - 1);
}

void ChunkSet::clear() {
  last_ = nullptr;
  root_ = nullptr;
  shift_ = 0;
  nodes_ = {};
  leaves_ = {};
}

template <class Piece>
Piece* ChunkSet::make(Pool<Piece>& pool) {
  Piece* const piece = pool.make(max_bytes_ - std::min(max_bytes_, memory_bytes() - pool.bytes()));
  if (piece == nullptr) is_complete_ = false;
  return piece;
}

ChunkSet::Leaf* ChunkSet::make_leaf(std::uint64_t number) {
  const MutexLock lock(mutex_);
  if (!covers(number)) return nullptr;
  Node* node = root_;
  for (unsigned shift = shift_;; shift -= kNodeShift) {
    std::atomic<void*>& place = node->children[child_of(number, shift)];
    void* child = place.load(std::memory_order_relaxed);
    const bool is_lowest = shift - kNodeShift == kLeafShift;
    if (child == nullptr) {
      child = is_lowest ? static_cast<void*>(make(leaves_)) : static_cast<void*>(make(nodes_));
      if (child == nullptr) return nullptr;
      if (is_lowest) static_cast<Leaf*>(child)->number = number >> kLeafShift;
      place.store(child, std::memory_order_release);
    }
    if (is_lowest) return static_cast<Leaf*>(child);
    node = static_cast<Node*>(child);
  }
}

// Puts nodes above the root until the number has a place.
void ChunkSet::grow_over(std::uint64_t number) {
  while (!covers(number)) {
    Node* const node = make(nodes_);
    if (node == nullptr) return;
    if (root_ != nullptr) node->children[0].store(root_, std::memory_order_relaxed);
    root_ = node;
    shift_ = (shift_ == 0 ? kLeafShift : shift_) + kNodeShift;
  }
}

Result<void> ChunkSet::require_complete() const {
  if (is_complete()) return {};
  return Error{
      ErrorCode::kNoMemory,
      fmt::format("noting which chunks are in use would take more than {} MiB of memory; the ids of these chunks "
                  "are spread as no volume spreads them, or the machine has no memory left; fsck.dedupfs says "
                  "whether the index is damaged",
                  max_bytes_ >> 20)};
}

}  // namespace dedupfs
