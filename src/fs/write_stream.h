// New content on its way from a writer into the chunk store: bytes are copied once into blocks, cut into pieces, and the
// chunks of a block are put as one batch. What is on its way can be read.
//
//   start() ... stored_end() ... end()
//           stored         in flight, or waiting in the last block for its end to become certain
//
// Threads:   one user at a time (its FileContent's lock); `stored` is called by threads of the pool, without that lock, once
//            for each flight and in order; it ends in a call of take_stored().
// Ownership: owns the blocks, shared with the chunk store and with readers. No flight may be left when it is destroyed.
#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <vector>

#include "base/bytes.h"
#include "base/raw_buffer.h"
#include "base/result.h"
#include "fs/content_cutter.h"
#include "fs/recipe.h"
#include "store/volume.h"

namespace dedupfs {

class WriteStream {
 public:
  using Stored = std::function<void(Result<std::vector<ChunkId>> ids)>;

  WriteStream(Volume& volume, std::uint64_t start, Stored stored);

  void feed(ByteSpan bytes);
  // Zeros that take no space, however long; the chunk before ends here.
  void feed_hole(std::uint64_t length);

  // Cuts what is certain into pieces (with `last`, everything), which wait for put().
  void cut(bool last);
  // The ends of the pieces that wait, as file offsets.
  std::vector<std::uint64_t> cut_ends() const;
  // Forgets everything from `offset` on, which is one of cut_ends().
  void drop_from(std::uint64_t offset);
  // Hands the waiting pieces to the chunk store.
  void put();

  std::uint64_t stored_end() const { return stored_end_; }
  std::uint64_t end() const { return cut_end_ + uncut_bytes(); }
  bool in_flight() const { return !flights_.empty(); }

  struct Part {
    std::uint64_t offset = 0;
    std::uint64_t length = 0;
    PinnedBytes bytes;  // empty: a hole
  };
  struct Landed {
    std::uint64_t offset = 0;
    std::uint64_t bytes = 0;           // that were fed
    std::vector<RecipeEntry> entries;  // empty without `ids`
    std::vector<Part> parts;           // what it consisted of
  };
  // The first flight has landed: with ids, or, if `ids` is null, with an error.
  Landed take_stored(const std::vector<ChunkId>* ids);
  // The part of [stored_end(), end()) that holds `offset`, from there on.
  Part part_at(std::uint64_t offset) const;
  // Gives up what was not put yet.
  std::vector<Part> take_unput();

 private:
  struct Block {
    RawBuffer bytes;
  };
  struct PlacedPiece {
    std::uint64_t offset = 0;  // in the file
    Piece piece;
    const std::uint8_t* bytes = nullptr;  // of a chunk, in the block
  };
  struct Flight {
    std::vector<PlacedPiece> pieces;
    std::uint64_t bytes = 0;
    std::shared_ptr<const Block> block;

    std::uint64_t offset() const { return pieces.front().offset; }
    std::uint64_t end() const { return pieces.back().offset + pieces.back().piece.length; }
  };

  std::size_t uncut_bytes() const { return used_ - cut_; }
  static Part part_of(const PlacedPiece& piece, std::uint64_t offset, const std::shared_ptr<const Block>& block);

  const ContentCutter cutter_;
  const Stored stored_;
  std::unique_ptr<ChunkStore::Writer> writer_;

  std::shared_ptr<Block> block_;  // the last one; null while there is nothing in it
  std::size_t put_ = 0;           // bytes of it that were put,
  std::size_t cut_ = 0;           // that are cut,
  std::size_t used_ = 0;          // and that are filled
  std::vector<PlacedPiece> waiting_;
  std::deque<Flight> flights_;
  std::uint64_t stored_end_;
  std::uint64_t cut_end_;
};

}  // namespace dedupfs
