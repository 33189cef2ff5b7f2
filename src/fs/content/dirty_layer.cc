#include "fs/content/dirty_layer.h"

#include <algorithm>

namespace dedupfs {

// The scope of every change of the map.
class DirtyLayer::BudgetedChange {
 public:
  explicit BudgetedChange(DirtyLayer& layer) : layer_(layer), before_(layer.map_.memory_bytes()) {}
  ~BudgetedChange() {
    const std::uint64_t after = layer_.map_.memory_bytes();
    if (before_ > after) layer_.budget_.release(before_ - after);
    if (after > before_) layer_.budget_.force(after - before_);
    if (layer_.map_.empty()) layer_.punched_bytes_ = 0;
  }
  BudgetedChange(const BudgetedChange&) = delete;
  BudgetedChange& operator=(const BudgetedChange&) = delete;

 private:
  DirtyLayer& layer_;
  const std::uint64_t before_;
};

void DirtyLayer::write(std::uint64_t offset, ByteSpan bytes) {
  const BudgetedChange change(*this);
  map_.write(offset, bytes);
}

void DirtyLayer::punch(std::uint64_t offset, std::uint64_t length) {
  const BudgetedChange change(*this);
  map_.punch(offset, length);
}

void DirtyLayer::erase(std::uint64_t offset, std::uint64_t length) {
  const BudgetedChange change(*this);
  map_.erase(offset, length);
}

void DirtyLayer::truncate(std::uint64_t size) {
  const BudgetedChange change(*this);
  map_.truncate(size);
}

void DirtyLayer::clear() {
  const BudgetedChange change(*this);
  map_.clear();
}

void DirtyLayer::keep(const WriteStream::Part& part, std::uint64_t size) {
  const std::uint64_t end = std::min(part.offset + part.length, size);
  for (std::uint64_t offset = part.offset; offset < end;) {
    const auto newer = map_.find_from(offset);
    if (newer && newer->offset == offset) {
      offset = newer->end();
      continue;
    }
    const std::uint64_t gap = (newer ? std::min(newer->offset, end) : end) - offset;
    if (part.bytes.bytes.empty())
      punch(offset, gap);
    else
      write(offset, part.bytes.bytes.subspan(offset - part.offset, gap));
    offset += gap;
  }
}

}  // namespace dedupfs
