#include "replica/eviction/fetched_ranges.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstddef>

#include "replica/object_blocks.h"
#include "store/format/container_format.h"
#include "store/format/region.h"

namespace dedupfs {
namespace {

// What a reader of a directory reads at first (container_reader.cc).
constexpr std::uint64_t kFrontBytes = 16 << 10;
// So much is fetched at once where regions are that small.
constexpr std::uint64_t kOfSmallRegions = 64 << 10;

// Fetches parts of a container, each further behind than the ones before.
class Fetch {
 public:
  Fetch(const FetchedFrom& from, const std::string& name, const RemoteFile& container, BackingFile& file)
      : from_(from), container_(container_path(name), container, file.path().string()), file_(file) {}

  std::uint64_t size() const { return container_.size(); }
  // Fewer bytes mean the end of the container. Valid until the next call.
  Result<ByteSpan> view(std::uint64_t offset, std::uint64_t length) {
    const std::uint64_t end = std::min(size(), offset + length);
    const bool is_next = offset >= buffer_begin_ && offset <= buffer_end();
    if (!is_next) DEDUPFS_TRY(fetch({.offset = offset, .length = end - offset}));
    if (is_next && end > buffer_end()) {
      buffer_.erase(buffer_.begin(), buffer_.begin() + static_cast<std::ptrdiff_t>(offset - buffer_begin_));
      buffer_begin_ = offset;
      DEDUPFS_TRY(fetch({.offset = buffer_end(), .length = std::max(end - buffer_end(), kOfSmallRegions)}));
    }
    const auto in_buffer = static_cast<std::size_t>(offset - buffer_begin_);
    return ByteSpan(buffer_).subspan(in_buffer, static_cast<std::size_t>(end - offset));
  }
  std::vector<FileRange> kept() const { return joined_ranges(kept_, size()); }

 private:
  std::uint64_t buffer_end() const { return buffer_begin_ + buffer_.size(); }

  // Behind what is in the buffer already, if it begins there.
  Result<void> fetch(FileRange range) {
    range = joined_ranges({range}, size()).front();
    if (range.offset != buffer_end()) {
      buffer_.clear();
      buffer_begin_ = range.offset;
    }
    const std::size_t before = buffer_.size();
    buffer_.resize(before + range.length);
    const MutableByteSpan fetched = MutableByteSpan(buffer_).subspan(before);
    DEDUPFS_TRY(read(range.offset, fetched));
    DEDUPFS_TRY(file_.write(range.offset, fetched));
    kept_.push_back(range);
    return {};
  }
  Result<void> read(std::uint64_t offset, MutableByteSpan out) {
    while (!out.empty()) {
      DEDUPFS_TRY(from_.go_on());
      const ObjectBlocks::Place piece = container_.block_at(offset, kMaxPieceBytes);
      const MutableByteSpan part = out.first(std::min<std::uint64_t>(out.size(), piece.end - offset));
      const auto length = from_.bucket.read(piece.object, offset - piece.begin, part);
      if (!length && length.error().code() != ErrorCode::kNotFound) return length.error();
      if (!length || *length != part.size())
        return corruption(fmt::format("{}/{} is missing or ends too early; it is a part of {}", from_.bucket.name(),
                                      piece.object, piece.part_of));
      offset += part.size();
      out = out.subspan(part.size());
    }
    return {};
  }

  const FetchedFrom& from_;
  const FileInBucket container_;
  BackingFile& file_;
  std::uint64_t buffer_begin_ = 0;
  ByteBuffer buffer_;
  std::vector<FileRange> kept_;
};

Result<void> fetch_directories(Fetch& fetch) {
  const std::uint64_t begin_of_end = fetch.size() - std::min(fetch.size(), kKeptEnd);
  for (std::uint64_t offset = kContainerHeaderBytes; offset < begin_of_end;) {
    DEDUPFS_ASSIGN(const ByteSpan front, fetch.view(offset, kFrontBytes));
    if (front.size() < kRegionHeaderBytes) return {};
    const auto header = decode_region_header(front.first(kRegionHeaderBytes));
    if (!header || header->disk_length() < kRegionHeaderBytes) return {};  // damage
    const std::uint64_t needed = kRegionHeaderBytes + std::uint64_t{header->directory_length};
    if (!header->is_gap() && needed > front.size()) DEDUPFS_TRY(fetch.view(offset, needed));
    offset += header->disk_length();
  }
  return {};
}

}  // namespace

Result<std::vector<FileRange>> fetch_kept_ranges(const FetchedFrom& from, const std::string& name,
                                                 const RemoteFile& container, BackingFile& file) {
  Fetch fetch(from, name, container, file);
  if (fetch.size() == 0) return std::vector<FileRange>();
  DEDUPFS_ASSIGN(const ByteSpan begin, fetch.view(0, kKeptBegin));
  const bool is_plain =
      begin.size() >= kContainerHeaderBytes && decode_container_header(begin.first(kContainerHeaderBytes)).has_value();
  if (is_plain) DEDUPFS_TRY(fetch_directories(fetch));
  DEDUPFS_TRY(fetch.view(fetch.size() - std::min(fetch.size(), kKeptEnd), kKeptEnd));
  return fetch.kept();
}

}  // namespace dedupfs
