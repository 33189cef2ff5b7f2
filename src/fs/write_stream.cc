#include "fs/write_stream.h"

#include <algorithm>
#include <cstring>

#include "base/check.h"

namespace dedupfs {
namespace {

constexpr std::size_t kBlockBytes = 1 << 20;

// With chunks as large as blocks, what stays uncut must still be little beside what is cut.
std::size_t cut_threshold(const ContentCutter& cutter) {
  return std::max(kBlockBytes, 2 * cutter.largest_rest());
}

}  // namespace

WriteStream::WriteStream(Volume& volume, std::uint64_t start, Stored stored)
    : cutter_(volume.chunker()),
      stored_(std::move(stored)),
      writer_(volume.chunks().open_writer()),
      stored_end_(start),
      cut_end_(start) {}

void WriteStream::feed(ByteSpan bytes) {
  while (!bytes.empty()) {
    if (!block_) {
      block_ = std::make_shared<Block>();
      block_->bytes.resize(cut_threshold(cutter_) + cutter_.largest_rest());
    }
    const std::size_t count = std::min(bytes.size(), block_->bytes.size() - used_);
    std::memcpy(block_->bytes.data() + used_, bytes.data(), count);
    used_ += count;
    bytes = bytes.subspan(count);
    if (used_ >= cut_threshold(cutter_)) {
      cut(false);
      put();
    }
  }
}

void WriteStream::feed_hole(std::uint64_t length) {
  cut(true);
  waiting_.push_back({cut_end_, {length, true}, nullptr});
  cut_end_ += length;
  put();
}

void WriteStream::cut(bool last) {
  if (!block_) return;
  std::vector<Piece> pieces;
  cutter_.cut(ByteSpan(block_->bytes).subspan(cut_, used_ - cut_), last, pieces);
  for (const Piece& piece : pieces) {
    waiting_.push_back({cut_end_, piece, piece.is_hole ? nullptr : block_->bytes.data() + cut_});
    cut_end_ += piece.length;
    cut_ += piece.length;
  }
}

std::vector<std::uint64_t> WriteStream::cut_ends() const {
  std::vector<std::uint64_t> ends;
  for (const PlacedPiece& piece : waiting_) ends.push_back(piece.offset + piece.piece.length);
  return ends;
}

void WriteStream::drop_from(std::uint64_t offset) {
  while (!waiting_.empty() && waiting_.back().offset >= offset) {
    cut_ -= waiting_.back().piece.length;
    waiting_.pop_back();
  }
  cut_end_ = offset;
  used_ = cut_;
}

void WriteStream::put() {
  if (waiting_.empty()) return;
  ChunkStore::Batch batch;
  batch.owner = block_;
  for (const PlacedPiece& piece : waiting_)
    if (!piece.piece.is_hole) batch.chunks.emplace_back(piece.bytes, piece.piece.length);
  batch.done = stored_;
  flights_.push_back({std::move(waiting_), cut_ - put_, block_});
  waiting_.clear();
  put_ = cut_;

  // The bytes whose end is not certain move to a block of their own.
  const std::shared_ptr<Block> full = std::move(block_);
  const std::size_t rest_at = cut_;
  const std::size_t rest = uncut_bytes();
  put_ = cut_ = used_ = 0;
  block_.reset();
  if (rest != 0) feed(ByteSpan(full->bytes).subspan(rest_at, rest));
  writer_->put(std::move(batch));
}

WriteStream::Landed WriteStream::take_stored(const std::vector<ChunkId>* ids) {
  DEDUPFS_CHECK(!flights_.empty());  // put() made one for each answer
  const Flight flight = std::move(flights_.front());
  flights_.pop_front();
  Landed landed;
  landed.offset = flight.offset();
  landed.bytes = flight.bytes;
  stored_end_ = flight.end();
  std::size_t next_id = 0;
  for (const PlacedPiece& piece : flight.pieces) {
    landed.parts.push_back(part_of(piece, piece.offset, flight.block));
    if (ids == nullptr) continue;
    RecipeEntry entry;
    entry.length = piece.piece.length;
    if (!piece.piece.is_hole) {
      entry.kind = RecipeEntry::Kind::kChunk;
      entry.chunk = (*ids)[next_id++];
    }
    landed.entries.push_back(std::move(entry));
  }
  return landed;
}

WriteStream::Part WriteStream::part_of(const PlacedPiece& piece, std::uint64_t offset,
                                       const std::shared_ptr<const Block>& block) {
  const std::uint64_t skip = offset - piece.offset;
  Part part{offset, piece.piece.length - skip, {}};
  if (!piece.piece.is_hole) part.bytes = {{piece.bytes + skip, part.length}, block};
  return part;
}

WriteStream::Part WriteStream::part_at(std::uint64_t offset) const {
  DEDUPFS_CHECK(offset >= stored_end_ && offset < end());  // callers look at both first
  const auto holds = [offset](const PlacedPiece& piece) { return offset < piece.offset + piece.piece.length; };
  for (const Flight& flight : flights_)
    if (offset < flight.end()) return part_of(*std::ranges::find_if(flight.pieces, holds), offset, flight.block);
  if (offset < cut_end_) return part_of(*std::ranges::find_if(waiting_, holds), offset, block_);
  const std::uint64_t skip = offset - cut_end_;
  const std::uint64_t length = uncut_bytes() - skip;
  return {offset, length, {{block_->bytes.data() + cut_ + skip, length}, block_}};
}

std::vector<WriteStream::Part> WriteStream::take_unput() {
  std::vector<Part> parts;
  for (const PlacedPiece& piece : waiting_) parts.push_back(part_of(piece, piece.offset, block_));
  if (uncut_bytes() != 0) parts.push_back(part_at(cut_end_));
  waiting_.clear();
  cut_end_ = end();
  put_ = cut_ = used_ = 0;
  block_.reset();
  return parts;
}

}  // namespace dedupfs
