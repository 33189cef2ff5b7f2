// What a volume's folder keeps of an evicted container beside its file: where the content is in the bucket, and which ranges of the file
// are still there. docs/remote.md has the bytes.
//
// Threads: values; free functions are safe from any thread.
// Failure: kCorruption for bytes that nobody wrote, kVersion for a newer format. Nothing is allocated beyond what the bytes hold.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/bytes.h"
#include "base/result.h"
#include "replica/head.h"

namespace dedupfs {

struct FileRange {
  std::uint64_t offset = 0;
  std::uint64_t length = 0;

  std::uint64_t end() const { return offset + length; }
  bool operator==(const FileRange&) const = default;
};

struct EvictedRecord {
  RemoteFile file;
  std::vector<FileRange> kept;  // in order, apart from each other

  bool operator==(const EvictedRecord&) const = default;
};

// Of each container the beginning and the end stay: its header, and where a reader of an encrypted one begins.
inline constexpr std::uint64_t kKeptBegin = 4 << 10;
inline constexpr std::uint64_t kKeptEnd = 64 << 10;

// Of its file, beside that of the container.
inline constexpr std::string_view kEvictedRecordEnding = ".map";
std::string evicted_record_name(std::string_view container);
// Of a container, as a head names it.
std::string container_path(std::string_view container);

inline constexpr std::uint64_t kMaxEvictedRecordBytes = 4 << 20;

std::string encode_evicted_record(const EvictedRecord& record);
Result<EvictedRecord> decode_evicted_record(ByteSpan bytes);

// Ranges in any order, made whole blocks of a disk and joined, within a file of so many bytes.
std::vector<FileRange> joined_ranges(std::vector<FileRange> ranges, std::uint64_t file_bytes);
std::uint64_t total_length(const std::vector<FileRange>& ranges);
// What lies between `begin` and `end`, and in none of these.
std::vector<FileRange> ranges_between(const std::vector<FileRange>& kept, std::uint64_t begin, std::uint64_t end);

}  // namespace dedupfs
