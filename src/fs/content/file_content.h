// The content of one regular file: its recipe, and over it the writes that are not in the recipe yet.
//
// Sequential writes run through a stream: bytes are copied once into blocks, cut into chunks and put into the chunk store while
// the writer goes on. The recipe grows as results come back. Other writes wait as dirty extents. A flush cuts the content
// around them again, as dirty_flush.h says.
//
// Threads:   every function from any thread; reads run side by side.
// Ownership: refers to the volume and the budget; shares the bytes of in-flight batches with the chunk store.
// Failure:   the next flush() returns an error of the chunk store, once, as close and fsync need it. The bytes stay readable
//            and dirty, so a flush can succeed after space was freed. kNoMemory if memory runs out: no earlier write is lost,
//            but a part of the operation itself may have been done.
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
  ~FileContent();  // the content must be clean, or the inode deleted
  FileContent(const FileContent&) = delete;
  FileContent& operator=(const FileContent&) = delete;

  std::uint64_t size() const;
  std::uint64_t data_bytes() const;         // without holes; an estimate while dirty
  std::uint64_t stored_data_bytes() const;  // the part that is in the recipe
  bool dirty() const;

  // Up to `length` bytes from `offset`, fewer only at the end of the file, as pieces of shared memory in order.
  Result<std::vector<PinnedBytes>> read(std::uint64_t offset, std::size_t length);
  // Starts to load the bytes behind `offset` that a sequential reader will want.
  void prefetch(std::uint64_t offset, std::uint64_t length);

  // `acquired`: a share of bytes.size() of the budget. This object takes its own share in addition; `acquired` only makes sure
  // that there is room for it. Extends the file.
  Result<void> write(std::uint64_t offset, ByteSpan bytes, DirtyBudget::Share acquired);
  Result<void> truncate(std::uint64_t size);
  // [offset, offset + length) reads as zeros and takes no space. A short range gives back its space at the next flush. The size
  // stays.
  Result<void> punch(std::uint64_t offset, std::uint64_t length);
  // Copies [from_offset, +length) of `from` here. The copy refers to the same chunks; only at the edges, where chunks are cut,
  // it copies bytes. `from` may be this object if the ranges do not overlap. Extends the file.
  Result<void> clone_range(FileContent& from, std::uint64_t from_offset, std::uint64_t offset, std::uint64_t length);

  // The first data / hole at or behind `offset`, in blocks of 4096 bytes. A block with any data counts as data. kNoData behind
  // the end. The end of the file is a hole.
  Result<std::uint64_t> find_data(std::uint64_t offset);
  Result<std::uint64_t> find_hole(std::uint64_t offset);

  // The data of a range, exactly. It stores what waits, as flush().
  Result<std::uint64_t> count_data_bytes(std::uint64_t offset, std::uint64_t length);

  // When it returns, everything written before the call is in the recipe, but not durable yet.
  Result<void> flush();

 private:
  std::unique_ptr<FileContentState> state_;
};

}  // namespace dedupfs
