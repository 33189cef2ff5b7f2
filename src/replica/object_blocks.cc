#include "replica/object_blocks.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>

#include "base/guarded.h"
#include "replica/replica.h"

namespace dedupfs {
namespace {

Error failed(const Error& error, const ObjectBlocks::Place& place) {
  const bool is_gone = error.code() == ErrorCode::kNotFound;
  return {is_gone ? ErrorCode::kCorruption : error.code(),
          fmt::format("{}; it is a part of {}", error.message(), place.part_of)};
}

}  // namespace

ObjectBlocks::~ObjectBlocks() {
  std::unique_ptr<ThreadPool> readers;
  {
    const MutexLock lock(mutex_);
    stopping_ = true;
    readers = std::move(readers_);
  }
}

Result<ObjectBlocks::Block> ObjectBlocks::get(const Place& place, Purpose purpose) {
  const Key key{place.object, place.number};
  {
    const MutexLock lock(mutex_);
    while (asked_.contains(key)) arrived_.wait(mutex_);
    if (const auto found = places_.find(key); found != places_.end()) {
      kept_.splice(kept_.begin(), kept_, found->second);
      return found->second->second;
    }
    if (no_answer_ && Clock::now() < rests_until_) return *no_answer_;
    asked_.insert(key);
  }
  auto block = guarded([&] { return read(place); });
  const MutexLock lock(mutex_);
  asked_.erase(key);
  arrived_.notify_all();
  if (block) keep(key, *block);
  if (!block && block.error().code() == ErrorCode::kIo) {
    ahead_rests_until_ = Clock::now() + settings_.rest_after_failure;
    if (purpose == Purpose::kReader) {
      no_answer_ = block.error();
      rests_until_ = ahead_rests_until_;
    }
  }
  return block;
}

Result<ObjectBlocks::Block> ObjectBlocks::read(const Place& place) {
  if (place.piece.bytes <= settings_.block_bytes) {
    auto whole = read_piece(*bucket_, place.object, place.piece);
    if (!whole) return failed(whole.error(), place);
    return std::make_shared<const ByteBuffer>(std::move(*whole));
  }
  ByteBuffer bytes(place.end - place.begin);
  const auto length = bucket_->read(place.object, place.number * settings_.block_bytes, bytes);
  if (!length) return failed(length.error(), place);
  if (*length != bytes.size())
    return failed(corruption(fmt::format("{}/{} ends too early", bucket_->name(), place.object)), place);
  return std::make_shared<const ByteBuffer>(std::move(bytes));
}

// ---------------------------------------------------------------- reading ahead

// Doubled with each block, as long as it goes on, up to so many for each request that is made at once.
std::size_t ObjectBlocks::blocks_ahead(const FileInBucket& file, const Place& place) {
  constexpr std::size_t kMostSequences = 256;
  constexpr std::size_t kForEachRequest = 2;
  // What is read ahead stays until it is read.
  const std::size_t most =
      std::min<std::size_t>(kForEachRequest * settings_.parallel, settings_.cache_bytes / 4 / settings_.block_bytes);
  const auto [found, is_new] = sequences_.try_emplace(place.part_of);
  Sequence& sequence = found->second;
  if (!is_new && place.begin == sequence.begin) return 0;
  if (is_new || place.begin != sequence.end)
    sequence.blocks_ahead = place.begin == 0 ? ended_ahead_ : 0;
  else
    sequence.blocks_ahead = std::clamp<std::size_t>(2 * sequence.blocks_ahead, 1, most);
  sequence.begin = place.begin;
  sequence.end = place.end;
  const std::size_t ahead = sequence.blocks_ahead;
  if (place.end == file.size()) ended_ahead_ = ahead;
  if (sequences_.size() > kMostSequences) sequences_.clear();  // those that go on grow again
  return ahead;
}

bool ObjectBlocks::is_wanted(const Key& key) const {
  return !stopping_ && !asked_.contains(key) && !places_.contains(key) && Clock::now() >= ahead_rests_until_;
}

void ObjectBlocks::read_ahead(const FileInBucket& file, const Place& place) {
  if (settings_.parallel <= 1) return;
  std::size_t ahead = 0;
  {
    const MutexLock lock(mutex_);
    ahead = blocks_ahead(file, place);
  }
  for (std::uint64_t offset = place.end; ahead != 0 && offset < file.size(); --ahead) {
    Place next = file.block_at(offset, settings_.block_bytes);
    offset = next.end;
    begin_reading(std::move(next));
  }
}

std::uint64_t ObjectBlocks::read_soon(const FileInBucket& file, std::uint64_t room) {
  if (settings_.parallel <= 1 || file.size() == 0) return room;
  for (const std::uint64_t offset : {std::uint64_t{0}, file.size() - 1}) {
    Place place = file.block_at(offset, settings_.block_bytes);
    const std::uint64_t bytes = place.end - place.begin;
    if (bytes > room) return room;
    if (begin_reading(std::move(place))) room -= bytes;
  }
  return room;
}

bool ObjectBlocks::begin_reading(Place place) {
  Key key{place.object, place.number};
  const MutexLock lock(mutex_);
  if (!is_wanted(key) || planned_.contains(key)) return false;
  if (!readers_) readers_ = ThreadPool::make_if_possible(settings_.parallel, "dedupfs-ahead");
  if (!readers_) return false;
  planned_.insert(key);
  readers_->submit([this, key = std::move(key), next = std::move(place)] {
    bool is_still_wanted = false;
    {
      const MutexLock planned(mutex_);
      is_still_wanted = is_wanted(key);
    }
    if (is_still_wanted) (void)get(next, Purpose::kAhead);  // who reads the block meets the failure again
    const MutexLock planned(mutex_);
    planned_.erase(key);
    arrived_.notify_all();
  });
  return true;
}

void ObjectBlocks::finish_reading_ahead() {
  const MutexLock lock(mutex_);
  while (!planned_.empty()) arrived_.wait(mutex_);
}

void ObjectBlocks::keep(const Key& key, const Block& block) {
  kept_.emplace_front(key, block);
  places_[key] = kept_.begin();
  bytes_ += block->size();
  while (bytes_ > settings_.cache_bytes && kept_.size() > 1) {
    bytes_ -= kept_.back().second->size();
    places_.erase(kept_.back().first);
    kept_.pop_back();
  }
}

FileInBucket::FileInBucket(std::string path, RemoteFile file, std::string shown_as)
    : path_(std::move(path)), file_(std::move(file)), shown_as_(std::move(shown_as)) {
  for (const RemotePiece& piece : file_.pieces) {
    begins_.push_back(size_);
    size_ += piece.bytes;
  }
}

ObjectBlocks::Place FileInBucket::block_at(std::uint64_t offset, std::uint32_t block_bytes) const {
  const auto index = static_cast<std::size_t>(std::ranges::upper_bound(begins_, offset) - begins_.begin()) - 1;
  const RemotePiece& piece = file_.pieces[index];
  const std::uint64_t number = (offset - begins_[index]) / block_bytes;
  const std::uint64_t begin = begins_[index] + number * block_bytes;
  return {.object = piece_object(path_, begins_[index], piece),
          .piece = piece,
          .number = number,
          .begin = begin,
          .end = std::min(begin + block_bytes, begins_[index] + piece.bytes),
          .part_of = shown_as_};
}

Result<void> FileInBucket::check_there(Bucket& bucket) const {
  for (const std::uint64_t begin : begins_) {
    const ObjectBlocks::Place place = block_at(begin, 1);
    std::uint8_t last = 0;
    const auto length = bucket.read(place.object, place.piece.bytes - 1, {&last, 1});
    if (!length) return failed(length.error(), place);
    if (*length != 1)
      return failed(corruption(fmt::format("{}/{} ends too early", bucket.name(), place.object)), place);
  }
  return {};
}

Result<std::size_t> FileInBucket::read_up_to(ObjectBlocks& blocks, std::uint64_t offset, MutableByteSpan out) const {
  std::size_t filled = 0;
  while (filled < out.size() && offset + filled < size_) {
    const ObjectBlocks::Place place = block_at(offset + filled, blocks.block_bytes());
    blocks.read_ahead(*this, place);
    DEDUPFS_ASSIGN(const ObjectBlocks::Block block, blocks.get(place));
    const auto in_block = static_cast<std::size_t>(offset + filled - place.begin);
    const std::size_t length = std::min(out.size() - filled, block->size() - in_block);
    std::memcpy(out.data() + filled, block->data() + in_block, length);
    filled += length;
  }
  return filled;
}

}  // namespace dedupfs
