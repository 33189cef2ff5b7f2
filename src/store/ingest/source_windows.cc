#include "store/ingest/source_windows.h"

#include <algorithm>
#include <cstring>

#include "base/check.h"

namespace dedupfs {

// By how many bytes a source is further on than the one before, all of whose rest it begins with; kAnew: it is another.
std::size_t SourceWindows::moved_by(const std::vector<Part>& before, const std::vector<Part>& now) {
  std::size_t bytes = 0;
  for (auto first = before.begin(); first != before.end(); bytes += first->bytes, ++first) {
    const auto rest = static_cast<std::size_t>(before.end() - first);
    if (rest <= now.size() && std::equal(first, before.end(), now.begin())) return bytes;
  }
  return MatchFinder::kAnew;
}

SourceWindows::Window& SourceWindows::window_for(const std::vector<Part>& parts) {
  for (Window& window : windows_)
    if (moved_by(window.found_in, parts) != MatchFinder::kAnew) return window;
  return *std::ranges::min_element(windows_, {}, &Window::last_use);
}

ByteSpan SourceWindows::copied(Window& window, const std::vector<Part>& parts, const JoinedChunks& source) {
  const std::size_t moved = moved_by(window.copied, parts);
  std::size_t kept_bytes = 0;
  std::size_t kept_parts = 0;
  if (moved == MatchFinder::kAnew) {
    window.begin = 0;
  } else {
    window.begin += moved;
    std::size_t skipped = 0;
    for (std::size_t bytes = 0; bytes < moved; ++skipped) bytes += window.copied[skipped].bytes;
    kept_parts = window.copied.size() - skipped;
    for (std::size_t i = 0; i < kept_parts; ++i) kept_bytes += parts[i].bytes;
  }
  window.copied.clear();  // were the memory for it to fail
  window.buffer.resize(2 * kMaxKeptBytes);
  if (window.begin + source.size() > window.buffer.size()) {
    std::memmove(window.buffer.data(), window.buffer.data() + window.begin, kept_bytes);
    window.begin = 0;
  }
  source.copy(kept_bytes, source.size(), MutableByteSpan(window.buffer).subspan(window.begin, source.size()));
  window.copied = parts;
  return ByteSpan(window.buffer).subspan(window.begin, source.size());
}

SourceWindows::View SourceWindows::view(std::span<const ChunkId> ids, const JoinedChunks& source) {
  DEDUPFS_CHECK(ids.size() == source.chunks());  // both are of the same source
  parts_.clear();
  for (std::size_t i = 0; i < ids.size(); ++i) parts_.push_back({ids[i], source.bytes_of(i)});
  Window& window = window_for(parts_);
  window.last_use = ++uses_;
  if (source.size() > kMaxKeptBytes) {
    window.found_in.clear();
    return {source.bytes(), window.finder};
  }
  const std::size_t moved = moved_by(window.found_in, parts_);
  window.found_in = parts_;
  return {source.is_adjacent() ? source.bytes() : copied(window, parts_, source), window.finder, moved};
}

}  // namespace dedupfs
