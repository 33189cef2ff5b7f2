#include "fs/check/recipe_repair.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "chunkers/chunker.h"
#include "store/format/chunk_ids.h"

namespace dedupfs {
namespace {

// A longer gap would take more entries than any file has.
constexpr std::uint64_t kMaxLostRange = std::uint64_t{kMaxChunkBytesLimit} << 20;

std::vector<RecipeEntry> lost_entries(std::uint64_t length) {
  std::vector<RecipeEntry> entries;
  for (; length != 0; length -= entries.back().length)
    entries.push_back({.kind = RecipeEntry::Kind::kChunk,
                       .length = std::min<std::uint64_t>(length, kMaxChunkBytesLimit),
                       .chunk = kLostChunk});
  return entries;
}

std::uint64_t length_of(const std::vector<RecipeEntry>& entries) {
  std::uint64_t length = 0;
  for (const RecipeEntry& entry : entries) length += entry.length;
  return length;
}

}  // namespace

void RecipeRepair::begin(InodeNumber inode, std::optional<Recorded> recorded) {
  inode_ = inode;
  recorded_ = recorded;
  is_cut_ = false;
  data_bytes_ = 0;
  set_pending(0, {});
}

void RecipeRepair::set_pending(std::uint64_t offset, std::vector<RecipeEntry> entries) {
  pending_offset_ = offset;
  pending_length_ = length_of(entries);
  pending_ = std::move(entries);
}

Result<void> RecipeRepair::add(std::uint64_t offset, std::string_view segment) {
  if (is_cut_) return {};
  auto entries = decode_segment(segment);
  if (entries && length_of(*entries) > kMaxFileBytes - offset)
    entries = Error{ErrorCode::kCorruption, "segment of a recipe: ends beyond the largest file"};
  if (!entries) {  // the next segment, or the end, shows the gap
    log_.lost(fmt::format("inode {} at {}: {}", inode_, offset, entries.error().message()));
    return {};
  }
  check_references(offset, *entries);
  if (offset < pending_end()) {
    merge(offset, std::move(*entries));
    return {};
  }
  DEDUPFS_TRY(write_pending());
  if (offset > pending_end()) DEDUPFS_TRY(write_lost(offset, "the recipe has a gap"));
  if (!is_cut_) set_pending(offset, std::move(*entries));
  return {};
}

// A reference to a missing chunk stays: the chunk may be found again. A reference to a chunk of another length is wrong.
void RecipeRepair::check_references(std::uint64_t offset, std::vector<RecipeEntry>& entries) {
  for (RecipeEntry& entry : entries) {
    if (entry.kind == RecipeEntry::Kind::kChunk) {
      const auto length = chunks_.length_of(entry.chunk);
      if (length && *length != entry.length) {
        log_.lost(fmt::format("inode {} at {}, {} bytes: chunk {} has {} bytes", inode_, offset, entry.length,
                              number_of(entry.chunk), *length));
        entry.chunk = kLostChunk;
      }
      if (!length && number_of(entry.chunk) >= kEndOfPlausibleChunkIds) entry.chunk = kLostChunk;
      end_of_chunks_ = std::max(end_of_chunks_, number_of(entry.chunk) + 1);
    }
    offset += entry.length;
  }
}

// Two segments contradict each other in a range. Which one is right is unknown, so the range is lost.
void RecipeRepair::merge(std::uint64_t offset, std::vector<RecipeEntry> entries) {
  std::vector<RecipeEntry> merged;
  std::uint64_t at = pending_offset_;
  std::uint64_t kept_end = pending_offset_;
  for (RecipeEntry& entry : pending_) {
    at += entry.length;
    if (at > offset) break;
    kept_end = at;
    merged.push_back(std::move(entry));
  }
  const std::uint64_t both_end = std::max(pending_end(), offset + length_of(entries));
  std::uint64_t resume = both_end;
  std::vector<RecipeEntry> behind;
  at = offset;
  for (RecipeEntry& entry : entries) {
    if (at >= pending_end()) {
      resume = std::min(resume, at);
      behind.push_back(std::move(entry));
      at += behind.back().length;
    } else {
      at += entry.length;
    }
  }
  log_.lost(fmt::format("inode {} at {}, {} bytes: two segments of the recipe contradict each other", inode_, kept_end,
                        resume - kept_end));
  is_cut_ = resume - kept_end > kMaxLostRange;
  if (!is_cut_) {
    std::ranges::move(lost_entries(resume - kept_end), std::back_inserter(merged));
    std::ranges::move(behind, std::back_inserter(merged));
  }
  set_pending(pending_offset_, std::move(merged));
}

Result<void> RecipeRepair::write_pending() {
  std::uint64_t offset = pending_offset_;
  for (std::size_t at = 0; at < pending_.size();) {
    const std::size_t count = std::min(pending_.size() - at, kSegmentEntries);
    const auto first = pending_.begin() + static_cast<std::ptrdiff_t>(at);
    const std::vector<RecipeEntry> entries(first, first + static_cast<std::ptrdiff_t>(count));
    DEDUPFS_TRY(to_.put(Family::kRecipes, encode_recipe_key(inode_, offset), encode_segment(entries)));
    for (const RecipeEntry& entry : entries)
      if (entry.is_data()) data_bytes_ += entry.length;
    offset += length_of(entries);
    at += count;
  }
  set_pending(offset, {});
  return {};
}

Result<void> RecipeRepair::write_lost(std::uint64_t to_offset, std::string_view why) {
  const std::uint64_t offset = pending_end();
  const std::uint64_t length = to_offset - offset;
  if (length > kMaxLostRange) {
    is_cut_ = true;
    log_.lost(fmt::format("inode {} at {}: {}; the file ends there now", inode_, offset, why));
    return {};
  }
  log_.lost(fmt::format("inode {} at {}, {} bytes: {}", inode_, offset, length, why));
  set_pending(offset, lost_entries(length));
  return write_pending();
}

Result<RecipeRepair::Recorded> RecipeRepair::end() {
  DEDUPFS_TRY(write_pending());
  // The recipe has less data than the inode counts, and does not reach the end of the file: the last segments are missing.
  if (recorded_ && !is_cut_ && data_bytes_ < recorded_->data_bytes && pending_end() < recorded_->size)
    DEDUPFS_TRY(write_lost(recorded_->size, "the end of the recipe is missing"));
  const std::uint64_t end = pending_end();
  return Recorded{.size = recorded_ && !is_cut_ ? std::max(recorded_->size, end) : end, .data_bytes = data_bytes_};
}

}  // namespace dedupfs
