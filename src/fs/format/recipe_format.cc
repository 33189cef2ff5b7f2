#include "fs/format/recipe_format.h"

#include "base/check.h"
#include "base/coding.h"
#include "chunkers/chunker.h"

namespace dedupfs {
namespace {

// The lowest bits of the first number of an entry, below the length. They are written to disk. Holes use only one bit, because
// the length of the longest file has 63 bits.
constexpr std::uint64_t kHoleBit = 1;
constexpr std::uint64_t kInlineBit = 2;

Error damaged(std::string_view reason) {
  return {ErrorCode::kCorruption, "segment of a recipe: " + std::string(reason)};
}

bool is_valid(const RecipeEntry& entry) {
  switch (entry.kind) {
    case RecipeEntry::Kind::kChunk: return entry.length > 0 && entry.length <= kMaxChunkBytesLimit;
    case RecipeEntry::Kind::kHole: return entry.length > 0 && entry.length <= kMaxFileBytes;
    case RecipeEntry::Kind::kInline: return entry.length > 0 && entry.length <= kInlineBytes;
  }
  return false;
}

// Most ids follow each other. So an id is stored as its difference to the successor of the previous id (modulo 2^64).
std::int64_t id_step(ChunkId id, ChunkId previous) {
  return static_cast<std::int64_t>(number_of(id) - number_of(previous) - 1);
}

ChunkId id_after_step(ChunkId previous, std::int64_t step) {
  return ChunkId{number_of(previous) + 1 + static_cast<std::uint64_t>(step)};
}

RecipeEntry decode_entry(Decoder& in, ChunkId previous) {
  RecipeEntry entry;
  const std::uint64_t first = in.varint();
  if ((first & kHoleBit) != 0) {
    entry.length = first >> 1;
    return entry;
  }
  entry.length = first >> 2;
  if ((first & kInlineBit) != 0) {
    entry.kind = RecipeEntry::Kind::kInline;
    if (is_valid(entry)) entry.bytes = text_of(in.bytes(entry.length));
  } else {
    entry.kind = RecipeEntry::Kind::kChunk;
    entry.chunk = id_after_step(previous, in.signed_varint());
  }
  return entry;
}

}  // namespace

std::string encode_recipe_key(InodeNumber inode, std::uint64_t offset) {
  std::string key;
  Encoder out(key);
  out.big_u64(inode);
  out.big_u64(offset);
  return key;
}

Result<RecipeKey> decode_recipe_key(std::string_view key) {
  Decoder in(key);
  RecipeKey decoded;
  decoded.inode = in.big_u64();
  decoded.offset = in.big_u64();
  if (!in.ok_at_end() || decoded.offset > kMaxFileBytes) {
    return Error{ErrorCode::kCorruption, "key of a segment of a recipe: does not parse"};
  }
  return decoded;
}

std::string encode_segment(const std::vector<RecipeEntry>& entries) {
  DEDUPFS_CHECK(!entries.empty() && entries.size() <= kSegmentEntries);  // callers split entries into segments
  std::string value;
  value.reserve(1 + 4 * entries.size());
  Encoder out(value);
  out.u8(kSegmentVersion);
  ChunkId previous{};
  for (const RecipeEntry& entry : entries) {
    DEDUPFS_CHECK(is_valid(entry));  // entries from disk were checked by the decoder
    switch (entry.kind) {
      case RecipeEntry::Kind::kChunk:
        out.varint(entry.length << 2);
        out.signed_varint(id_step(entry.chunk, previous));
        previous = entry.chunk;
        break;
      case RecipeEntry::Kind::kHole: out.varint(entry.length << 1 | kHoleBit); break;
      case RecipeEntry::Kind::kInline:
        DEDUPFS_CHECK(entry.bytes.size() == entry.length);  // the same
        out.varint(entry.length << 2 | kInlineBit);
        out.bytes(entry.bytes);
        break;
    }
  }
  return value;
}

Result<std::vector<RecipeEntry>> decode_segment(std::string_view value) {
  Decoder in(value);
  if (const std::uint8_t version = in.u8(); in.ok() && version != kSegmentVersion) {
    return damaged("version " + std::to_string(version) + " is not known");
  }
  std::vector<RecipeEntry> entries;
  std::uint64_t end = 0;
  ChunkId previous{};
  while (in.remaining() > 0) {
    if (entries.size() == kSegmentEntries) return damaged("too many entries");
    RecipeEntry entry = decode_entry(in, previous);
    if (!in.ok()) break;
    if (!is_valid(entry)) return damaged("the length " + std::to_string(entry.length) + " is out of range");
    if (entry.length > kMaxFileBytes - end) return damaged("ends beyond the largest file");
    end += entry.length;
    if (entry.kind == RecipeEntry::Kind::kChunk) previous = entry.chunk;
    entries.push_back(std::move(entry));
  }
  if (!in.ok()) return damaged("ends early");
  if (entries.empty()) return damaged("has no entries");
  return entries;
}

}  // namespace dedupfs
