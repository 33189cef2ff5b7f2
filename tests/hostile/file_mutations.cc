// Lies in containers, checkpoints and superblocks.
#include <fmt/format.h>
#include <xxhash.h>

#include <algorithm>
#include <iterator>
#include <stdexcept>

#include "base/coding.h"
#include "hostile/files.h"
#include "hostile/mutations.h"
#include "hostile/record_mutations.h"
#include "store/format/container_format.h"
#include "store/format/file_frame.h"
#include "store/format/region.h"
#include "store/format/superblock.h"
#include "store/metadata/checkpoint_format.h"

namespace dedupfs {
namespace {

using Path = std::filesystem::path;

void put_u64(std::string& bytes, std::size_t at, std::uint64_t value) {
  std::string encoded;
  Encoder(encoded).u64(value);
  bytes.replace(at, encoded.size(), encoded);
}

// Changes a number in a frame of 64 bytes and makes its checksum right again.
std::string mutate_frame(std::string frame, Random& random, const std::vector<std::size_t>& fields) {
  const std::size_t at = random.of(fields);
  std::string number;
  Encoder out(number);
  const std::uint64_t was = Decoder(std::string_view(frame).substr(at, 4)).u32();
  out.u32(static_cast<std::uint32_t>(random.number(was)));
  frame.replace(at, 4, number);
  put_u64(frame, kFrameBytes - 8, XXH3_64bits(frame.data(), kFrameBytes - 8));
  return frame;
}

// ---------------------------------------------------------------- containers

struct FoundRegion {
  std::size_t offset = 0;
  RegionHeader header;
};

std::vector<FoundRegion> regions_of(const std::string& container) {
  std::vector<FoundRegion> regions;
  for (std::size_t at = kContainerHeaderBytes; at + kRegionHeaderBytes <= container.size();) {
    const auto header = decode_region_header(bytes_of(container).subspan(at, kRegionHeaderBytes));
    if (!header || at + header->disk_length() > container.size()) break;
    regions.push_back({at, *header});
    at += header->disk_length();
  }
  return regions;
}

void change_entry(RegionEntry& entry, Random& random) {
  switch (random.below(6)) {
    case 0: entry.id = ChunkId{random.one_in(2) ? random.below(200) : random.number(number_of(entry.id))}; break;
    case 1: entry.fingerprint.bytes[random.below(32)] ^= 1; break;
    case 2: entry.raw_length = static_cast<std::uint32_t>(random.number(entry.raw_length)); break;
    case 3: entry.depth = static_cast<std::uint8_t>(random.below(20)); break;
    case 4: entry.checksum ^= 1; break;
    default: entry.payload_length = static_cast<std::uint32_t>(random.number(entry.payload_length)); break;
  }
  if (entry.is_delta() && (entry.sources.empty() || random.one_in(3))) entry.sources = any_sources(random);
  if (!entry.is_delta()) entry.payload_length = entry.raw_length;
}

// The region anew, with other entries.
std::string change_directory(const std::string& region, const RegionHeader& header, Random& random) {
  const ByteSpan bytes = bytes_of(region);
  auto entries = decode_region_directory(header, bytes.subspan(kRegionHeaderBytes, header.directory_length));
  const auto payload = decode_region_payload(header, bytes.subspan(kRegionHeaderBytes + header.directory_length));
  if (!entries || !payload) return region;
  change_entry((*entries)[random.below(entries->size())], random);
  if (random.one_in(5)) entries->resize(1 + random.below(entries->size()));
  return encode_region(*entries, *payload, {});
}

// Bytes of the directory, the payload or the header, with the checksums that belong to them.
std::string change_region(std::string region, const RegionHeader& header, Random& random) {
  const std::size_t payload_at = kRegionHeaderBytes + header.directory_length;
  const std::size_t what = random.below(3);
  if (what == 0) {
    const std::size_t at = kRegionHeaderBytes + random.below(header.directory_length);
    region[at] = static_cast<char>(random.any());
    put_u64(region, 32, XXH3_64bits(region.data() + kRegionHeaderBytes, header.directory_length));
  } else if (what == 1 && header.stored_length != 0) {
    for (std::uint64_t i = 1 + random.below(8); i != 0; --i)
      region[payload_at + random.below(header.stored_length)] = static_cast<char>(random.any());
    put_u64(region, 40, XXH3_64bits(region.data() + payload_at, header.stored_length));
  }
  const std::string frame = region.substr(0, kRegionHeaderBytes);
  const bool changes_header = what == 2;
  region.replace(
      0, kRegionHeaderBytes,
      changes_header ? mutate_frame(frame, random, {8, 10, 12, 16, 20, 24}) : mutate_frame(frame, random, {28}));
  return region;
}

std::string mutate_container(const Path& file, Random& random) {
  std::string container = content_of(file);
  const auto regions = regions_of(container);
  if (regions.empty() || container.size() < kContainerHeaderBytes + kContainerTrailerBytes) return "has no region";
  const FoundRegion& found = random.of(regions);
  const std::string region = container.substr(found.offset, found.header.disk_length());
  const std::string what = fmt::format("region at {}: ", found.offset);
  const auto replace = [&](const std::string& changed) {
    container.replace(found.offset, region.size(), changed);
    overwrite(file, container);
  };
  switch (random.below(8)) {
    case 0:
    case 1: replace(change_directory(region, found.header, random)); return what + "other entries";
    case 2:
    case 3: replace(change_region(region, found.header, random)); return what + "other bytes";
    case 4: replace(random.one_in(2) ? region + region : std::string()); return what + "twice or never";
    case 5:
      container.replace(0, kContainerHeaderBytes,
                        mutate_frame(container.substr(0, kContainerHeaderBytes), random, {8, 12, 16, 32}));
      overwrite(file, container);
      return "its header";
    case 6: {
      const std::size_t at = container.size() - kContainerTrailerBytes;
      container.replace(at, kContainerTrailerBytes,
                        mutate_frame(container.substr(at), random, {8, 12, 16, 20, 24, 28}));
      overwrite(file, container);
      return "its trailer";
    }
    default:
      container.resize(random.below(container.size()));
      overwrite(file, container);
      return "cut off";
  }
}

// ---------------------------------------------------------------- checkpoints

struct Block {
  Family family{};
  std::vector<KeyValue> records;
};

std::vector<Block> blocks_of(const std::string& checkpoint) {
  std::vector<Block> blocks;
  const ByteSpan bytes = bytes_of(checkpoint);
  for (std::size_t at = kCheckpointHeaderBytes; at + kCheckpointBlockHeaderBytes <= bytes.size();) {
    const auto header = decode_checkpoint_block_header(bytes.subspan(at, kCheckpointBlockHeaderBytes));
    if (!header || !header->family) break;
    at += kCheckpointBlockHeaderBytes;
    const auto records = decode_checkpoint_block(*header, bytes.subspan(at, header->stored_length));
    if (!records) break;
    Block& block = blocks.emplace_back(Block{*header->family, {}});
    static_cast<void>(for_each_record(*records, [&](std::string_view key, std::string_view value) {
      block.records.emplace_back(key, value);
      return true;
    }));
    at += header->stored_length;
  }
  return blocks;
}

std::string encode_blocks(const std::vector<Block>& blocks) {
  std::string bytes;
  std::uint64_t count = 0;
  for (const Block& block : blocks) {
    std::string records;
    for (const auto& [key, value] : block.records)
      if (records.size() + key.size() + value.size() + 20 <= kMaxCheckpointBlockBytes)
        append_record(records, key, value);
    bytes += encode_checkpoint_block(block.family, records);
    ++count;
  }
  return bytes + encode_checkpoint_end(count);
}

// A record a million times, as small as it gets.
void make_bomb(Block& block, Random& random) {
  const KeyValue record = random.one_in(2) ? random.of(block.records) : KeyValue{"", ""};
  const bool ascends = random.one_in(2);
  const std::uint64_t first = random.below(1 << 20);
  block.records.clear();
  const std::uint64_t times = (12 << 20) / (record.first.size() + record.second.size() + 12);
  for (std::uint64_t i = 0; i < times; ++i) {
    std::string key;
    Encoder(key).big_u64(first + i);
    block.records.emplace_back(ascends ? key : record.first, record.second);
  }
}

std::string mutate_checkpoint(const Path& file, Random& random) {
  const std::string content = content_of(file);
  if (content.size() < kCheckpointHeaderBytes) return "is empty";
  const std::string header = content.substr(0, kCheckpointHeaderBytes);
  if (random.one_in(6)) {
    overwrite(file, mutate_frame(header, random, {8, 12, 16, 32, 36}) + content.substr(kCheckpointHeaderBytes));
    return "its header";
  }
  std::vector<Block> blocks = blocks_of(content);
  if (blocks.empty()) return "has no block";
  Block& block = blocks[random.below(blocks.size())];
  std::string what = fmt::format("{}: ", name_of(block.family));
  switch (random.below(8)) {
    case 0:
      block.records.clear();
      what += "no records";
      break;
    case 1:
      block.family = kCheckpointFamilies[random.below(kCheckpointFamilies.size())];
      what += "another family";
      break;
    case 2: {
      const Block copy = block;
      blocks.push_back(copy);
      what += "twice";
      break;
    }
    case 3:
      if (random.one_in(4)) make_bomb(block, random);
      what += "a bomb";
      break;
    default: {
      if (block.records.empty()) return what + "it has no records";
      KeyValue& record = block.records[random.below(block.records.size())];
      record = mutate_record(block.family, record, random);
      what += "a record";
    }
  }
  overwrite(file, header + encode_blocks(blocks));
  return what;
}

// The names come from a checkpoint only where the index has holes.
void damage_index(const Path& volume, Random& random) {
  const auto files = files_in(volume / kIndexDirectory);
  std::vector<Path> tables;
  std::ranges::copy_if(files, std::back_inserter(tables), [](const Path& file) { return file.extension() == ".sst"; });
  for (std::uint64_t i = 1 + random.below(4); i != 0 && !tables.empty(); --i)
    overwrite(random.of(tables), random.bytes(random.below(4000)));
}

// ---------------------------------------------------------------- superblock

std::string mutate_member(const std::string& json, Random& random) {
  static const std::vector<std::pair<std::string, std::vector<std::string>>> kMembers = {
      {"format_version", {"0", "2", "-1", "4294967296", "\"1\"", "1e400"}},
      {"incompatible_features", {"[]", "[\"delta\", \"delta\"]", "[\"new\"]", "{}", "[1]"}},
      {"read_only_features", {"[\"new\"]", "[[]]"}},
      {"uuid", {"\"\"", "\"01234567-89ab-4cde-8f01-23456789abcd\"", "\"zz\""}},
      {"label", {"\"\\u0000\"", "\"a\\nb\"", "7", "\"\xff\""}},
      {"chunker",
       {"\"\"", "\"vram:avg=1,min=1,max=1\"", "\"fixed:size=1\"", "\"vram:avg=16m,min=16m,max=64m\"",
        "\"gear32:min=64,avg=128,max=1m,norm=2\"", "\"rabin:avg=18446744073709551615\"", "\"fixed:size=1m\"",
        "\"gear32\"", "\"seqcdc\""}},
      {"fingerprint", {"\"md5\"", "null"}},
      {"landing", {"\"none\"", "\"zstd:22\"", "\"zstd:-99\"", "\"zstd\"", "\"\"", "9"}},
      {"compression", {"\"none\"", "\"zstd:19\"", "\"zstd:99\"", "\"zstd:-5\"", "\"zstd:1\""}},
      {"delta",
       {"\"none\"", "\"odess+:depth=16,neighbours=2,index=4g\"", "\"odess+:depth=4,neighbours=2,index=1\"",
        "\"odess+:depth=999\"", "\"odess+:depth=4,neighbours=8,index=16e\"", "\"x\"", "[]"}},
      {"region_bytes", {"0", "4096", "4194304", "4194305", "-1", "18446744073709551616", "1.5"}},
      {"container_bytes", {"0", "65536", "2147483648", "2147483649", "65535", "-65536"}},
  };
  const auto& [name, values] = random.of(kMembers);
  const std::size_t at = json.find("\"" + name + "\": ");
  if (at == std::string::npos) return json;
  const std::size_t begin = at + name.size() + 4;
  std::size_t end = json.find("\n", begin);
  if (json[begin] == '[') end = json.find("]", begin) + 2;
  if (end == std::string::npos || end <= begin) return json;
  return json.substr(0, begin) + random.of(values) + "," + json.substr(json[end - 1] == ',' ? end : end - 1);
}

std::string with_checksum(const std::string& json) {
  constexpr std::size_t kMemberBytes = 33;  // docs/format.md, "Superblock"
  if (json.size() < kMemberBytes) return json;
  const std::string covered = json.substr(0, json.size() - kMemberBytes);
  return covered + fmt::format("\"checksum\": \"{:016x}\"\n}}\n", XXH3_64bits(covered.data(), covered.size()));
}

}  // namespace

std::string mutate_containers(const Path& volume, Random& random) {
  const auto files = files_in(volume / kContainersDirectory);
  if (files.empty()) return "no container";
  const Path& file = random.of(files);
  return file.filename().string() + ", " + mutate_container(file, random);
}

std::string mutate_checkpoints(const Path& volume, Random& random) {
  const auto files = files_in(volume / kCheckpointsDirectory);
  if (files.empty()) return "no checkpoint";
  damage_index(volume, random);
  std::string done;
  for (const Path& file : files) {
    if (!done.empty() && random.one_in(2)) continue;
    done += file.filename().string() + ", " + mutate_checkpoint(file, random) + "; ";
  }
  return done;
}

std::string mutate_superblock(const Path& volume, Random& random) {
  const std::string json = content_of(volume / kSuperblockFile);
  std::string changed = json;
  for (std::uint64_t i = 1 + random.below(2); i != 0; --i) changed = mutate_member(changed, random);
  changed = with_checksum(changed);
  const bool first = !random.one_in(4);
  const bool second = !first || !random.one_in(4);
  if (first) overwrite(volume / kSuperblockFile, changed);
  if (second) overwrite(volume / kSuperblockCopyFile, changed);
  return fmt::format("superblock{}{}: {}", first ? ", first" : "", second ? ", copy" : "", changed);
}

}  // namespace dedupfs
