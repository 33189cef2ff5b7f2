// What the content of a file is: dirty extents over the stream over the recipe.
#include <fmt/format.h>

#include <algorithm>

#include "fs/content/file_content_state.h"

namespace dedupfs {
namespace {

// Copying less than this is cheaper than to hand out a piece of its own.
constexpr std::uint64_t kJoinedReadsBelowBytes = 4096;

}  // namespace

// Dirty extents lie over the stream, which lies over the recipe.
Result<FileContentState::View> FileContentState::view_at(const Lock&, std::uint64_t offset) {
  View view;
  std::uint64_t end = size;
  if (const auto extent = dirty.find_from(offset)) {
    if (extent->offset == offset) {
      view.source = extent->is_hole() ? View::Source::kHole : View::Source::kDirty;
      view.dirty = *extent;
      view.length = std::min(extent->end(), size) - offset;
      return view;
    }
    end = std::min(end, extent->offset);
  }
  const WriteStream* const over = stream_starts ? nullptr : stream.get();
  if (over != nullptr && offset >= over->stored_end() && offset < over->end()) {
    view.stream = over->part_at(offset);
    view.source = view.stream.bytes.bytes.empty() ? View::Source::kHole : View::Source::kStream;
    view.length = std::min(end - offset, view.stream.length);
    return view;
  }
  // What the stream will replace is not to be seen any more.
  if (over != nullptr && offset < over->stored_end()) end = std::min(end, over->stored_end());
  if (over != nullptr && offset >= over->end()) {
    view.length = end - offset;
    return view;
  }
  DEDUPFS_ASSIGN(auto entry, recipe.find(offset));
  if (!entry) {
    view.length = end - offset;
    return view;
  }
  view.length = std::min(end, entry->end()) - offset;
  view.source = entry->entry.is_data() ? View::Source::kRecipe : View::Source::kHole;
  view.entry = std::move(*entry);
  return view;
}

// The first byte at or behind `from` that is in a hole, or that is not; the size when there is none.
Result<std::uint64_t> FileContentState::run_start(const Lock& lock, std::uint64_t from, bool of_hole) {
  while (from < size) {
    DEDUPFS_ASSIGN(const View view, view_at(lock, from));
    if (view.is_hole() == of_hole) return from;
    from += view.length;
  }
  return size;
}

// Small pieces that are in memory are copied into one buffer, up to the next that is not: there may be one for each byte.
Result<std::vector<FileContentState::Fetch>> FileContentState::gather(const Lock& lock, std::uint64_t from,
                                                                      std::uint64_t to) {
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
    DEDUPFS_ASSIGN(View view, view_at(lock, from));
    Fetch part;
    part.offset = from;
    part.length = std::min(view.length, to - from);
    switch (view.source) {
      case View::Source::kHole:
        part.length = std::min<std::uint64_t>(part.length, kZeros.size());
        part.bytes.bytes = ByteSpan(kZeros).first(part.length);
        break;
      case View::Source::kDirty: part.bytes.bytes = view.dirty.bytes.first(part.length); break;
      case View::Source::kStream:
        part.bytes = {view.stream.bytes.bytes.first(part.length), view.stream.bytes.owner};
        break;
      case View::Source::kRecipe:
        part.skip = from - view.entry.offset;
        if (view.entry.entry.kind == RecipeEntry::Kind::kInline)
          part.bytes.bytes = bytes_of(view.entry.entry.bytes).subspan(part.skip, part.length);
        else
          part.chunk = view.entry.entry.chunk;
        break;
    }
    from += part.length;
    const bool stays = view.source == View::Source::kHole || view.source == View::Source::kStream;
    if (!part.chunk && (!stays || part.length < kJoinedReadsBelowBytes)) {
      add_copy(part.offset, part.bytes.bytes);
    } else {
      joined.reset();
      wanted.push_back(std::move(part));
    }
  }
  return wanted;
}

Result<std::vector<PinnedBytes>> FileContentState::fetch(const std::vector<Fetch>& wanted) const {
  std::vector<PinnedBytes> pieces;
  pieces.reserve(wanted.size());
  for (const Fetch& part : wanted) {
    if (!part.chunk) {
      pieces.push_back(part.bytes);
      continue;
    }
    auto chunk = volume.chunks().get(*part.chunk);
    if (chunk && part.skip + part.length > chunk->bytes.size())
      chunk = Error{ErrorCode::kCorruption,
                    fmt::format("chunk {} is shorter than the recipe says", number_of(*part.chunk))};
    if (!chunk) return chunk.error().with(fmt::format("inode {} at offset {}", inode, part.offset));
    pieces.push_back({chunk->bytes.subspan(part.skip, part.length), std::move(chunk->owner)});
  }
  return pieces;
}

Result<std::vector<PinnedBytes>> FileContentState::read(std::uint64_t from, std::uint64_t to) {
  const auto gather_now = [&] {
    const Lock lock(mutex);
    return gather(lock, from, std::min(to, size));
  };
  DEDUPFS_ASSIGN(std::vector<Fetch> wanted, gather_now());
  for (;;) {
    auto pieces = fetch(wanted);
    if (pieces) return pieces;
    // What was overwritten meanwhile may have been reclaimed: an error counts if the file still has what it is about.
    DEDUPFS_ASSIGN(std::vector<Fetch> now, gather_now());
    if (std::ranges::equal(now, wanted, {}, &Fetch::chunk, &Fetch::chunk)) return pieces;
    wanted = std::move(now);
  }
}

Result<std::vector<PinnedBytes>> FileContentState::fetch_range(Lock& lock, std::uint64_t from, std::uint64_t to) {
  DEDUPFS_ASSIGN(const auto wanted, gather(lock, from, to));
  const Unlocked unlocked(lock);
  return fetch(wanted);
}

}  // namespace dedupfs
