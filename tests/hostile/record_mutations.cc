#include "hostile/record_mutations.h"

#include <algorithm>

#include "base/coding.h"
#include "base/uuid.h"
#include "fs/format/mode.h"
#include "fs/format/recipe_format.h"
#include "fs/format/records.h"
#include "index/counters.h"
#include "store/chunks/chunk_index.h"
#include "store/chunks/damaged_chunks.h"
#include "store/metadata/before_images.h"
#include "store/metadata/snapshot_list.h"
#include "store/volume/volume.h"

namespace dedupfs {
namespace {

// Another number in place of a varint that begins somewhere in `bytes`.
std::string change_varint(const std::string& bytes, Random& random) {
  std::vector<std::size_t> begins;
  for (std::size_t at = 0; at < bytes.size(); ++at)
    if (at == 0 || static_cast<unsigned char>(bytes[at - 1]) < 0x80) begins.push_back(at);
  if (begins.empty()) return bytes;
  const std::size_t begin = random.of(begins);
  Decoder in(std::string_view(bytes).substr(begin));
  const std::uint64_t was = in.varint();
  std::string changed = bytes.substr(0, begin);
  Encoder(changed).varint(random.number(was));
  return changed + bytes.substr(bytes.size() - in.remaining());
}

template <class Integer>
void change(Integer& value, Random& random) {
  value = static_cast<Integer>(random.number(static_cast<std::uint64_t>(value)));
}

std::string mutate_inode(InodeNumber number, const std::string& value, Random& random) {
  auto record = decode_inode(number, value);
  if (!record) return mutate_bytes(value, random);
  Attributes& attributes = record->attributes;
  switch (random.below(11)) {
    case 0: change(attributes.links, random); break;
    case 1: change(attributes.size, random); break;
    case 2: change(attributes.data_bytes, random); break;
    case 3: change(attributes.parent, random); break;
    case 4: change(attributes.next_cookie, random); break;
    case 5: change(attributes.mode, random); break;
    case 6: attributes.mode = (attributes.mode & 07777) | static_cast<std::uint32_t>(random.below(16) << 12); break;
    case 7: change(attributes.mtime.seconds, random); break;
    case 8: record->has_xattrs = !record->has_xattrs; break;
    case 9: attributes.size = random.below(attributes.size + 1); break;  // shorter than its recipe
    default: record->symlink_target = random.bytes(random.below(6000)); break;
  }
  return encode_inode(*record);
}

std::string mutate_dirent(InodeNumber parent, const std::string& value, Random& random) {
  auto dirent = decode_dirent(parent, value);
  if (!dirent) return mutate_bytes(value, random);
  switch (random.below(3)) {
    case 0: dirent->inode = random.one_in(2) ? random.below(60) : random.number(dirent->inode); break;
    case 1: dirent->type = static_cast<std::uint32_t>(random.below(16) << 12); break;
    default: change(dirent->cookie, random); break;
  }
  return encode_dirent(*dirent);
}

std::string mutate_cookie(InodeNumber parent, const std::string& value, Random& random) {
  auto entry = decode_cookie_entry(parent, value);
  if (!entry) return mutate_bytes(value, random);
  switch (random.below(3)) {
    case 0: entry->inode = random.one_in(2) ? random.below(60) : random.number(entry->inode); break;
    case 1: entry->type = static_cast<std::uint32_t>(random.below(16) << 12); break;
    default: entry->name = random.one_in(2) ? random.bytes(random.below(300)) : "tiny"; break;
  }
  return encode_cookie_entry(*entry);
}

// What the encoder of the project refuses to write can be written here.
std::string encode_hostile_segment(const std::vector<RecipeEntry>& entries) {
  std::string value;
  Encoder out(value);
  out.u8(kSegmentVersion);
  std::uint64_t previous = 0;
  for (const RecipeEntry& entry : entries) {
    switch (entry.kind) {
      case RecipeEntry::Kind::kHole: out.varint(entry.length << 1 | 1); break;
      case RecipeEntry::Kind::kChunk:
        out.varint(entry.length << 2);
        out.signed_varint(static_cast<std::int64_t>(number_of(entry.chunk) - previous - 1));
        previous = number_of(entry.chunk);
        break;
      case RecipeEntry::Kind::kInline:
        out.varint(entry.length << 2 | 2);
        out.bytes(entry.bytes);
        break;
    }
  }
  return value;
}

std::string mutate_segment(const std::string& value, Random& random) {
  auto entries = decode_segment(value);
  if (!entries) return mutate_bytes(value, random);
  RecipeEntry& entry = (*entries)[random.below(entries->size())];
  switch (random.below(7)) {
    case 0: change(entry.length, random); break;
    case 1: entry.chunk = ChunkId{random.number(number_of(entry.chunk))}; break;
    case 2: entry.chunk = ChunkId{random.below(200)}; break;
    case 3: entry.kind = static_cast<RecipeEntry::Kind>(random.below(3)); break;
    case 4: entries->erase(entries->begin() + static_cast<std::ptrdiff_t>(random.below(entries->size()))); break;
    case 5: {
      const RecipeEntry copy = entry;
      const std::uint64_t times = random.one_in(4) ? 1500 : 1;
      for (std::uint64_t i = 0; i < times; ++i) entries->push_back(copy);
      break;
    }
    default: entries->resize(1 + random.below(entries->size())); break;
  }
  return encode_hostile_segment(*entries);
}

std::string mutate_extent(const KeyValue& record, Random& random) {
  auto extent = decode_extent(record.first, record.second);
  if (!extent) return mutate_bytes(record.second, random);
  ChunkExtent::Chunk& chunk = extent->chunks[random.below(extent->chunks.size())];
  switch (random.below(9)) {
    case 0:
      extent->place.container = static_cast<std::uint32_t>(random.one_in(2) ? random.below(6) : random.any());
      break;
    case 1: change(extent->place.offset, random); break;
    case 2: change(extent->region_disk_bytes, random); break;
    case 3: change(extent->region_payload_bytes, random); break;
    case 4: change(chunk.raw_length, random); break;
    case 5: change(chunk.delta_length, random); break;
    case 6: chunk.sources = any_sources(random); break;
    case 7: extent->chunks.resize(1 + random.below(2 * extent->chunks.size()), chunk); break;
    default: chunk.raw_length += 1; break;
  }
  return encode_extent(*extent);
}

std::string mutate_counter(const KeyValue& record, Random& random) {
  const auto& [name, value] = record;
  if (name == kVolumeUuidCounter) return random.one_in(4) ? mutate_bytes(value, random) : value;
  if (name == kDamagedChunksCounter) {
    std::string ids;
    Encoder out(ids);
    for (std::uint64_t i = random.below(40); i != 0; --i)
      out.varint(random.one_in(8) ? random.any() >> 8 : 1 + random.below(9));
    return ids;
  }
  if (random.one_in(6)) return mutate_bytes(value, random);
  const bool versioned = value.size() == 9;
  Decoder in(std::string_view(value).substr(versioned ? 1 : 0));
  const std::uint64_t number = random.number(in.u64());
  return versioned ? encode_counter(number) : encode_number(number);
}

std::string mutate_snapshot(TreeNumber number, const std::string& value, Random& random) {
  auto record = decode_snapshot(number, value);
  if (!record) return mutate_bytes(value, random);
  switch (random.below(6)) {
    case 0: change(record->end_of_inodes, random); break;
    case 1: change(record->inodes, random); break;
    case 2: record->is_deleted = !record->is_deleted; break;
    case 3: record->name = random.one_in(2) ? "first" : random.bytes(random.below(300)); break;
    case 4: record->uuid = make_uuid(); break;
    default: change(record->created_unix_seconds, random); break;
  }
  return encode_snapshot(*record);
}

KeyValue mutate_image(const KeyValue& record, Random& random) {
  auto image = decode_before_image_key(record.first);
  auto before = decode_before_image(record.second);
  if (!image || !before) return {mutate_bytes(record.first, random), record.second};
  switch (random.below(4)) {
    case 0:
      image->number = static_cast<TreeNumber>(random.one_in(2) ? random.below(8) : random.number(image->number));
      break;
    case 1: before->reset(); break;
    case 2: image->family = kTreeFamilies[random.below(kTreeFamilies.size())]; break;
    default: {
      const KeyValue changed = mutate_record(image->family, {image->key, before->value_or("")}, random);
      image->key = changed.first;
      *before = changed.second;
      break;
    }
  }
  return {encode_before_image_key(image->family, image->key, image->number), encode_before_image(*before)};
}

std::string mutate_value(Family family, const KeyValue& record, Random& random) {
  const auto& [key, value] = record;
  const std::uint64_t node = key.size() >= 8 ? Decoder(key).big_u64() : 0;
  switch (family) {
    case Family::kFingerprints:
    case Family::kFeatureIndex: return encode_chunk_id(ChunkId{random.one_in(2) ? random.below(200) : random.any()});
    case Family::kChunks: return mutate_extent(record, random);
    case Family::kInodes: return mutate_inode(node, value, random);
    case Family::kDirents: return mutate_dirent(node, value, random);
    case Family::kCookies: return mutate_cookie(node, value, random);
    case Family::kXattrs:
      return random.one_in(8) ? std::string(random.below(200'000), 'x') : mutate_bytes(value, random);
    case Family::kRecipes: return mutate_segment(value, random);
    case Family::kOrphans: return random.bytes(random.below(4));
    case Family::kCounters: return mutate_counter(record, random);
    case Family::kSnapshots: return mutate_snapshot(static_cast<TreeNumber>(node), value, random);
    case Family::kBeforeImages: return value;
  }
  return value;
}

// A number in front of a key, or something behind it.
std::string mutate_key(Family family, const std::string& key, Random& random) {
  if (family == Family::kCounters || family == Family::kFingerprints || key.size() < 8 || random.one_in(4))
    return mutate_bytes(key, random);
  const bool second =
      (family == Family::kCookies || family == Family::kRecipes) && key.size() == 16 && random.one_in(2);
  const std::size_t at = second ? 8 : 0;
  std::string changed = key.substr(0, at);
  const std::uint64_t was = Decoder(std::string_view(key).substr(at)).big_u64();
  Encoder(changed).big_u64(random.one_in(3) ? was + 1 + random.below(70) : random.number(was));
  return changed + key.substr(at + 8);
}

}  // namespace

std::string mutate_bytes(std::string bytes, Random& random) {
  switch (random.below(6)) {
    case 0: return bytes.substr(0, random.below(bytes.size() + 1));
    case 1: return bytes + random.bytes(1 + random.below(20));
    case 2: return random.bytes(bytes.size());
    case 3:
    case 4: return change_varint(bytes, random);
    default:
      if (!bytes.empty()) bytes[random.below(bytes.size())] = static_cast<char>(random.any());
      return bytes;
  }
}

KeyValue mutate_record(Family family, const KeyValue& record, Random& random) {
  if (random.one_in(8)) return {record.first, mutate_bytes(record.second, random)};
  if (family == Family::kBeforeImages && !random.one_in(4)) return mutate_image(record, random);
  if (random.one_in(6) || family == Family::kOrphans) return {mutate_key(family, record.first, random), record.second};
  return {record.first, mutate_value(family, record, random)};
}

DeltaSources any_sources(Random& random) {
  DeltaSources sources;
  const ChunkId source{random.one_in(2) ? random.below(200) : random.any()};
  for (std::uint64_t count = 1 + random.below(kMaxDeltaSources); count != 0; --count) sources.push_back(source);
  return sources;
}

}  // namespace dedupfs
