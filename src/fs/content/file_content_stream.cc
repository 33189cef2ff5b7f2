// The stream at the end of a file: what is appended goes to the chunk store while the writer goes on.
#include <algorithm>

#include "base/guarded.h"
#include "fs/content/file_content_state.h"

namespace dedupfs {
namespace {

// From here on sequential bytes at the end of a file run through a stream; below, they wait for more.
constexpr std::uint64_t kStreamBytes = 256 * 1024;

}  // namespace

// The start of the dirty bytes, if they are one extent at the end of the file and worth a stream.
std::optional<std::uint64_t> FileContentState::stream_start(const Lock&) const {
  const auto first = dirty.find_from(0);
  if (!first || stream || size - first->offset < kStreamBytes) return std::nullopt;
  std::uint64_t end = first->offset;
  for (auto extent = first; extent && extent->offset == end && !extent->is_hole(); extent = dirty.find_from(end))
    end = extent->end();
  if (end != size) return std::nullopt;
  return first->offset;
}

// What the recipe has from where the stream must start up to its first dirty byte.
Result<std::vector<WriteStream::Part>> FileContentState::stream_head(Lock& lock, std::uint64_t start,
                                                                     std::uint64_t from) {
  DEDUPFS_ASSIGN(const std::uint64_t old_end, recipe.end());
  DEDUPFS_ASSIGN(const auto entries, recipe.list(start, std::min(from, old_end)));
  std::vector<WriteStream::Part> head;
  for (const PlacedEntry& entry : entries) {
    WriteStream::Part part{entry.offset, std::min(entry.end(), from) - entry.offset, {}};
    if (entry.entry.is_data()) {
      DEDUPFS_ASSIGN(auto pieces, fetch_range(lock, part.offset, part.offset + part.length));
      part.bytes = std::move(pieces.front());
    }
    head.push_back(std::move(part));
  }
  return head;
}

Result<void> FileContentState::start_stream(Lock& lock, std::uint64_t from) {
  DEDUPFS_ASSIGN(const std::uint64_t start, restart_point(lock, from));
  DEDUPFS_ASSIGN(const auto head, stream_head(lock, start, from));

  stream = std::make_unique<WriteStream>(volume, budget, start, kMaxFileBytes,
                                         [this](Result<std::vector<ChunkId>> ids) { land(std::move(ids)); });
  stream_starts = true;
  Result<void> taken = guarded([&]() -> Result<void> {
    for (const WriteStream::Part& part : head) {
      if (part.bytes.bytes.empty())
        feed_hole(*stream, part.length);
      else
        append_to_stream(lock, part.offset, part.bytes.bytes);
    }
    for (const DirtyMap::Extent& extent : dirty.list(from, size)) append_to_stream(lock, extent.offset, extent.bytes);
    return {};
  });
  if (taken) {
    change_dirty(lock, [](DirtyMap& map) { map.clear(); });
  } else {  // recipe and dirty extents have everything still
    stream_error.emplace(ErrorCode::kNoMemory, std::string());
    changed.wait(lock, [this] { return !stream->in_flight(); });
    stream.reset();
    stream_error.reset();
  }
  stream_starts = false;
  return taken;
}

void FileContentState::append_to_stream(const Lock&, std::uint64_t offset, ByteSpan bytes) {
  const std::uint64_t gap = offset - stream->end();
  if (gap >= kMinHole) {
    feed_hole(*stream, gap);
  } else if (gap != 0) {
    stream->feed(ByteSpan(kZeros).first(gap));
  }
  stream->feed(bytes);
}

// A batch of the stream has landed, on a thread of the pool. What could not be stored stays in the stream, where it can be
// read, until the stream ends.
void FileContentState::land(Result<std::vector<ChunkId>> ids) noexcept {
  const Lock lock(mutex);
  if (!stream_error) {
    Result<void> stored = guarded([&]() -> Result<void> {
      if (!ids) return ids.error();
      return replace(lock, stream->stored_offset(), kEndOfRecipe, stream->stored_entries(*ids));
    });
    if (!stored) stream_error.emplace(std::move(stored).error());
  }
  if (stream_error)
    stream->keep_failed();
  else
    stream->pop_stored();
  changed.notify_all();
}

// What could not be stored becomes dirty. Whatever fails here, nothing is lost, and the next attempt goes on.
Result<void> FileContentState::end_stream(Lock& lock) {
  if (!stream) return {};
  if (!stream_error) {
    stream->cut(true);
    stream->put();
  }
  changed.wait(lock, [this] { return !stream->in_flight(); });
  if (stream_error) {
    for (auto parts = stream->failed_parts(); !parts.empty(); parts = stream->failed_parts()) {
      for (const WriteStream::Part& part : parts) keep_dirty(lock, part);
      stream->pop_failed();
    }
    for (const WriteStream::Part& part : stream->unput_parts()) keep_dirty(lock, part);
  }
  stream->drop_unput();
  stream.reset();
  if (auto error = std::exchange(stream_error, std::nullopt)) return std::move(*error);
  return {};
}

}  // namespace dedupfs
