#include "replica/object_blocks.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>

#include "replica/replica.h"

namespace dedupfs {

Result<ObjectBlocks::Block> ObjectBlocks::get(const std::string& object, const RemotePiece& piece, std::uint64_t number,
                                              const std::string& part_of) {
  const Key key{object, number};
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
  auto block = read(object, piece, number, part_of);
  const MutexLock lock(mutex_);
  asked_.erase(key);
  arrived_.notify_all();
  if (block) keep(key, *block);
  if (!block && block.error().code() == ErrorCode::kIo) {
    no_answer_ = block.error();
    rests_until_ = Clock::now() + settings_.rest_after_failure;
  }
  return block;
}

Result<ObjectBlocks::Block> ObjectBlocks::read(const std::string& object, const RemotePiece& piece,
                                               std::uint64_t number, const std::string& part_of) {
  const auto failed = [&](const Error& error) {
    const bool is_gone = error.code() == ErrorCode::kNotFound;
    return Error{is_gone ? ErrorCode::kCorruption : error.code(),
                 fmt::format("{}; it is a part of {}", error.message(), part_of)};
  };
  if (piece.bytes <= settings_.block_bytes) {
    auto whole = read_piece(*bucket_, object, piece);
    if (!whole) return failed(whole.error());
    return std::make_shared<const ByteBuffer>(std::move(*whole));
  }
  const std::uint64_t begin = number * settings_.block_bytes;
  ByteBuffer bytes(std::min<std::uint64_t>(settings_.block_bytes, piece.bytes - begin));
  const auto length = bucket_->read(object, begin, bytes);
  if (!length) return failed(length.error());
  if (*length != bytes.size()) return failed(corruption(fmt::format("{}/{} ends too early", bucket_->name(), object)));
  return std::make_shared<const ByteBuffer>(std::move(bytes));
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

Result<std::size_t> FileInBucket::read_up_to(ObjectBlocks& blocks, std::uint64_t offset, MutableByteSpan out) const {
  std::size_t filled = 0;
  while (filled < out.size() && offset + filled < size_) {
    DEDUPFS_ASSIGN(const std::size_t length, read_some(blocks, offset + filled, out.subspan(filled)));
    filled += length;
  }
  return filled;
}

Result<std::size_t> FileInBucket::read_some(ObjectBlocks& blocks, std::uint64_t offset, MutableByteSpan out) const {
  const auto index = static_cast<std::size_t>(std::ranges::upper_bound(begins_, offset) - begins_.begin()) - 1;
  const RemotePiece& piece = file_.pieces[index];
  const std::uint64_t in_piece = offset - begins_[index];
  DEDUPFS_ASSIGN(const ObjectBlocks::Block block, blocks.get(piece_object(path_, begins_[index], piece), piece,
                                                             in_piece / blocks.block_bytes(), shown_as_));
  const auto in_block = static_cast<std::size_t>(in_piece % blocks.block_bytes());
  const std::size_t length = std::min(out.size(), block->size() - in_block);
  std::memcpy(out.data(), block->data() + in_block, length);
  return length;
}

}  // namespace dedupfs
