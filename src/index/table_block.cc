#include "index/table_block.h"

#include <fmt/format.h>
#include <lz4.h>

#include <string>

#include "codec/zstd_codec.h"
#include "index/index_guard.h"

namespace dedupfs {
namespace {

Error flaw(std::string what) {
  return {ErrorCode::kCorruption, std::move(what)};
}

// The offsets of the entries where a search may begin, at the end of the block.
class RestartPoints {
 public:
  static Result<RestartPoints> of(ByteSpan block) {
    constexpr std::uint32_t kHashIndex = std::uint32_t{1} << 31;
    if (block.size() < kBytes) return flaw("has no end");
    const std::uint32_t count = Decoder(block.last(kBytes)).u32();
    if ((count & kHashIndex) != 0) return flaw("has an index of hashes");
    const std::uint64_t bytes = (std::uint64_t{count} + 1) * kBytes;
    if (count == 0 || bytes > block.size()) return flaw(fmt::format("says that it has {} restart points", count));
    return RestartPoints(block.last(bytes).first(bytes - kBytes));
  }

  std::size_t bytes() const { return offsets_.size() + kBytes; }
  // Entries are looked at in order.
  bool is_next(std::size_t offset) {
    if (at_ == offsets_.size() || Decoder(offsets_.subspan(at_, kBytes)).u32() != offset) return false;
    at_ += kBytes;
    return true;
  }
  bool all_seen() const { return at_ == offsets_.size(); }

 private:
  static constexpr std::size_t kBytes = 4;

  explicit RestartPoints(ByteSpan offsets) : offsets_(offsets) {}

  ByteSpan offsets_;
  std::size_t at_ = 0;
};

bool decompress_lz4(ByteSpan in, MutableByteSpan out) {
  const int bytes = ::LZ4_decompress_safe(reinterpret_cast<const char*>(in.data()), reinterpret_cast<char*>(out.data()),
                                          static_cast<int>(in.size()), static_cast<int>(out.size()));
  return bytes >= 0 && static_cast<std::size_t>(bytes) == out.size();
}

}  // namespace

Result<void> read_entries(ByteSpan block, BlockValues values,
                          const std::function<Result<void>(const BlockEntry&)>& visit) {
  constexpr std::size_t kShortestEntry = 3;  // RocksDB reads this many bytes before it checks
  DEDUPFS_ASSIGN(RestartPoints restarts, RestartPoints::of(block));
  const std::size_t end = block.size() - restarts.bytes();
  Decoder decoder(block.first(end));
  std::string key;
  BlockHandle handle;
  std::size_t offset = 0;
  do {
    if (decoder.remaining() < kShortestEntry) return flaw(fmt::format("has no whole entry at {}", offset));
    const bool is_restart = restarts.is_next(offset);
    const std::uint64_t shared = decoder.varint();
    const std::uint64_t rest = decoder.varint();
    const std::uint64_t value_bytes = values == BlockValues::kHandleDeltas ? 0 : decoder.varint();
    if (shared > key.size() || (shared != 0 && (is_restart || offset == 0)))
      return flaw(fmt::format("has an entry at {} whose key begins nowhere", offset));
    key.resize(shared);
    key += text_of(decoder.bytes(rest));
    BlockEntry entry{.key = key, .value = decoder.bytes(value_bytes), .handle = {}};
    if (values == BlockValues::kHandles) {
      Decoder value(entry.value);
      handle = read_handle(value);
      if (!value.ok()) return flaw(fmt::format("has an entry at {} that says no place", offset));
    } else if (values == BlockValues::kHandleDeltas && shared == 0) {
      handle = read_handle(decoder);
    } else if (values == BlockValues::kHandleDeltas) {
      handle = {handle.end(), handle.bytes + static_cast<std::uint64_t>(decoder.signed_varint())};
    }
    entry.handle = handle;
    if (!decoder.ok()) return flaw(fmt::format("has an entry at {} that does not end in it", offset));
    if (offset == 0 && !is_restart) return flaw("has no restart point at its beginning");
    DEDUPFS_TRY(visit(entry));
    offset = end - decoder.remaining();
  } while (offset != end);
  if (!restarts.all_seen()) return flaw("has a restart point where no entry begins");
  return {};
}

Result<ByteBuffer> decompress_block(ByteSpan block_with_trailer) {
  const ByteSpan block = block_with_trailer.first(block_with_trailer.size() - kTableTrailerBytes);
  const auto compression = static_cast<TableCompression>(block_with_trailer[block.size()]);
  if (compression == TableCompression::kNone) return ByteBuffer(block.begin(), block.end());
  if (compression != TableCompression::kZstd && compression != TableCompression::kLz4)
    return flaw(fmt::format("is compressed by method {}", static_cast<int>(compression)));
  Decoder decoder(block);
  const std::uint64_t bytes = decoder.varint();
  if (!decoder.ok() || bytes > kMaxBlockBytes) return flaw(fmt::format("says that it has {} bytes", bytes));
  ByteBuffer content(bytes);
  const ByteSpan frame = decoder.bytes(decoder.remaining());
  const bool is_whole = compression == TableCompression::kLz4 ? decompress_lz4(frame, content)
                                                              : zstd_codec().decode(frame, content).has_value();
  if (!is_whole) return flaw("is compressed, and has not the length that it says");
  return content;
}

// rocksdb/table/block_based/filter_policy.cc: the numbers stand at the end.
bool is_sound_filter(ByteSpan filter) {
  constexpr std::size_t kNumbersBytes = 5;
  constexpr std::uint8_t kBloom = 0xff, kRibbon = 0xfe;
  constexpr std::size_t kBloomLineBytes = 64, kRibbonSegmentBytes = 16;
  if (filter.size() <= kNumbersBytes) return true;  // says the same of all keys
  const std::size_t bytes = filter.size() - kNumbersBytes;
  switch (filter[bytes]) {
    case kBloom: return bytes % kBloomLineBytes == 0;
    case kRibbon: return bytes % kRibbonSegmentBytes == 0;
    default: return false;
  }
}

}  // namespace dedupfs
