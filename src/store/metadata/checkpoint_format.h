// The bytes of a checkpoint file: a header, blocks of records of one family each, and a block without records as its end. See
// docs/format.md, "Checkpoint". No file is touched here.
//
// Threads: free functions, safe from any thread.
// Failure: decoding checks every length before use, and the checksums; wrong bytes are kCorruption with the reason.
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>

#include "base/bytes.h"
#include "base/raw_buffer.h"
#include "base/result.h"
#include "index/database.h"
#include "store/format/container_format.h"

namespace dedupfs {

// Those that cannot be rebuilt from containers, in the order in which they are written; part of the format.
inline constexpr std::array kCheckpointFamilies = {Family::kInodes,    Family::kDirents,     Family::kXattrs,
                                                   Family::kRecipes,   Family::kOrphans,     Family::kCounters,
                                                   Family::kSnapshots, Family::kBeforeImages};

// The number of a family in a block's header: 1 is the first family. 0 is the end.
std::uint8_t tag_of(Family family);  // one of kCheckpointFamilies

struct CheckpointHeader {
  std::uint32_t number = 0;
  UuidBytes volume{};
  std::int64_t created_unix_seconds = 0;

  bool operator==(const CheckpointHeader&) const = default;
};

std::string encode_checkpoint_header(const CheckpointHeader& header);
Result<CheckpointHeader> decode_checkpoint_header(ByteSpan bytes);  // kCheckpointHeaderBytes of them

struct CheckpointBlockHeader {
  std::optional<Family> family;  // none: the end
  bool compressed = false;
  std::uint32_t raw_length = 0;
  std::uint32_t stored_length = 0;
  std::uint64_t checksum = 0;  // of the stored bytes; in the last header: the number of blocks before it
};

// Header and stored bytes. `records` is what append_record() made, at most kMaxCheckpointBlockBytes.
std::string encode_checkpoint_block(Family family, std::string_view records);
std::string encode_checkpoint_end(std::uint64_t blocks);
Result<CheckpointBlockHeader> decode_checkpoint_block_header(ByteSpan bytes);  // kCheckpointBlockHeaderBytes of them
Result<RawBuffer> decode_checkpoint_block(const CheckpointBlockHeader& header, ByteSpan stored);

void append_record(std::string& records, std::string_view key, std::string_view value);
// Calls visit(key, value) for each record, until it returns false.
Result<bool> for_each_record(ByteSpan records, const std::function<bool(std::string_view, std::string_view)>& visit);

std::string checkpoint_name(std::uint32_t number);
std::optional<std::uint32_t> parse_checkpoint_name(std::string_view name);

}  // namespace dedupfs
