// The content of one regular file: its recipe, and over it what was written and is not in the recipe yet.
//
// Sequential writes run through a stream: bytes are copied once into blocks, cut into chunks and put into the chunk store
// while the writer goes on; the recipe grows as results come back. Other writes wait as dirty extents; a flush cuts them
// anew, from the start of the recipe entry that holds the first dirty byte until the new boundaries fall in with the old ones.
//
// Threads:   every function from any thread; reads run side by side.
// Ownership: refers to the volume and the budget; shares the bytes in batch with the chunk store.
// Failure:   an error of the chunk store surfaces in the next flush() (once), as close and fsync need it; the bytes stay
//            readable and dirty, so that a flush after freeing space can succeed. Memory that runs out is kNoMemory; nothing
//            that was written before is lost, and of the operation itself a part may have been done.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "base/bytes.h"
#include "base/result.h"
#include "fs/content/dirty_budget.h"
#include "fs/format/types.h"
#include "store/volume/volume.h"

namespace dedupfs {

struct FileContentState;  // in file_content.cc

class FileContent {
 public:
  FileContent(Volume& volume, DirtyBudget& budget, InodeNumber inode, std::uint64_t size, std::uint64_t data_bytes);
  ~FileContent();  // must be clean, or the inode deleted
  FileContent(const FileContent&) = delete;
  FileContent& operator=(const FileContent&) = delete;

  std::uint64_t size() const;
  std::uint64_t data_bytes() const;         // not hole; an estimate while dirty
  std::uint64_t stored_data_bytes() const;  // of which the recipe knows already
  bool dirty() const;

  // Up to `length` bytes from `offset`, fewer only at the end of the file, as pieces of shared memory in order.
  Result<std::vector<PinnedBytes>> read(std::uint64_t offset, std::size_t length);
  // Starts loading what a sequential reader will want after `offset`.
  void prefetch(std::uint64_t offset, std::uint64_t length);

  // `acquired`: bytes.size() of the budget. This object takes what it needs itself; the share only sees to it that there is so
  // much. Extends the file.
  Result<void> write(std::uint64_t offset, ByteSpan bytes, DirtyBudget::Share acquired);
  Result<void> truncate(std::uint64_t size);
  // [offset, offset + length) reads as zeros and takes no space, a short range from the next flush on; the size stays.
  Result<void> punch(std::uint64_t offset, std::uint64_t length);
  // Copies [from_offset, +length) of `from` here by reference to its chunks, bytes only at ragged edges. `from` may be this
  // object if the ranges do not overlap. Extends the file.
  Result<void> clone_range(FileContent& from, std::uint64_t from_offset, std::uint64_t offset, std::uint64_t length);

  // The first data / hole at or behind `offset`, in blocks of 4096 bytes: a block with any data is data. kNoData behind the
  // end. The end of the file is a hole.
  Result<std::uint64_t> find_data(std::uint64_t offset);
  Result<std::uint64_t> find_hole(std::uint64_t offset);

  // Everything written before the call is in the recipe (not yet durable) when it returns.
  Result<void> flush();

 private:
  std::unique_ptr<FileContentState> state_;
};

}  // namespace dedupfs
