#include "fs/content/write_stream.h"

#include <algorithm>
#include <cstring>
#include <limits>

#include "base/check.h"

namespace dedupfs {
namespace {

constexpr std::size_t kBlockBytes = 1 << 20;
constexpr std::size_t kMinBlockBytes = 4096;
// The limit for one batch: between holes, chunks can be as short as a byte.
constexpr std::size_t kMaxPieces = 2048;
// The memory for a piece in flight, beside its bytes: here, and in the chunk store (fingerprint, result of the lookup).
constexpr std::uint64_t kBytesPerPiece = 256;

// Even with chunks as large as blocks, the uncut bytes must be few in comparison with the cut ones.
std::size_t cut_threshold(const ContentCutter& cutter) {
  return std::max(kBlockBytes, 2 * cutter.largest_rest());
}

std::uint64_t saturated_sum(std::uint64_t a, std::uint64_t b) {
  return b > std::numeric_limits<std::uint64_t>::max() - a ? std::numeric_limits<std::uint64_t>::max() : a + b;
}

}  // namespace

WriteStream::WriteStream(Volume& volume, DirtyBudget& budget, std::uint64_t start, std::uint64_t expected_bytes,
                         Stored stored, ReplacedAt replaced_at)
    : cutter_(volume.chunker()),
      meter_(volume.chunks().ingest_meter()),
      budget_(budget),
      expected_end_(saturated_sum(start, expected_bytes)),
      stored_(std::move(stored)),
      replaced_at_(std::move(replaced_at)),
      writer_(volume.chunks().open_writer()),
      writer_share_(DirtyBudget::Share::forced(budget, volume.chunks().writer_bytes())),
      stored_end_(start),
      cut_end_(start) {}

void WriteStream::feed(ByteSpan bytes) {
  while (!bytes.empty()) {
    if (!block_ || used_ == block_->bytes.size()) start_block();
    const std::size_t count = std::min(bytes.size(), block_->bytes.size() - used_);
    std::memcpy(block_->bytes.data() + used_, bytes.data(), count);
    used_ += count;
    bytes = bytes.subspan(count);
    if (used_ >= cut_threshold(cutter_)) start_block();
  }
}

// If few more bytes are expected, the block is smaller.
std::size_t WriteStream::block_bytes(std::size_t rest) const {
  const std::size_t largest = cut_threshold(cutter_) + cutter_.largest_rest();
  const std::uint64_t left = expected_end_ > end() ? expected_end_ - end() : 0;
  const std::uint64_t wanted = std::max<std::uint64_t>(saturated_sum(rest, left), 2 * rest);
  return std::clamp<std::uint64_t>(wanted, kMinBlockBytes, largest);
}

// The block is full: puts its complete pieces, and moves the uncut bytes to a new block.
void WriteStream::start_block() {
  if (block_) {
    cut(false);
    put();
  }
  const std::size_t rest = uncut_bytes();
  std::shared_ptr<Block> next;
  if (rest != 0 || !block_ || block_->bytes.size() < cut_threshold(cutter_)) {
    next = std::make_shared<Block>();
    next->bytes.resize(block_bytes(rest));
    next->share = DirtyBudget::Share::forced(budget_, next->bytes.size());
    if (rest != 0) std::memcpy(next->bytes.data(), block_->bytes.data() + cut_, rest);
  }
  block_ = std::move(next);
  cut_ = 0;
  used_ = rest;
}

void WriteStream::feed_hole(std::uint64_t length) {
  cut(true);
  waiting_.push_back({cut_end_, {length, true}, nullptr});
  cut_end_ += length;
  if (waiting_.size() >= kMaxPieces) put();
}

void WriteStream::cut(bool last) {
  if (uncut_bytes() == 0) return;
  std::vector<Piece> pieces;
  StageTimer timer(meter_);
  const std::size_t cut_bytes = cutter_.cut(ByteSpan(block_->bytes).subspan(cut_, uncut_bytes()), last, pieces);
  timer.end(IngestStage::kCut, cut_bytes);
  if (waiting_.capacity() - waiting_.size() < pieces.size())
    waiting_.reserve(std::max(waiting_.size() + pieces.size(), 2 * waiting_.capacity()));
  for (const Piece& piece : pieces) {
    waiting_.push_back({cut_end_, piece, block_->bytes.data() + cut_});
    cut_end_ += piece.length;
    cut_ += piece.length;
  }
}

std::vector<std::uint64_t> WriteStream::cut_ends(std::uint64_t from) const {
  std::vector<std::uint64_t> ends;
  auto piece = std::ranges::partition_point(waiting_, [from](const PlacedPiece& it) { return it.end() < from; });
  for (; piece != waiting_.end(); ++piece) ends.push_back(piece->end());
  return ends;
}

void WriteStream::drop_from(std::uint64_t offset) {
  while (!waiting_.empty() && waiting_.back().offset >= offset) {
    if (waiting_.back().bytes != nullptr) cut_ -= waiting_.back().piece.length;
    waiting_.pop_back();
  }
  cut_end_ = offset;
  used_ = cut_;
}

void WriteStream::put() {
  send([this](ChunkWriter::Batch batch) { writer_->put(std::move(batch)); });
}

ChunkWriter::Work WriteStream::begin_put() {
  ChunkWriter::Work work;
  send([&](ChunkWriter::Batch batch) { work = writer_->begin(std::move(batch)); });
  return work;
}

template <class HandOver>
void WriteStream::send(const HandOver& hand_over) {
  if (waiting_.empty()) return;
  ChunkWriter::Batch batch;
  batch.owner = block_;
  batch.chunks.reserve(waiting_.size());
  for (const PlacedPiece& piece : waiting_) {
    if (piece.piece.is_hole) continue;
    batch.chunks.emplace_back(piece.bytes, piece.piece.length);
    if (replaced_at_) batch.replaced.push_back(replaced_at_(piece.offset, piece.piece.length));
  }
  batch.done = stored_;

  InFlightBatch& sent = batches_.emplace_back();
  sent.pieces.swap(waiting_);
  sent.block = block_;
  sent.bytes = sent.pieces.size() * kBytesPerPiece;
  sent.share = DirtyBudget::Share::forced(budget_, sent.bytes);
  for (const ByteSpan chunk : batch.chunks) sent.bytes += chunk.size();
  try {
    hand_over(std::move(batch));
  } catch (...) {
    sent.pieces.swap(waiting_);
    batches_.pop_back();
    throw;
  }
  in_flight_bytes_ += sent.bytes;
}

std::vector<RecipeEntry> WriteStream::stored_entries(const std::vector<ChunkId>& ids) const {
  DEDUPFS_CHECK(in_flight());  // put() made one for each result
  const InFlightBatch& batch = batches_[failed_];
  std::vector<RecipeEntry> entries;
  entries.reserve(batch.pieces.size());
  std::size_t next_id = 0;
  for (const PlacedPiece& piece : batch.pieces) {
    RecipeEntry& entry = entries.emplace_back();
    entry.length = piece.piece.length;
    if (piece.piece.is_hole) continue;
    entry.kind = RecipeEntry::Kind::kChunk;
    entry.chunk = ids[next_id++];
  }
  return entries;
}

void WriteStream::pop_stored() noexcept {
  DEDUPFS_CHECK(in_flight() && failed_ == 0);
  in_flight_bytes_ -= batches_.front().bytes;
  stored_end_ = batches_.front().end();
  batches_.pop_front();
}

void WriteStream::keep_failed() noexcept {
  DEDUPFS_CHECK(in_flight());
  in_flight_bytes_ -= batches_[failed_].bytes;
  ++failed_;
}

std::vector<WriteStream::Part> WriteStream::failed_parts() const {
  std::vector<Part> parts;
  if (failed_ == 0) return parts;
  const InFlightBatch& batch = batches_.front();
  for (const PlacedPiece& piece : batch.pieces) parts.push_back(part_of(piece, piece.offset, batch.block));
  return parts;
}

void WriteStream::pop_failed() noexcept {
  DEDUPFS_CHECK(failed_ != 0);
  stored_end_ = batches_.front().end();
  batches_.pop_front();
  --failed_;
}

WriteStream::Part WriteStream::part_of(const PlacedPiece& piece, std::uint64_t offset,
                                       const std::shared_ptr<const Block>& block) {
  const std::uint64_t skip = offset - piece.offset;
  Part part{offset, piece.piece.length - skip, {}};
  if (!piece.piece.is_hole) part.bytes = {{piece.bytes + skip, part.length}, block};
  return part;
}

WriteStream::Part WriteStream::part_in(const Pieces& pieces, std::uint64_t offset,
                                       const std::shared_ptr<const Block>& block) {
  return part_of(*std::ranges::partition_point(pieces, [offset](const PlacedPiece& it) { return it.end() <= offset; }),
                 offset, block);
}

WriteStream::Part WriteStream::part_at(std::uint64_t offset) const {
  DEDUPFS_CHECK(offset >= stored_end_ && offset < end());  // callers look at both first
  for (const InFlightBatch& batch : batches_)
    if (offset < batch.end()) return part_in(batch.pieces, offset, batch.block);
  if (offset < cut_end_) return part_in(waiting_, offset, block_);
  const std::uint64_t skip = offset - cut_end_;
  const std::uint64_t length = uncut_bytes() - skip;
  return {offset, length, {{block_->bytes.data() + cut_ + skip, length}, block_}};
}

std::vector<WriteStream::Part> WriteStream::unput_parts() const {
  std::vector<Part> parts;
  for (const PlacedPiece& piece : waiting_) parts.push_back(part_of(piece, piece.offset, block_));
  if (uncut_bytes() != 0) parts.push_back(part_at(cut_end_));
  return parts;
}

void WriteStream::drop_unput() noexcept {
  waiting_.clear();
  cut_end_ = batches_.empty() ? stored_end_ : batches_.back().end();
  cut_ = used_ = 0;
  block_.reset();
}

}  // namespace dedupfs
