// What is read of evicted containers: from what stays on this machine, from cached blocks, from the bucket.
#include <spdlog/spdlog.h>

#include <algorithm>
#include <cstring>

#include "replica/eviction/evicted_containers.h"
#include "replica/remote_file.h"

namespace dedupfs {
namespace {

// Blocks that several threads read at once, of which each is cached on the disk right after.
constexpr std::uint64_t kMemoryBytes = 32 << 20;
// Who reads no more looks at headers, and needs nothing of what is in a container.
constexpr std::uint64_t kLookBytes = 4 << 10;

}  // namespace

void EvictedContainers::note_read(const std::string& name, std::uint64_t offset, std::uint64_t length) {
  if (!is_caching_) return;
  const MutexLock lock(uses_);
  if (length > kLookBytes) last_uses_[name] = ++clock_;
  if (watched_ == name) read_.push_back({.offset = offset, .length = length});
}

Result<std::size_t> EvictedContainers::read_up_to(const std::string& name, BackingFile& real, EvictedPtr& evicted,
                                                  std::uint64_t offset, MutableByteSpan out) {
  {
    const ReaderLock lock(places_);
    if (!evicted_.contains(name)) {
      evicted.reset();
      note_read(name, offset, out.size());
      return real.read_up_to(offset, out);
    }
  }
  if (!evicted) {
    DEDUPFS_ASSIGN(evicted, load(name));
  }
  return read_evicted(name, real, *evicted, offset, out);
}

Result<std::size_t> EvictedContainers::read_evicted(const std::string& name, BackingFile& real, const Evicted& evicted,
                                                    std::uint64_t offset, MutableByteSpan out) {
  std::size_t filled = 0;
  while (filled < out.size() && offset + filled < evicted.file.size()) {
    const std::uint64_t at = offset + filled;
    const std::uint64_t end = std::min(evicted.file.size(), at + (out.size() - filled));
    const auto next = std::ranges::upper_bound(evicted.kept, at, {}, &FileRange::end);
    if (next != evicted.kept.end() && next->offset <= at) {  // it never goes from here
      const MutableByteSpan part = out.subspan(filled, std::min(end, next->end()) - at);
      DEDUPFS_TRY(real.read(at, part));
      filled += part.size();
      continue;
    }
    const BlockKey key{name, at / kBlockBytes};
    const std::uint64_t begin_of_block = key.second * kBlockBytes;
    const std::uint64_t end_of_block = std::min(begin_of_block + kBlockBytes, evicted.file.size());
    const std::uint64_t end_of_part =
        std::min({end, end_of_block, next != evicted.kept.end() ? next->offset : evicted.file.size()});
    const MutableByteSpan part = out.subspan(filled, end_of_part - at);
    DEDUPFS_ASSIGN(const bool is_cached, read_cached(key, real, at, part));
    if (!is_cached) {
      ByteBuffer block(end_of_block - begin_of_block);
      DEDUPFS_TRY(fetch(evicted, begin_of_block, block));
      ++fetches_;
      fetched_bytes_ += block.size();
      std::memcpy(part.data(), block.data() + (at - begin_of_block), part.size());
      cache(key, real, evicted, block);
    }
    filled += part.size();
  }
  return filled;
}

Result<bool> EvictedContainers::read_cached(const BlockKey& key, BackingFile& real, std::uint64_t offset,
                                            MutableByteSpan out) {
  const ReaderLock lock(places_);
  {
    const MutexLock uses(uses_);
    const auto found = block_places_.find(key);
    if (found == block_places_.end()) return false;
    blocks_.splice(blocks_.begin(), blocks_, found->second);
  }
  DEDUPFS_TRY(real.read(offset, out));
  return true;
}

// What is kept here was never fetched, and is not written over. A block that cannot be cached is read from the bucket again: the disk may be full.
void EvictedContainers::cache(const BlockKey& key, BackingFile& real, const Evicted& evicted, ByteSpan block) {
  if (!is_caching_ || max_cached_bytes_ < kBlockBytes) return;
  {
    const ReaderLock lock(places_);
    if (!evicted_.contains(key.first) || in_motion_.contains(key.first)) return;
    const std::uint64_t begin = key.second * kBlockBytes;
    for (const FileRange& range : ranges_between(evicted.kept, begin, begin + block.size()))
      if (!real.write(range.offset, block.subspan(range.offset - begin, range.length))) return;
    const MutexLock uses(uses_);
    if (block_places_.contains(key)) return;
    blocks_.push_front(key);
    block_places_[key] = blocks_.begin();
  }
  drop_blocks();
}

void EvictedContainers::drop_blocks() {
  for (;;) {
    BlockKey last;
    {
      const MutexLock uses(uses_);
      if (blocks_.size() * kBlockBytes <= max_cached_bytes_) return;
      last = blocks_.back();
    }
    const auto evicted = load(last.first);
    const WriterLock lock(places_);
    {
      const MutexLock uses(uses_);
      const auto found = block_places_.find(last);
      if (found == block_places_.end()) continue;  // somebody else was faster
      blocks_.erase(found->second);
      block_places_.erase(found);
    }
    if (!evicted) return;
    if (const auto dropped = drop_block(last, **evicted); !dropped) {
      spdlog::warn("a block of the cache stays on the disk: {}", dropped.error().message());
      return;
    }
  }
}

Result<void> EvictedContainers::drop_block(const BlockKey& key, const Evicted& evicted) {
  if (!evicted_.contains(key.first)) return {};
  DEDUPFS_ASSIGN(const auto file, folder_->open(key.first, Backing::Mode::kReadWrite));
  const std::uint64_t begin = key.second * kBlockBytes;
  for (const FileRange& range : ranges_between(evicted.kept, begin, std::min(begin + kBlockBytes, evicted.file.size())))
    DEDUPFS_TRY(file->discard(range.offset, range.length));
  return {};
}

bool EvictedContainers::is_near(const std::string& name, const Evicted& evicted, std::uint64_t offset,
                                std::uint64_t length) const {
  const std::uint64_t end = std::min(offset + length, evicted.file.size());
  const auto far = ranges_between(evicted.kept, offset, end);
  const MutexLock uses(uses_);
  for (const FileRange& range : far)
    for (std::uint64_t block = range.offset / kBlockBytes; block * kBlockBytes < range.end(); ++block)
      if (!block_places_.contains({name, block})) return false;
  return true;
}

Result<std::shared_ptr<ObjectBlocks>> EvictedContainers::bucket() {
  const MutexLock lock(bucket_mutex_);
  if (bucket_blocks_) return bucket_blocks_;
  DEDUPFS_ASSIGN(std::shared_ptr<Bucket> bucket, open_bucket({}));
  bucket_blocks_ = std::make_shared<ObjectBlocks>(
      std::move(bucket), ObjectBlocks::Settings{.cache_bytes = kMemoryBytes, .parallel = parallel_});
  return bucket_blocks_;
}

Result<void> EvictedContainers::fetch(const Evicted& evicted, std::uint64_t offset, MutableByteSpan out) {
  auto fetched = [&]() -> Result<void> {
    DEDUPFS_ASSIGN(const auto blocks, bucket());
    DEDUPFS_ASSIGN(const std::size_t length, evicted.file.read_up_to(*blocks, offset, out));
    if (length == out.size()) return {};
    return corruption(evicted.file.shown_as() + " is longer than what the bucket has of it");
  }();
  if (fetched || fetched.error().code() == ErrorCode::kCorruption) return fetched;
  failure_->note(fetched.error());
  return Error{ErrorCode::kBusy, fetched.error().message()};  // it may come later
}

void EvictedContainers::forget_blocks(std::string_view name) {
  const MutexLock uses(uses_);
  for (auto place = block_places_.lower_bound({std::string(name), 0});
       place != block_places_.end() && place->first.first == name;) {
    blocks_.erase(place->second);
    place = block_places_.erase(place);
  }
}

}  // namespace dedupfs
