#include "fs/extract/entry_source.h"

#include <algorithm>

namespace dedupfs {
namespace {

constexpr std::uint64_t kReadBytes = 1 << 20;
constexpr std::uint64_t kReadAhead = 4 << 20;
constexpr std::uint64_t kSmallReadBytes = 4 << 10;  // around damage: smaller than most chunks

}  // namespace

Result<std::string> EntrySource::symlink_target() {
  return noted(filesystem_.read_symlink(attributes_.inode));
}

Result<EntrySource::Xattrs> EntrySource::xattrs() {
  const auto names = noted(filesystem_.list_xattrs(attributes_.inode));
  if (!names) return names.error();
  Xattrs found;
  for (const std::string& name : *names) {
    auto value = noted(filesystem_.get_xattr(attributes_.inode, name));
    if (!value) return value.error();
    found.emplace_back(name, std::move(*value));
  }
  return found;
}

Result<std::optional<EntrySource::Extent>> EntrySource::next_extent(std::uint64_t offset) {
  if (offset >= attributes_.size) return std::optional<Extent>();
  const auto begin = filesystem_.seek_data(attributes_.inode, offset);
  if (!begin && begin.error().code() == ErrorCode::kNoData) return std::optional<Extent>();
  if (!begin) return noted(Result<std::optional<Extent>>(begin.error()));
  const auto end = noted(filesystem_.seek_hole(attributes_.inode, *begin));
  if (!end) return end.error();
  return std::optional<Extent>({*begin, std::min(*end, attributes_.size)});
}

Result<void> EntrySource::read(const Extent& extent, const Take& take) {
  std::uint64_t loaded = extent.begin;
  for (std::uint64_t offset = extent.begin; offset < extent.end;) {
    if (offset + kReadAhead / 2 >= loaded && loaded < extent.end) {
      const std::uint64_t length = std::min(kReadAhead, extent.end - loaded);
      filesystem_.prefetch(attributes_.inode, loaded, length);
      loaded += length;
    }
    const std::uint64_t length = std::min(kReadBytes, extent.end - offset);
    const auto pieces =
        noted(filesystem_.read(attributes_.inode, offset, static_cast<std::size_t>(length), AccessTime::kKept));
    if (!pieces) return pieces.error();
    const std::uint64_t begin = offset;
    for (const PinnedBytes& piece : *pieces) {
      DEDUPFS_TRY(take(offset, piece.bytes));
      offset += piece.bytes.size();
    }
    if (offset == begin) return noted(Result<void>(corruption("the content ends before the file")));
    if (!watcher_(offset - begin)) return noted(Result<void>(Error{ErrorCode::kInterrupted, "stopped"}));
  }
  return {};
}

Result<std::uint64_t> EntrySource::read_readable(const Take& take) {
  std::uint64_t missing = 0;
  std::uint64_t step = kReadBytes;
  for (std::uint64_t offset = 0;;) {
    DEDUPFS_ASSIGN(const auto extent, next_extent(offset));
    if (!extent) return missing;
    offset = extent->begin;
    while (offset < extent->end) {
      const std::uint64_t length = std::min(step, extent->end - offset);
      const auto pieces =
          noted(filesystem_.read(attributes_.inode, offset, static_cast<std::size_t>(length), AccessTime::kKept));
      if (!pieces && step != kSmallReadBytes) {
        step = kSmallReadBytes;
        continue;
      }
      std::uint64_t at = offset;
      for (const PinnedBytes& piece : pieces ? *pieces : std::vector<PinnedBytes>()) {
        DEDUPFS_TRY(take(at, piece.bytes));
        at += piece.bytes.size();
      }
      missing += offset + length - at;
      offset += length;
      if (offset % kReadBytes == 0) step = kReadBytes;
      if (!watcher_(length)) return noted(Result<std::uint64_t>(Error{ErrorCode::kInterrupted, "stopped"}));
    }
  }
}

Result<void> EntrySource::read_all(const Take& take) {
  for (std::uint64_t offset = 0;;) {
    DEDUPFS_ASSIGN(const auto extent, next_extent(offset));
    if (!extent) return {};
    DEDUPFS_TRY(read(*extent, take));
    offset = extent->end;
  }
}

}  // namespace dedupfs
