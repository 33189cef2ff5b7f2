#include "fs/dirty_map.h"

#include <algorithm>
#include <limits>

namespace dedupfs {
namespace {

// A write that starts where a stretch of less than this ends is joined to it. More would only make larger allocations.
constexpr std::uint64_t kJoinedBelowBytes = 1 << 20;

}  // namespace

void DirtyMap::write(std::uint64_t offset, ByteSpan bytes) {
  bytes = overwrite_last(offset, bytes);
  if (bytes.empty()) return;
  clear_range(offset, offset + bytes.size());
  memory_bytes_ += bytes.size();

  const auto behind = extents_.lower_bound(offset);
  if (behind != extents_.begin()) {
    auto& [start, stretch] = *std::prev(behind);
    if (!stretch.is_hole() && start + stretch.length == offset && stretch.length < kJoinedBelowBytes) {
      stretch.bytes.insert(stretch.bytes.end(), bytes.begin(), bytes.end());
      stretch.length += bytes.size();
      return;
    }
  }
  extents_.emplace_hint(behind, offset, Stretch{bytes.size(), ByteBuffer(bytes.begin(), bytes.end())});
}

void DirtyMap::punch(std::uint64_t offset, std::uint64_t length) {
  if (length == 0) return;
  std::uint64_t end = offset + length;
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
  extents_.emplace_hint(behind, offset, Stretch{end - offset, {}});
}

void DirtyMap::erase(std::uint64_t offset, std::uint64_t length) {
  clear_range(offset, offset + length);
}

void DirtyMap::truncate(std::uint64_t size) {
  clear_range(size, std::numeric_limits<std::uint64_t>::max());
}

void DirtyMap::clear() {
  extents_.clear();
  memory_bytes_ = 0;
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
  return memory_bytes_;
}

void DirtyMap::Stretch::drop_front(std::uint64_t count) {
  length -= count;
  if (is_hole()) return;
  skipped += count;
  // Whoever takes bytes from the front piece by piece pays once for each, and at most half of the memory lies idle.
  if (skipped > bytes.size() / 2) {
    bytes = ByteBuffer(view().begin(), view().end());
    skipped = 0;
  }
}

void DirtyMap::Stretch::drop_back(std::uint64_t count) {
  length -= count;
  if (!is_hole()) bytes.resize(bytes.size() - count);
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
    if (!stretch.is_hole()) memory_bytes_ -= std::min(end, to) - std::max(start, from);

    if (start >= from && end <= to) {
      at = extents_.erase(at);
    } else if (start >= from) {
      auto node = extents_.extract(at);
      node.key() = to;
      node.mapped().drop_front(to - start);
      extents_.insert(std::move(node));
      return;
    } else {
      if (end > to) {
        const ByteSpan behind = stretch.is_hole() ? ByteSpan() : stretch.view().subspan(to - start);
        extents_.emplace_hint(std::next(at), to, Stretch{end - to, ByteBuffer(behind.begin(), behind.end())});
      }
      stretch.drop_back(end - from);
      ++at;
    }
  }
}

}  // namespace dedupfs
