#include "fs/content/dirty_map.h"

#include <algorithm>
#include <limits>
#include <new>
#include <utility>

namespace dedupfs {
namespace {

// A write that starts where a stretch of less than this ends is joined to it. More would only make larger allocations.
constexpr std::uint64_t kJoinedBelowBytes = 1 << 20;

}  // namespace

// What can fail is done before anything is changed: a write that fails must not take older bytes with it.
void DirtyMap::write(std::uint64_t offset, ByteSpan bytes) {
  bytes = overwrite_last(offset, bytes);
  if (bytes.empty() || join_previous(offset, bytes)) return;
  Stretches fresh;
  fresh.emplace(offset, Stretch{bytes.size(), ByteBuffer(bytes.begin(), bytes.end())});
  clear_range(offset, offset + bytes.size());
  data_bytes_ += bytes.size();
  capacity_bytes_ += fresh.begin()->second.bytes.capacity();
  extents_.insert(fresh.extract(fresh.begin()));
}

// Puts the bytes into a stretch that ends at `offset` or behind it. False: there is none, or it is long enough. None ends behind
// the bytes, see overwrite_last().
bool DirtyMap::join_previous(std::uint64_t offset, ByteSpan bytes) {
  const auto behind = extents_.lower_bound(offset);
  if (behind == extents_.begin()) return false;
  const auto previous = std::prev(behind);
  Stretch& stretch = previous->second;
  const std::uint64_t end = previous->first + stretch.length;
  if (stretch.is_hole() || end < offset || stretch.length >= kJoinedBelowBytes) return false;
  const auto [overlapping, further] = std::pair(bytes.first(end - offset), bytes.subspan(end - offset));
  const std::size_t wanted = stretch.bytes.size() + further.size();
  if (wanted > stretch.bytes.capacity())
    resize(stretch, [&] { stretch.bytes.reserve(std::max(wanted, 2 * stretch.bytes.capacity())); });
  clear_range(end, end + further.size());
  std::ranges::copy(overlapping, stretch.bytes.end() - static_cast<std::ptrdiff_t>(overlapping.size()));
  stretch.bytes.insert(stretch.bytes.end(), further.begin(), further.end());
  stretch.length += further.size();
  data_bytes_ += further.size();
  return true;
}

void DirtyMap::punch(std::uint64_t offset, std::uint64_t length) {
  if (length == 0) return;
  std::uint64_t end = offset + length;
  Stretches fresh;
  fresh.emplace(offset, Stretch{});
  clear_range(offset, end);

  auto behind = extents_.lower_bound(offset);
  if (behind != extents_.end() && behind->first == end && behind->second.is_hole()) {
    end += behind->second.length;
    behind = extents_.erase(behind);
  }
  if (behind != extents_.begin()) {
    auto& [start, stretch] = *std::prev(behind);
    if (stretch.is_hole() && start + stretch.length == offset) {
      stretch.length = end - start;
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
  const auto& [start, stretch] = *found;
  const std::uint64_t clipped = offset > start ? offset - start : 0;
  return Extent{start + clipped, stretch.length - clipped,
                stretch.is_hole() ? ByteSpan() : stretch.view().subspan(clipped)};
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
  const auto& [offset, stretch] = *extents_.rbegin();
  return offset + stretch.length;
}

std::uint64_t DirtyMap::memory_bytes() const {
  return extents_.size() * kStretchBytes + capacity_bytes_;
}

// Changes the buffer of a stretch, and what is known of its size with it.
template <class Change>
void DirtyMap::resize(Stretch& stretch, const Change& change) {
  const std::size_t before = stretch.bytes.capacity();
  change();
  capacity_bytes_ += stretch.bytes.capacity() - before;
}

void DirtyMap::Stretch::drop_front(std::uint64_t count) {
  length -= count;
  if (is_hole()) return;
  skipped += count;
  shrink();
}

void DirtyMap::Stretch::drop_back(std::uint64_t count) {
  length -= count;
  if (is_hole()) return;
  bytes.resize(bytes.size() - count);
  shrink();
}

// Whoever takes bytes off piece by piece pays once for each, and at most half of the memory lies idle.
void DirtyMap::Stretch::shrink() {
  if (length >= bytes.capacity() / 2) return;
  try {
    bytes = ByteBuffer(view().begin(), view().end());
    skipped = 0;
  } catch (const std::bad_alloc&) {  // it stays as large as it is
  }
}

DirtyMap::Stretches::iterator DirtyMap::first_ending_after(std::uint64_t offset) {
  const auto behind = extents_.upper_bound(offset);
  if (behind == extents_.begin()) return behind;
  const auto before = std::prev(behind);
  return before->first + before->second.length > offset ? before : behind;
}

DirtyMap::Stretches::const_iterator DirtyMap::first_ending_after(std::uint64_t offset) const {
  return const_cast<DirtyMap*>(this)->first_ending_after(offset);
}

// Of a write that ends inside a data stretch, puts what falls into that stretch there, and returns the rest. Otherwise
// each small write would copy what the stretch has behind it.
ByteSpan DirtyMap::overwrite_last(std::uint64_t offset, ByteSpan bytes) {
  const std::uint64_t end = offset + bytes.size();
  const auto last = first_ending_after(end);
  if (last == extents_.end() || last->first >= end || last->second.is_hole()) return bytes;
  auto& [start, stretch] = *last;
  const std::uint64_t from = std::max(offset, start);
  std::ranges::copy(bytes.subspan(from - offset),
                    stretch.bytes.begin() + static_cast<std::ptrdiff_t>(stretch.skipped + (from - start)));
  return bytes.first(from - offset);
}

void DirtyMap::clear_range(std::uint64_t from, std::uint64_t to) {
  if (from >= to) return;
  auto at = first_ending_after(from);
  while (at != extents_.end() && at->first < to) {
    Stretch& stretch = at->second;
    const std::uint64_t start = at->first;
    const std::uint64_t end = start + stretch.length;
    const std::uint64_t dropped = stretch.is_hole() ? 0 : std::min(end, to) - std::max(start, from);

    if (start >= from && end <= to) {
      capacity_bytes_ -= stretch.bytes.capacity();
      at = extents_.erase(at);
    } else if (start >= from) {
      auto node = extents_.extract(at);
      node.key() = to;
      resize(node.mapped(), [&] { node.mapped().drop_front(to - start); });
      extents_.insert(std::move(node));
      data_bytes_ -= dropped;
      return;
    } else {
      if (end > to) {  // the one place that can fail: all of the range is in this stretch, and nothing has changed yet
        const ByteSpan behind = stretch.is_hole() ? ByteSpan() : stretch.view().subspan(to - start);
        const auto rest =
            extents_.emplace_hint(std::next(at), to, Stretch{end - to, ByteBuffer(behind.begin(), behind.end())});
        capacity_bytes_ += rest->second.bytes.capacity();
      }
      resize(stretch, [&] { stretch.drop_back(end - from); });
      ++at;
    }
    data_bytes_ -= dropped;
  }
}

}  // namespace dedupfs
