// The highest layer of a file's content: changes that are not in the recipe yet. Their memory is charged to the budget.
//
// Threads:   with the ContentLock held, by the Exclusive operation; map() by readers, too.
// Ownership: owns copies of the bytes; the budget must outlive it. The destructor gives back the map's share.
// Failure:   as DirtyMap. The budget counts exactly the memory of the map, whether or not a change fails.
#pragma once

#include <cstdint>

#include "base/bytes.h"
#include "fs/content/dirty_budget.h"
#include "fs/content/dirty_map.h"
#include "fs/content/write_stream.h"

namespace dedupfs {

class DirtyLayer {
 public:
  explicit DirtyLayer(DirtyBudget& budget) : budget_(budget) {}
  ~DirtyLayer() { clear(); }
  DirtyLayer(const DirtyLayer&) = delete;
  DirtyLayer& operator=(const DirtyLayer&) = delete;

  const DirtyMap& map() const { return map_; }

  // As in DirtyMap.
  void write(std::uint64_t offset, ByteSpan bytes);
  void punch(std::uint64_t offset, std::uint64_t length);
  void erase(std::uint64_t offset, std::uint64_t length);
  void truncate(std::uint64_t size);
  void clear();
  // Puts a part back that could not be stored. Later writes stay on top of it, and bytes behind `size` are dropped.
  void keep(const WriteStream::Part& part, std::uint64_t size);

  // An estimate of the recipe's bytes that lie under the holes here; 0 if nothing is here.
  std::uint64_t punched_bytes() const { return punched_bytes_; }
  void note_punched(std::uint64_t bytes) { punched_bytes_ += bytes; }

 private:
  class BudgetedChange;

  DirtyBudget& budget_;
  DirtyMap map_;
  std::uint64_t punched_bytes_ = 0;
};

}  // namespace dedupfs
