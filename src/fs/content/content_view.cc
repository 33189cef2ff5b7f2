#include "fs/content/content_view.h"

#include <fmt/format.h>

#include <algorithm>
#include <memory>
#include <utility>

namespace dedupfs {
namespace {

// To copy fewer bytes than this is cheaper than to return a piece of their own.
constexpr std::uint64_t kJoinedReadsBelowBytes = 4096;

}  // namespace

Result<ContentView::Span> ContentView::at(const Held&, std::uint64_t offset) {
  Span span;
  std::uint64_t end = size_;
  if (const auto extent = dirty_.map().find_from(offset)) {
    if (extent->offset == offset) {
      span.source = extent->is_hole() ? Span::Source::kHole : Span::Source::kDirty;
      span.dirty = *extent;
      span.length = std::min(extent->end(), size_) - offset;
      return span;
    }
    end = std::min(end, extent->offset);
  }
  if (stream_ != nullptr && offset >= stream_->stored_end() && offset < stream_->end()) {
    span.stream = stream_->part_at(offset);
    span.source = span.stream.bytes.bytes.empty() ? Span::Source::kHole : Span::Source::kStream;
    span.length = std::min(end - offset, span.stream.length);
    return span;
  }
  // Behind stored_end() the stream takes the place of the recipe: readers must not see the recipe there.
  if (stream_ != nullptr && offset < stream_->stored_end()) end = std::min(end, stream_->stored_end());
  if (stream_ != nullptr && offset >= stream_->end()) {
    span.length = end - offset;
    return span;
  }
  DEDUPFS_ASSIGN(auto entry, recipe_.find(offset));
  if (!entry) {
    span.length = end - offset;
    return span;
  }
  span.length = std::min(end, entry->end()) - offset;
  span.source = entry->entry.is_data() ? Span::Source::kRecipe : Span::Source::kHole;
  span.entry = std::move(*entry);
  return span;
}

Result<std::uint64_t> ContentView::run_start(const Held& held, std::uint64_t from, bool of_hole) {
  while (from < size_) {
    DEDUPFS_ASSIGN(const Span span, at(held, from));
    if (span.is_hole() == of_hole) return from;
    from += span.length;
  }
  return size_;
}

Result<std::uint64_t> ContentView::data_bytes_in(const Held& held, std::uint64_t from, std::uint64_t to) {
  std::uint64_t bytes = 0;
  while (from < to) {
    DEDUPFS_ASSIGN(const Span span, at(held, from));
    const std::uint64_t length = std::min(span.length, to - from);
    if (span.source == Span::Source::kRecipe) bytes += length;
    from += length;
  }
  return bytes;
}

// Copies adjacent small pieces in memory into one buffer. Otherwise there could be a piece for each byte.
Result<std::vector<ContentView::Fetch>> ContentView::gather(const Held& held, std::uint64_t from, std::uint64_t to) {
  to = std::min(to, size_);
  std::vector<Fetch> wanted;
  std::shared_ptr<ByteBuffer> joined;  // of the last one
  const auto add_copy = [&](std::uint64_t offset, ByteSpan bytes) {
    if (!joined) {
      joined = std::make_shared<ByteBuffer>();
      wanted.push_back({{{}, joined}, std::nullopt, 0, 0, offset});
    }
    joined->insert(joined->end(), bytes.begin(), bytes.end());
    wanted.back().bytes.bytes = *joined;
    wanted.back().length = joined->size();
  };
  while (from < to) {
    DEDUPFS_ASSIGN(Span span, at(held, from));
    Fetch part;
    part.offset = from;
    part.length = std::min(span.length, to - from);
    switch (span.source) {
      case Span::Source::kHole:
        part.length = std::min<std::uint64_t>(part.length, kZeros.size());
        part.bytes.bytes = ByteSpan(kZeros).first(part.length);
        break;
      case Span::Source::kDirty: part.bytes.bytes = span.dirty.bytes.first(part.length); break;
      case Span::Source::kStream:
        part.bytes = {span.stream.bytes.bytes.first(part.length), span.stream.bytes.owner};
        break;
      case Span::Source::kRecipe:
        part.skip = from - span.entry.offset;
        if (span.entry.entry.kind == RecipeEntry::Kind::kInline)
          part.bytes.bytes = bytes_of(span.entry.entry.bytes).subspan(part.skip, part.length);
        else
          part.chunk = span.entry.entry.chunk;
        break;
    }
    from += part.length;
    const bool stays = span.source == Span::Source::kHole || span.source == Span::Source::kStream;
    if (!part.chunk && (!stays || part.length < kJoinedReadsBelowBytes)) {
      add_copy(part.offset, part.bytes.bytes);
    } else {
      joined.reset();
      wanted.push_back(std::move(part));
    }
  }
  return wanted;
}

Result<std::vector<PinnedBytes>> ContentView::fetch(const std::vector<Fetch>& wanted) const {
  std::vector<PinnedBytes> pieces;
  pieces.reserve(wanted.size());
  for (const Fetch& part : wanted) {
    if (!part.chunk) {
      pieces.push_back(part.bytes);
      continue;
    }
    auto chunk = chunks_.get(*part.chunk);
    if (chunk && part.skip + part.length > chunk->bytes.size())
      chunk = Error{ErrorCode::kCorruption,
                    fmt::format("chunk {} is shorter than the recipe says", number_of(*part.chunk))};
    if (!chunk) return chunk.error().with(fmt::format("inode {} at offset {}", inode_, part.offset));
    pieces.push_back({chunk->bytes.subspan(part.skip, part.length), std::move(chunk->owner)});
  }
  return pieces;
}

Result<std::vector<PinnedBytes>> ContentView::read(Held& held, std::uint64_t from, std::uint64_t to) {
  DEDUPFS_ASSIGN(std::vector<Fetch> wanted, gather(held, from, to));
  for (;;) {
    held.unlock();
    auto pieces = fetch(wanted);
    if (pieces) return pieces;
    // A chunk may have been overwritten meanwhile, and reclaimed. So an error counts only if the file still refers to the
    // chunk.
    held.lock();
    DEDUPFS_ASSIGN(std::vector<Fetch> now, gather(held, from, to));
    if (std::ranges::equal(now, wanted, {}, &Fetch::chunk, &Fetch::chunk)) return pieces;
    wanted = std::move(now);
  }
}

Result<std::vector<PinnedBytes>> ContentView::read_and_lock(Held& held, std::uint64_t from, std::uint64_t to) {
  class LockedAgain {
   public:
    explicit LockedAgain(Held& its_held) : held_(its_held) {}
    ~LockedAgain() {
      if (!held_.owns_lock()) held_.lock();
    }
    LockedAgain(const LockedAgain&) = delete;
    LockedAgain& operator=(const LockedAgain&) = delete;

   private:
    Held& held_;
  };
  const LockedAgain locked_again(held);
  return read(held, from, to);
}

}  // namespace dedupfs
