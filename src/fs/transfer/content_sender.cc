#include "fs/transfer/content_sender.h"

#include <algorithm>
#include <string>
#include <utility>

#include "delta/xdelta3_codec.h"
#include "store/chunks/chunk_reader.h"
#include "store/format/region.h"

namespace dedupfs::transfer {
namespace {

// Of a delta that is made here.
constexpr std::size_t kLeastWithDelta = 512;
constexpr std::size_t kLeastGain = 4;  // it has at most such a part of the content's length
// The receiver notes how far it is behind each.
constexpr std::uint64_t kLongestCopy = 256 << 20;
constexpr std::uint64_t kAround = 32 << 10;  // of the base, on each side of where the content is likely to be

}  // namespace

Result<void> ContentSender::send(const File& file, std::uint64_t begin) {
  guess_.reset();
  const auto send_changed = [&](const ChangedEntry& changed) -> Result<void> {
    const RecipeEntry& entry = changed.entry;
    const std::uint64_t end = changed.offset + entry.length;
    if (changed.is_same) {
      note_match(end, {Tree::kBase, file.inode, changed.offset, entry.length});
      return {};
    }
    if (end > begin) DEDUPFS_TRY(send_entry(file, changed));
    if (entry.kind == RecipeEntry::Kind::kChunk)
      places_.note_sent(entry.chunk, entry.length, file.inode, changed.offset, changed.segment);
    return {};
  };
  DEDUPFS_TRY(visit_changed_entries(file.was_there ? base_ : nullptr, sent_, file.inode, send_changed));
  DEDUPFS_TRY(flush_copy());
  if (!file.was_there) return {};
  // What the base has behind the last entry reads as zeros now.
  DEDUPFS_ASSIGN(const std::uint64_t end, end_of_recipe(sent_, file.inode));
  DEDUPFS_ASSIGN(const std::uint64_t old_end, end_of_recipe(*base_, file.inode));
  const std::uint64_t hole_end = std::min(file.size, old_end);
  if (hole_end <= begin) return {};  // the receiver has done that
  return end < hole_end ? emit_(Hole{.inode = file.inode, .offset = end, .length = hole_end - end}) : Result<void>();
}

Result<void> ContentSender::send_entry(const File& file, const ChangedEntry& changed) {
  const RecipeEntry& entry = changed.entry;
  if (entry.kind == RecipeEntry::Kind::kChunk) return send_chunk(file, changed);
  DEDUPFS_TRY(flush_copy());
  if (entry.kind == RecipeEntry::Kind::kInline) return send_bytes(file.inode, changed.offset, bytes_of(entry.bytes));
  return file.was_there ? emit_(Hole{.inode = file.inode, .offset = changed.offset, .length = entry.length})
                        : Result<void>();
}

Result<void> ContentSender::send_chunk(const File& file, const ChangedEntry& changed) {
  const ChunkId chunk = changed.entry.chunk;
  if (chunk == kLostChunk) return corruption("content was lost, as fsck.dedupfs has said");
  DEDUPFS_ASSIGN(const auto place, places_.find(chunk));
  if (place) {
    note_match(changed.offset + place->length, *place);
    return add_copy(file.inode, changed.offset, *place);
  }
  DEDUPFS_TRY(flush_copy());
  DEDUPFS_ASSIGN(const bool is_sent, send_stored_delta(file.inode, changed));
  if (is_sent) return {};
  DEDUPFS_ASSIGN(const PinnedBytes pinned, filesystem_.volume().chunks().get(chunk));
  DEDUPFS_ASSIGN(const bool is_delta, send_new_delta(file, changed.offset, pinned.bytes));
  return is_delta ? Result<void>() : send_bytes(file.inode, changed.offset, pinned.bytes);
}

void ContentSender::note_match(std::uint64_t end, const ContentPlace& place) {
  if (place.tree == Tree::kBase)
    guess_ = {.offset = end, .inode = place.inode, .base_offset = place.offset + place.length};
}

Result<void> ContentSender::send_bytes(InodeNumber inode, std::uint64_t offset, ByteSpan bytes) {
  while (!bytes.empty()) {
    const ByteSpan part = bytes.first(std::min(bytes.size(), kMaxContentBytes));
    DEDUPFS_TRY(emit_(NewContent{.inode = inode, .offset = offset, .bytes = std::string(text_of(part))}));
    totals_.new_bytes += part.size();
    offset += part.size();
    bytes = bytes.subspan(part.size());
  }
  return {};
}

Result<bool> ContentSender::send_stored_delta(InodeNumber inode, const ChangedEntry& changed) {
  DEDUPFS_ASSIGN(const ChunkReader::Stored stored,
                 filesystem_.volume().chunks().reader().get_stored(changed.entry.chunk));
  if (!stored.entry.is_delta() || stored.entry.raw_length > kMaxContentBytes) return false;
  DeltaContent delta{
      .inode = inode, .offset = changed.offset, .length = stored.entry.raw_length, .checksum = stored.entry.checksum};
  std::uint64_t source_bytes = 0;
  for (const ChunkId source : stored.entry.sources) {
    DEDUPFS_ASSIGN(const auto place, places_.find(source));
    if (!place) return false;
    source_bytes += place->length;
    delta.sources.push_back(*place);
  }
  if (source_bytes > Xdelta3Codec::kMaxSourceBytes) return false;
  delta.delta = text_of(stored.payload.bytes);
  totals_.delta_bytes += delta.length;
  note_match(changed.offset + delta.length, delta.sources[delta.sources.size() / 2]);  // as likely_base()
  DEDUPFS_TRY(emit_(delta));
  return true;
}

Result<bool> ContentSender::send_new_delta(const File& file, std::uint64_t offset, ByteSpan bytes) {
  if (base_ == nullptr || bytes.size() < kLeastWithDelta || bytes.size() > kMaxContentBytes) return false;
  Guess guess{.offset = offset, .inode = file.older_version, .base_offset = offset};
  if (guess_ && guess_->offset == offset) guess = *guess_;
  if (guess.inode == 0) return false;
  const std::uint64_t begin = guess.base_offset - std::min(guess.base_offset, kAround);
  const InodeNumber node = node_of(base_->snapshot()->number, guess.inode);
  DEDUPFS_ASSIGN(const auto pieces, filesystem_.read(node, begin, bytes.size() + 2 * kAround, AccessTime::kKept));
  ByteBuffer source;
  for (const PinnedBytes& piece : pieces) source.insert(source.end(), piece.bytes.begin(), piece.bytes.end());
  if (source.size() < kLeastWithDelta) return false;
  ByteBuffer room(bytes.size() / kLeastGain);
  const std::size_t likely = std::min<std::size_t>(guess.base_offset - begin, source.size() - 1);
  DEDUPFS_ASSIGN(const auto length, Xdelta3Codec::encode(source, bytes, room, likely));
  if (!length) return false;
  DEDUPFS_ASSIGN(const Xdelta3Codec::Range range, Xdelta3Codec::source_range(ByteSpan(room).first(*length)));
  guess_ = {.offset = offset + bytes.size(), .inode = guess.inode, .base_offset = begin + range.end};
  totals_.delta_bytes += bytes.size();
  DEDUPFS_TRY(emit_(DeltaContent{.inode = file.inode,
                                 .offset = offset,
                                 .length = static_cast<std::uint32_t>(bytes.size()),
                                 .checksum = delta_checksum_of(bytes),
                                 .sources = {{Tree::kBase, guess.inode, begin, source.size()}},
                                 .delta = std::string(text_of(ByteSpan(room).first(*length)))}));
  return true;
}

Result<void> ContentSender::add_copy(InodeNumber inode, std::uint64_t offset, const ContentPlace& place) {
  totals_.copied_bytes += place.length;
  if (copy_) {
    ContentPlace& source = copy_->source;
    if (source.length < kLongestCopy && copy_->inode == inode && copy_->offset + source.length == offset &&
        source.tree == place.tree && source.inode == place.inode && source.offset + source.length == place.offset) {
      source.length += place.length;
      return {};
    }
    DEDUPFS_TRY(flush_copy());
  }
  copy_ = CopiedContent{.inode = inode, .offset = offset, .source = place};
  return {};
}

Result<void> ContentSender::flush_copy() {
  if (!copy_) return {};
  const CopiedContent copy = *std::exchange(copy_, std::nullopt);
  return emit_(copy);
}

}  // namespace dedupfs::transfer
