#include "replica/eviction/evicted_record.h"

#include <algorithm>

#include "base/coding.h"
#include "replica/summed_record.h"
#include "store/format/format.h"

namespace dedupfs {
namespace {

constexpr RecordKind kEvictedKind = {.magic = 0x31'54'43'49'56'45'44'44,  // "DDEVICT1"
                                     .version = 1,
                                     .name = "record of an evicted container"};
constexpr std::uint64_t kDiskBlock = 4 << 10;
// The least that a range takes: two numbers.
constexpr std::size_t kLeastRangeBytes = 2;

bool decode_ranges(Decoder& decoder, std::uint64_t file_bytes, std::vector<FileRange>& ranges) {
  const std::uint64_t count = decoder.varint();
  if (count > decoder.remaining() / kLeastRangeBytes) return false;
  std::uint64_t end = 0;
  for (std::uint64_t i = 0; i < count; ++i) {
    const std::uint64_t gap = decoder.varint();
    const std::uint64_t length = decoder.varint();
    if (!decoder.ok() || gap > file_bytes - end || length == 0 || length > file_bytes - end - gap) return false;
    ranges.push_back({.offset = end + gap, .length = length});
    end = ranges.back().end();
  }
  return decoder.ok_at_end();
}

}  // namespace

std::string evicted_record_name(std::string_view container) {
  return std::string(container).append(kEvictedRecordEnding);
}

std::string container_path(std::string_view container) {
  return std::string(kContainersDirectory).append("/").append(container);
}

std::string encode_evicted_record(const EvictedRecord& record) {
  std::string bytes;
  Encoder encoder(bytes);
  begin_record(encoder, kEvictedKind);
  encode_remote_file(record.file, encoder);
  encoder.varint(record.kept.size());
  std::uint64_t end = 0;
  for (const FileRange& range : record.kept) {
    encoder.varint(range.offset - end);
    encoder.varint(range.length);
    end = range.end();
  }
  end_record(bytes);
  return bytes;
}

Result<EvictedRecord> decode_evicted_record(ByteSpan bytes) {
  DEDUPFS_ASSIGN(const ByteSpan content, content_of_record(bytes, kEvictedKind));
  Decoder decoder(content);
  auto file = decode_remote_file(decoder);
  if (!file) return corruption("its list of pieces is damaged");
  EvictedRecord record{.file = std::move(*file)};
  if (!decode_ranges(decoder, record.file.bytes(), record.kept)) return corruption("its list of ranges is damaged");
  return record;
}

std::vector<FileRange> joined_ranges(std::vector<FileRange> ranges, std::uint64_t file_bytes) {
  std::erase_if(ranges, [&](const FileRange& range) { return range.length == 0 || range.offset >= file_bytes; });
  std::ranges::sort(ranges, {}, &FileRange::offset);
  std::vector<FileRange> joined;
  for (const FileRange& range : ranges) {
    const std::uint64_t begin = range.offset / kDiskBlock * kDiskBlock;
    const std::uint64_t end = std::min(file_bytes, (range.end() + kDiskBlock - 1) / kDiskBlock * kDiskBlock);
    if (joined.empty() || joined.back().end() < begin)
      joined.push_back({.offset = begin, .length = end - begin});
    else
      joined.back().length = std::max(joined.back().end(), end) - joined.back().offset;
  }
  return joined;
}

std::uint64_t total_length(const std::vector<FileRange>& ranges) {
  std::uint64_t length = 0;
  for (const FileRange& range : ranges) length += range.length;
  return length;
}

std::vector<FileRange> ranges_between(const std::vector<FileRange>& kept, std::uint64_t begin, std::uint64_t end) {
  std::vector<FileRange> between;
  for (auto range = std::ranges::upper_bound(kept, begin, {}, &FileRange::end); range != kept.end() && begin < end;
       ++range) {
    if (range->offset > begin) between.push_back({.offset = begin, .length = std::min(end, range->offset) - begin});
    begin = std::max(begin, range->end());
  }
  if (begin < end) between.push_back({.offset = begin, .length = end - begin});
  return between;
}

}  // namespace dedupfs
