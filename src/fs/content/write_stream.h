// New content on its way from a writer into the chunk store: bytes are copied once into blocks, cut into pieces, and the
// chunks of a block are put as one batch. What is on its way can be read.
//
//   start() ... stored_end() ... end()
//           stored         failed, in batch, or waiting in the last block
//
// Blocks and what is in batch are charged to the budget as long as anybody holds them, with all the memory that they take.
//
// Threads:   one user at a time (its FileContent's lock); `stored` is called by threads of the pool, without that lock, once
//            for each batch and in order; it must not throw, and ends in a call of pop_stored() or keep_failed().
// Ownership: owns the blocks, shared with the chunk store and with readers. No batch may be left when it is destroyed. The
//            budget must outlive the blocks.
// Failure:   what feeds, cuts and puts may throw std::bad_alloc. Of what was to be fed a part may have been; nothing that was
//            fed before is lost.
#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <optional>
#include <vector>

#include "base/bytes.h"
#include "base/raw_buffer.h"
#include "base/result.h"
#include "fs/content/content_cutter.h"
#include "fs/content/dirty_budget.h"
#include "fs/content/recipe.h"
#include "store/ingest/chunk_writer.h"
#include "store/volume/volume.h"

namespace dedupfs {

class WriteStream {
 public:
  using Stored = std::function<void(Result<std::vector<ChunkId>> ids)>;

  // About `expected_bytes` will be fed; blocks are not larger than that.
  WriteStream(Volume& volume, DirtyBudget& budget, std::uint64_t start, std::uint64_t expected_bytes, Stored stored);

  void feed(ByteSpan bytes);
  // Zeros that take no space, however long; the chunk before ends here.
  void feed_hole(std::uint64_t length);

  // Cuts what is certain into pieces (with `last`, everything), which wait for put().
  void cut(bool last);
  // The ends of the pieces that wait, as file offsets, from this offset on.
  std::vector<std::uint64_t> cut_ends(std::uint64_t from) const;
  // Forgets everything from `offset` on, which is one of cut_ends().
  void drop_from(std::uint64_t offset);
  // Hands the waiting pieces to the chunk store.
  void put();

  std::uint64_t stored_end() const { return stored_end_; }
  std::uint64_t end() const { return cut_end_ + uncut_bytes(); }
  bool in_flight() const { return batches_.size() > failed_; }
  std::uint64_t in_flight_bytes() const { return in_flight_bytes_; }

  // Of the first batch that has landed, which must be stored: where it starts and what it is in the recipe.
  std::uint64_t stored_offset() const { return batches_[failed_].offset(); }
  std::vector<RecipeEntry> stored_entries(const std::vector<ChunkId>& ids) const;
  // It is in the recipe; none may have failed before.
  void pop_stored() noexcept;
  // It could not be stored: its bytes stay here until pop_failed().
  void keep_failed() noexcept;

  struct Part {
    std::uint64_t offset = 0;
    std::uint64_t length = 0;
    PinnedBytes bytes;  // empty: a hole
  };
  // The part of [stored_end(), end()) that holds `offset`, from there on.
  Part part_at(std::uint64_t offset) const;
  // What the first failed batch consists of; nothing, if none has failed.
  std::vector<Part> failed_parts() const;
  void pop_failed() noexcept;
  // What was not put yet.
  std::vector<Part> unput_parts() const;
  void drop_unput() noexcept;

 private:
  struct Block {
    RawBuffer bytes;
    DirtyBudget::Share share;
  };
  struct PlacedPiece {
    std::uint64_t offset = 0;  // in the file
    Piece piece;
    const std::uint8_t* bytes = nullptr;  // in the block; null: a hole that was fed, which takes no place there

    std::uint64_t end() const { return offset + piece.length; }
  };
  using Pieces = std::vector<PlacedPiece>;
  struct InFlightBatch {
    Pieces pieces;
    std::shared_ptr<const Block> block;
    DirtyBudget::Share share;
    std::uint64_t bytes = 0;

    std::uint64_t offset() const { return pieces.front().offset; }
    std::uint64_t end() const { return pieces.back().end(); }
  };

  std::size_t uncut_bytes() const { return used_ - cut_; }
  std::size_t block_bytes(std::size_t rest) const;
  void start_block();
  void note_gone(const InFlightBatch& batch) noexcept;
  static Part part_of(const PlacedPiece& piece, std::uint64_t offset, const std::shared_ptr<const Block>& block);
  static Part part_in(const Pieces& pieces, std::uint64_t offset, const std::shared_ptr<const Block>& block);

  const ContentCutter cutter_;
  DirtyBudget& budget_;
  const std::uint64_t expected_end_;
  const Stored stored_;
  std::unique_ptr<ChunkWriter> writer_;
  DirtyBudget::Share writer_share_;

  std::shared_ptr<Block> block_;  // the last one, which pieces that wait lie in; null before the first byte
  std::size_t cut_ = 0;           // bytes of it that are cut
  std::size_t used_ = 0;          // and that are filled
  Pieces waiting_;
  std::deque<InFlightBatch> batches_;
  std::size_t failed_ = 0;  // of the flights, the first ones
  std::uint64_t in_flight_bytes_ = 0;
  std::uint64_t stored_end_;
  std::uint64_t cut_end_;
};

}  // namespace dedupfs
