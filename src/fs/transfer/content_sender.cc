#include "fs/transfer/content_sender.h"

#include <algorithm>
#include <string>
#include <utility>

#include "delta/xdelta3_codec.h"
#include "store/chunks/chunk_reader.h"

namespace dedupfs::transfer {

Result<void> ContentSender::send(InodeNumber inode, std::uint64_t size, bool was_there, std::uint64_t begin) {
  const auto send_changed = [&](const ChangedEntry& changed) -> Result<void> {
    const RecipeEntry& entry = changed.entry;
    if (changed.is_same) return {};
    if (changed.offset + entry.length > begin) DEDUPFS_TRY(send_entry(inode, changed, was_there));
    if (entry.kind == RecipeEntry::Kind::kChunk)
      places_.note_sent(entry.chunk, entry.length, inode, changed.offset, changed.segment);
    return {};
  };
  DEDUPFS_TRY(visit_changed_entries(was_there ? base_ : nullptr, sent_, inode, send_changed));
  DEDUPFS_TRY(flush_copy());
  if (!was_there) return {};
  // What the base has behind the last entry reads as zeros now.
  DEDUPFS_ASSIGN(const std::uint64_t end, end_of_recipe(sent_, inode));
  DEDUPFS_ASSIGN(const std::uint64_t old_end, end_of_recipe(*base_, inode));
  const std::uint64_t hole_end = std::min(size, old_end);
  return end < hole_end ? emit_(Hole{.inode = inode, .offset = end, .length = hole_end - end}) : Result<void>();
}

Result<void> ContentSender::send_entry(InodeNumber inode, const ChangedEntry& changed, bool was_there) {
  const RecipeEntry& entry = changed.entry;
  if (entry.kind == RecipeEntry::Kind::kChunk) return send_chunk(inode, changed);
  DEDUPFS_TRY(flush_copy());
  if (entry.kind == RecipeEntry::Kind::kInline) return send_bytes(inode, changed.offset, bytes_of(entry.bytes));
  return was_there ? emit_(Hole{.inode = inode, .offset = changed.offset, .length = entry.length}) : Result<void>();
}

Result<void> ContentSender::send_chunk(InodeNumber inode, const ChangedEntry& changed) {
  const ChunkId chunk = changed.entry.chunk;
  if (chunk == kLostChunk) return corruption("content was lost, as fsck.dedupfs has said");
  DEDUPFS_ASSIGN(const auto place, places_.find(chunk));
  if (place) return add_copy(inode, changed.offset, *place);
  DEDUPFS_TRY(flush_copy());
  DEDUPFS_ASSIGN(const bool is_sent, send_delta(inode, changed));
  if (is_sent) return {};
  DEDUPFS_ASSIGN(const PinnedBytes pinned, volume_.chunks().get(chunk));
  return send_bytes(inode, changed.offset, pinned.bytes);
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

Result<bool> ContentSender::send_delta(InodeNumber inode, const ChangedEntry& changed) {
  DEDUPFS_ASSIGN(const ChunkReader::Stored stored, volume_.chunks().reader().get_stored(changed.entry.chunk));
  if (!stored.entry.is_delta() || stored.entry.raw_length > kMaxContentBytes) return false;
  DeltaContent delta{.inode = inode,
                     .offset = changed.offset,
                     .length = stored.entry.raw_length,
                     .checksum = stored.entry.checksum};
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
  DEDUPFS_TRY(emit_(delta));
  return true;
}

Result<void> ContentSender::add_copy(InodeNumber inode, std::uint64_t offset, const ContentPlace& place) {
  totals_.copied_bytes += place.length;
  if (copy_) {
    ContentPlace& source = copy_->source;
    if (copy_->inode == inode && copy_->offset + source.length == offset && source.tree == place.tree &&
        source.inode == place.inode && source.offset + source.length == place.offset) {
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
