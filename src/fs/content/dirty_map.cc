#include "fs/content/dirty_map.h"

#include <algorithm>
#include <limits>
#include <new>
#include <utility>

namespace dedupfs {
namespace {

// A write that starts at the end of an extent of less than this size is joined to it. Larger extents would only need larger
// allocations.
constexpr std::uint64_t kJoinedBelowBytes = 1 << 20;

}  // namespace

// Every step that can fail comes before the first change: a write that fails must not take older bytes with it.
void DirtyMap::write(std::uint64_t offset, ByteSpan bytes) {
  bytes = overwrite_last(offset, bytes);
  if (bytes.empty() || join_previous(offset, bytes)) return;
  DirtyExtents fresh;
  fresh.emplace(offset, DirtyExtent{bytes.size(), ByteBuffer(bytes.begin(), bytes.end())});
  clear_range(offset, offset + bytes.size());
  data_bytes_ += bytes.size();
  capacity_bytes_ += fresh.begin()->second.bytes.capacity();
  extents_.insert(fresh.extract(fresh.begin()));
}

// Puts the bytes into an extent that ends at `offset` or behind it. False: there is none, or it is long enough already. No
// extent ends behind the bytes, see overwrite_last().
bool DirtyMap::join_previous(std::uint64_t offset, ByteSpan bytes) {
  const auto behind = extents_.lower_bound(offset);
  if (behind == extents_.begin()) return false;
  const auto previous = std::prev(behind);
  DirtyExtent& extent = previous->second;
  const std::uint64_t end = previous->first + extent.length;
  if (extent.is_hole() || end < offset || extent.length >= kJoinedBelowBytes) return false;
  const auto [overlapping, further] = std::pair(bytes.first(end - offset), bytes.subspan(end - offset));
  const std::size_t wanted = extent.bytes.size() + further.size();
  if (wanted > extent.bytes.capacity())
    resize(extent, [&] { extent.bytes.reserve(std::max(wanted, 2 * extent.bytes.capacity())); });
  clear_range(end, end + further.size());
  std::ranges::copy(overlapping, extent.bytes.end() - static_cast<std::ptrdiff_t>(overlapping.size()));
  extent.bytes.insert(extent.bytes.end(), further.begin(), further.end());
  extent.length += further.size();
  data_bytes_ += further.size();
  return true;
}

void DirtyMap::punch(std::uint64_t offset, std::uint64_t length) {
  if (length == 0) return;
  std::uint64_t end = offset + length;
  DirtyExtents fresh;
  fresh.emplace(offset, DirtyExtent{});
  clear_range(offset, end);

  auto behind = extents_.lower_bound(offset);
  if (behind != extents_.end() && behind->first == end && behind->second.is_hole()) {
    end += behind->second.length;
    behind = extents_.erase(behind);
  }
  if (behind != extents_.begin()) {
    auto& [start, extent] = *std::prev(behind);
    if (extent.is_hole() && start + extent.length == offset) {
      extent.length = end - start;
      return;
    }
  }
  fresh.begin()->second.length = end - offset;
  extents_.insert(fresh.extract(fresh.begin()));
}

void DirtyMap::erase(std::uint64_t offset, std::uint64_t length) {
  clear_range(offset, offset + length);
}

void DirtyMap::truncate(std::uint64_t size) {
  clear_range(size, std::numeric_limits<std::uint64_t>::max());
}

void DirtyMap::clear() {
  extents_.clear();
  data_bytes_ = 0;
  capacity_bytes_ = 0;
}

std::optional<DirtyMap::Extent> DirtyMap::find_from(std::uint64_t offset) const {
  const auto found = first_ending_after(offset);
  if (found == extents_.end()) return std::nullopt;
  const auto& [start, extent] = *found;
  const std::uint64_t clipped = offset > start ? offset - start : 0;
  return Extent{start + clipped, extent.length - clipped,
                extent.is_hole() ? ByteSpan() : extent.view().subspan(clipped)};
}

std::vector<DirtyMap::Extent> DirtyMap::list(std::uint64_t from, std::uint64_t to) const {
  std::vector<Extent> found;
  for (std::uint64_t at = from; at < to;) {
    auto extent = find_from(at);
    if (!extent || extent->offset >= to) break;
    extent->length = std::min(extent->length, to - extent->offset);
    if (!extent->is_hole()) extent->bytes = extent->bytes.first(extent->length);
    at = extent->end();
    found.push_back(*extent);
  }
  return found;
}

std::uint64_t DirtyMap::end() const {
  if (extents_.empty()) return 0;
  const auto& [offset, extent] = *extents_.rbegin();
  return offset + extent.length;
}

std::uint64_t DirtyMap::memory_bytes() const {
  return extents_.size() * kExtentNodeBytes + capacity_bytes_;
}

// Changes the buffer of an extent, and keeps capacity_bytes_ true.
template <class Change>
void DirtyMap::resize(DirtyExtent& extent, const Change& change) {
  const std::size_t before = extent.bytes.capacity();
  change();
  capacity_bytes_ += extent.bytes.capacity() - before;
}

void DirtyMap::DirtyExtent::drop_front(std::uint64_t count) {
  length -= count;
  if (is_hole()) return;
  skipped += count;
  shrink();
}

void DirtyMap::DirtyExtent::drop_back(std::uint64_t count) {
  length -= count;
  if (is_hole()) return;
  bytes.resize(bytes.size() - count);
  shrink();
}

// At most half of the memory stays unused. A caller that removes bytes piece by piece pays once for each byte.
void DirtyMap::DirtyExtent::shrink() {
  if (length >= bytes.capacity() / 2) return;
  try {
    bytes = ByteBuffer(view().begin(), view().end());
    skipped = 0;
  } catch (const std::bad_alloc&) {  // it stays as large as it is
  }
}

DirtyMap::DirtyExtents::iterator DirtyMap::first_ending_after(std::uint64_t offset) {
  const auto behind = extents_.upper_bound(offset);
  if (behind == extents_.begin()) return behind;
  const auto before = std::prev(behind);
  return before->first + before->second.length > offset ? before : behind;
}

DirtyMap::DirtyExtents::const_iterator DirtyMap::first_ending_after(std::uint64_t offset) const {
  return const_cast<DirtyMap*>(this)->first_ending_after(offset);
}

// If a write ends inside a data extent, overwrites the bytes of that extent in place, and returns the rest of the write.
// Otherwise each small write would copy the bytes of the extent that lie behind it.
ByteSpan DirtyMap::overwrite_last(std::uint64_t offset, ByteSpan bytes) {
  const std::uint64_t end = offset + bytes.size();
  const auto last = first_ending_after(end);
  if (last == extents_.end() || last->first >= end || last->second.is_hole()) return bytes;
  auto& [start, extent] = *last;
  const std::uint64_t from = std::max(offset, start);
  std::ranges::copy(bytes.subspan(from - offset),
                    extent.bytes.begin() + static_cast<std::ptrdiff_t>(extent.skipped + (from - start)));
  return bytes.first(from - offset);
}

void DirtyMap::clear_range(std::uint64_t from, std::uint64_t to) {
  if (from >= to) return;
  auto at = first_ending_after(from);
  while (at != extents_.end() && at->first < to) {
    DirtyExtent& extent = at->second;
    const std::uint64_t start = at->first;
    const std::uint64_t end = start + extent.length;
    const std::uint64_t dropped = extent.is_hole() ? 0 : std::min(end, to) - std::max(start, from);

    if (start >= from && end <= to) {
      capacity_bytes_ -= extent.bytes.capacity();
      at = extents_.erase(at);
    } else if (start >= from) {
      auto node = extents_.extract(at);
      node.key() = to;
      resize(node.mapped(), [&] { node.mapped().drop_front(to - start); });
      extents_.insert(std::move(node));
      data_bytes_ -= dropped;
      return;
    } else {
      if (end > to) {  // only this can fail: the whole range is in this extent, and nothing has changed yet
        const ByteSpan behind = extent.is_hole() ? ByteSpan() : extent.view().subspan(to - start);
        const auto rest =
            extents_.emplace_hint(std::next(at), to, DirtyExtent{end - to, ByteBuffer(behind.begin(), behind.end())});
        capacity_bytes_ += rest->second.bytes.capacity();
      }
      resize(extent, [&] { extent.drop_back(end - from); });
      ++at;
    }
    data_bytes_ -= dropped;
  }
}

}  // namespace dedupfs
