// New content on its way from a writer into the chunk store: bytes are copied once into blocks and cut into pieces, and the
// chunks of a block are put as one batch. In-flight bytes can be read.
//
//   start() ... stored_end() ... end()
//           stored         failed, in flight, or waiting in the last block
//
// The budget is charged for all memory of blocks and in-flight batches, as long as anybody holds them.
//
// Threads:   one user at a time (its FileContent's lock); threads of the pool call `stored` without that lock, once for each
//            batch and in order. It must not throw, and must end with a call of pop_stored() or keep_failed().
// Ownership: shares the blocks with the chunk store and with readers. No batch may be left when it is destroyed. The budget
//            must outlive the blocks.
// Failure:   the functions that feed, cut and put may throw std::bad_alloc. A part of the bytes may have been fed then. No
//            bytes that were fed earlier are lost.
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
#include "store/ingest/ingest_meter.h"
#include "store/volume/volume.h"

namespace dedupfs {

class WriteStream {
 public:
  using Stored = std::function<void(Result<std::vector<ChunkId>> ids)>;
  // The chunk that a new one takes the place of, a hint for the chunk store. Called by put() and what calls it.
  using ReplacedAt = std::function<ReplacedChunk(std::uint64_t offset, std::uint64_t length)>;

  // About `expected_bytes` will be fed; blocks are not larger than that.
  WriteStream(Volume& volume, DirtyBudget& budget, std::uint64_t start, std::uint64_t expected_bytes, Stored stored,
              ReplacedAt replaced_at = {});

  void feed(ByteSpan bytes);
  // Feeds zeros of any length, which take no space. The chunk before them ends here.
  void feed_hole(std::uint64_t length);

  // Cuts bytes into pieces, which wait for put(). Without `last`, bytes whose piece later bytes can still change stay uncut.
  void cut(bool last);
  // The ends of the pieces that wait, as file offsets, from this offset on.
  std::vector<std::uint64_t> cut_ends(std::uint64_t from) const;
  // Forgets everything from `offset` on, which is one of cut_ends().
  void drop_from(std::uint64_t offset);
  // Hands the waiting pieces to the chunk store.
  void put();
  // The same, but the caller runs the work, without its FileContent's lock. Empty if no piece waits.
  ChunkWriter::Work begin_put();

  std::uint64_t stored_end() const { return stored_end_; }
  std::uint64_t end() const { return cut_end_ + uncut_bytes(); }
  bool in_flight() const { return batches_.size() > failed_; }
  std::uint64_t in_flight_bytes() const { return in_flight_bytes_; }

  // The oldest batch in flight: its offset, and its entries for the recipe. Only for a batch that was stored.
  std::uint64_t stored_offset() const { return batches_[failed_].offset(); }
  std::vector<RecipeEntry> stored_entries(const std::vector<ChunkId>& ids) const;
  // Drops that batch, which is in the recipe now. No batch may have failed before.
  void pop_stored() noexcept;
  // Keeps the bytes of that batch, which could not be stored, until pop_failed().
  void keep_failed() noexcept;

  struct Part {
    std::uint64_t offset = 0;
    std::uint64_t length = 0;
    PinnedBytes bytes;  // empty: a hole
  };
  // The part of [stored_end(), end()) that holds `offset`, from there on.
  Part part_at(std::uint64_t offset) const;
  // The parts of the first failed batch; nothing if none has failed.
  std::vector<Part> failed_parts() const;
  void pop_failed() noexcept;
  // The parts that were not put yet.
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
    const std::uint8_t* bytes = nullptr;  // in the block; null: a fed hole, which has no bytes there

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
  template <class HandOver>
  void send(const HandOver& hand_over);
  void note_gone(const InFlightBatch& batch) noexcept;
  static Part part_of(const PlacedPiece& piece, std::uint64_t offset, const std::shared_ptr<const Block>& block);
  static Part part_in(const Pieces& pieces, std::uint64_t offset, const std::shared_ptr<const Block>& block);

  const ContentCutter cutter_;
  IngestMeter& meter_;
  DirtyBudget& budget_;
  const std::uint64_t expected_end_;
  const Stored stored_;
  const ReplacedAt replaced_at_;
  std::unique_ptr<ChunkWriter> writer_;
  DirtyBudget::Share writer_share_;

  std::shared_ptr<Block> block_;  // the last one, with the waiting pieces; null before the first byte
  std::size_t cut_ = 0;           // bytes of it that are cut
  std::size_t used_ = 0;          // and that are filled
  Pieces waiting_;
  std::deque<InFlightBatch> batches_;
  std::size_t failed_ = 0;  // the first so many of batches_ have failed
  std::uint64_t in_flight_bytes_ = 0;
  std::uint64_t stored_end_;
  std::uint64_t cut_end_;
};

}  // namespace dedupfs
