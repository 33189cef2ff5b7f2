#include "fs/estimate/piece_reader.h"

#include <algorithm>
#include <cstring>

namespace dedupfs {
namespace {

constexpr std::size_t kBytesAtOnce = 2 << 20;
// A chunker that starts anywhere finds the cuts of the file after some chunks of average length, nearly always.
constexpr std::uint64_t kChunksToFindCuts = 20;

}  // namespace

// Of the file without its holes.
struct PieceReader::Span {
  std::uint64_t begin = 0;
  std::uint64_t end = 0;
};

PieceReader::PieceReader(const SourceTree& tree, const Chunker& chunker)
    : tree_(tree),
      cutter_(chunker),
      avg_chunk_bytes_(chunker.sizes().avg_bytes),
      max_chunk_bytes_(chunker.sizes().max_bytes),
      buffer_(kBytesAtOnce + cutter_.largest_rest()) {}

Result<PieceReader::Found> PieceReader::read(const SamplePiece& piece, const Visit& visit) {
  Found found;
  const auto file = SourceFile::open(tree_.path_of(piece.root, piece.relative), piece.relative.empty());
  if (!file) {
    found.unreadable = file.error();
    return found;
  }
  const std::uint64_t data_bytes = file->data_bytes();
  const auto border = [&](std::uint64_t index) {  // does not overflow
    return data_bytes / piece.part.count * index + data_bytes % piece.part.count * index / piece.part.count;
  };
  const Span span{border(piece.part.index), border(piece.part.index + std::uint64_t{1})};
  std::uint64_t position = 0;  // of the extent, without the holes before it
  for (const SourceFile::Extent& extent : file->extents()) {
    const std::uint64_t length = extent.end - extent.begin;
    if (position >= span.end) break;
    if (position + length > span.begin) {
      // From where on, and up to where, a chunk of this extent is one of the piece.
      const Span here{extent.begin + (span.begin > position ? span.begin - position : 0),
                      extent.begin + std::min(length, span.end - position)};
      DEDUPFS_ASSIGN(const bool goes_on, read_extent(*file, extent, here, visit, found));
      if (!goes_on) break;
    }
    position += length;
  }
  return found;
}

// `span` is one of the file here, holes and all. False: nothing more can be read.
Result<bool> PieceReader::read_extent(const SourceFile& file, SourceFile::Extent extent, const Span& span,
                                      const Visit& visit, Found& found) {
  const std::uint64_t lead = std::min(span.begin - extent.begin, kChunksToFindCuts * avg_chunk_bytes_);
  // A multiple of the size of chunks, for chunks of one size.
  std::uint64_t at = extent.begin + (span.begin - extent.begin - lead) / max_chunk_bytes_ * max_chunk_bytes_;
  for (std::size_t held = 0; at < span.end;) {  // bytes in the buffer, from `at` on
    const std::uint64_t behind = at + held;
    // Behind the span, only as much as the last chunk of it may need.
    const std::uint64_t end = std::min(extent.end, span.end + cutter_.largest_rest());
    const std::size_t wanted = std::min<std::uint64_t>(buffer_.size() - held, end - std::min(end, behind));
    std::size_t got = 0;
    if (wanted != 0) {
      const auto read = file.read(behind, MutableByteSpan(buffer_).subspan(held, wanted));
      if (!read) found.unreadable = read.error();
      got = read.value_or(0);
      found.changed |= read && got == 0;
      if (got == 0) return false;
    }
    held += got;
    cuts_.clear();
    const std::size_t cut = cutter_.cut(ByteSpan(buffer_).first(held), at + held == extent.end, cuts_);
    std::size_t position = 0;
    for (const Piece& piece : cuts_) {
      const std::uint64_t offset = at + position;
      if (offset >= span.end) return true;
      if (!piece.is_hole && offset >= span.begin) {
        DEDUPFS_TRY(visit(offset, ByteSpan(buffer_).subspan(position, piece.length)));
        found.bytes += piece.length;
      }
      position += piece.length;
    }
    at += cut;
    held -= cut;
    std::memmove(buffer_.data(), buffer_.data() + cut, held);
  }
  return true;
}

}  // namespace dedupfs
