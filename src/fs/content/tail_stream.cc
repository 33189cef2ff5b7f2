#include "fs/content/tail_stream.h"

#include <algorithm>
#include <utility>

#include "base/guarded.h"
#include "fs/content/restart_point.h"

namespace dedupfs {
namespace {

// At least this many sequential bytes at the end of a file start a stream. Fewer wait for more.
constexpr std::uint64_t kStreamBytes = 256 * 1024;

}  // namespace

bool TailStream::takes(std::uint64_t offset) const {
  return stream_ && !error_ && offset >= stream_->end() && parts_.dirty.map().end() <= offset;
}

std::optional<std::uint64_t> TailStream::worthy_start(const Held&) const {
  const DirtyMap& dirty = parts_.dirty.map();
  const auto first = dirty.find_from(0);
  if (!first || stream_ || parts_.view.size() - first->offset < kStreamBytes) return std::nullopt;
  std::uint64_t end = first->offset;
  for (auto extent = first; extent && extent->offset == end && !extent->is_hole(); extent = dirty.find_from(end))
    end = extent->end();
  if (end != parts_.view.size()) return std::nullopt;
  return first->offset;
}

// The bytes of the recipe from the start of the stream up to the first dirty byte.
Result<std::vector<WriteStream::Part>> TailStream::head(Held& held, std::uint64_t start, std::uint64_t from) {
  DEDUPFS_ASSIGN(const std::uint64_t old_end, parts_.recipe.end());
  DEDUPFS_ASSIGN(const auto entries, parts_.recipe.list(start, std::min(from, old_end)));
  std::vector<WriteStream::Part> head;
  for (const PlacedEntry& entry : entries) {
    WriteStream::Part part{entry.offset, std::min(entry.end(), from) - entry.offset, {}};
    if (entry.entry.is_data()) {
      DEDUPFS_ASSIGN(auto pieces, parts_.view.read_and_lock(held, part.offset, part.offset + part.length));
      part.bytes = std::move(pieces.front());
    }
    head.push_back(std::move(part));
  }
  return head;
}

Result<void> TailStream::start(Held& held, std::uint64_t from) {
  DEDUPFS_ASSIGN(const std::uint64_t start, restart_point(held, parts_.recipe, parts_.view, from));
  DEDUPFS_ASSIGN(const auto before, head(held, start, from));

  stream_ = std::make_unique<WriteStream>(parts_.volume, parts_.budget, start, kMaxFileBytes,
                                          [this](Result<std::vector<ChunkId>> ids) { land(std::move(ids)); });
  Result<void> taken = guarded([&]() -> Result<void> {
    for (const WriteStream::Part& part : before) {
      if (part.bytes.bytes.empty())
        feed_hole(*stream_, part.length);
      else
        append(held, part.offset, part.bytes.bytes);
    }
    for (const DirtyMap::Extent& extent : parts_.dirty.map().list(from, parts_.view.size()))
      append(held, extent.offset, extent.bytes);
    return {};
  });
  if (taken) {
    parts_.dirty.clear();
    parts_.view.show_stream(stream_.get());
  } else {  // the recipe and the dirty extents still have everything
    error_.emplace(ErrorCode::kNoMemory, std::string());
    parts_.lock.wait(held, [this] { return !stream_->in_flight(); });
    stream_.reset();
    error_.reset();
  }
  return taken;
}

void TailStream::append(const Held&, std::uint64_t offset, ByteSpan bytes) {
  const std::uint64_t gap = offset - stream_->end();
  if (gap >= kMinHole) {
    feed_hole(*stream_, gap);
  } else if (gap != 0) {
    stream_->feed(ByteSpan(kZeros).first(gap));
  }
  stream_->feed(bytes);
}

// Takes the result of a batch of the stream, on a thread of the pool. Bytes that could not be stored stay in the stream, and
// stay readable, until the stream ends.
void TailStream::land(Result<std::vector<ChunkId>> ids) noexcept {
  const Held held = parts_.lock.hold();
  if (!error_) {
    Result<void> stored = guarded([&]() -> Result<void> {
      if (!ids) return ids.error();
      return parts_.recipe.replace(stream_->stored_offset(), kEndOfRecipe, stream_->stored_entries(*ids));
    });
    if (!stored) error_.emplace(std::move(stored).error());
  }
  if (error_)
    stream_->keep_failed();
  else
    stream_->pop_stored();
  parts_.lock.notify_all();
}

Result<void> TailStream::end(Held& held) {
  if (!stream_) return {};
  if (!error_) {
    stream_->cut(true);
    stream_->put();
  }
  parts_.lock.wait(held, [this] { return !stream_->in_flight(); });
  if (error_) {
    for (auto parts = stream_->failed_parts(); !parts.empty(); parts = stream_->failed_parts()) {
      for (const WriteStream::Part& part : parts) parts_.dirty.keep(part, parts_.view.size());
      stream_->pop_failed();
    }
    for (const WriteStream::Part& part : stream_->unput_parts()) parts_.dirty.keep(part, parts_.view.size());
  }
  stream_->drop_unput();
  parts_.view.show_stream(nullptr);
  stream_.reset();
  if (auto error = std::exchange(error_, std::nullopt)) return std::move(*error);
  return {};
}

void TailStream::abandon(Held& held) {
  if (!stream_) return;
  parts_.lock.wait(held, [this] { return !stream_->in_flight(); });
  parts_.view.show_stream(nullptr);
  stream_.reset();
}

}  // namespace dedupfs
