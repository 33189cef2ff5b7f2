#include "fs/inodes/inode_numbers.h"

#include <spdlog/spdlog.h>

#include <algorithm>

#include "base/mutex.h"
#include "fs/format/records.h"

namespace dedupfs {
namespace {

// A group holds far fewer new inodes than half of this: it is committed long before, see Committer.
constexpr std::uint64_t kReserve = 1 << 20;

Result<std::uint64_t> get_counter(Metadata& metadata, std::string_view name, std::uint64_t otherwise) {
  DEDUPFS_ASSIGN(const std::optional<std::string> value, metadata.get(Family::kCounters, name));
  if (!value) return otherwise;
  return decode_counter(name, *value);
}

// Returns the first number at or behind `next` that is greater than the numbers of all records. A sound volume has no record
// from `next` on. The lookups start at `next`, so each costs next to nothing.
Result<InodeNumber> end_of_inodes(Metadata& metadata, InodeNumber next) {
  const std::string last = encode_inode_key(kSnapshotsInode - 1) + std::string(kMaxName + 1, '\xff');
  InodeNumber end = next;
  for (const Family family : kTreeFamilies) {
    DEDUPFS_ASSIGN(const auto found, metadata.find_at_or_before(family, last, encode_inode_key(end)));
    if (found) end = std::max(end, node_in_key(found->first) + 1);
  }
  return end;
}

}  // namespace

InodeNumbers::InodeNumbers(Metadata& metadata, InodeNumber next, std::uint64_t in_use)
    : metadata_(metadata), next_(next), limit_(next + kReserve), in_use_(in_use) {}

Result<std::unique_ptr<InodeNumbers>> InodeNumbers::load(Metadata& metadata) {
  DEDUPFS_ASSIGN(const std::uint64_t next, get_counter(metadata, kNextInodeCounter, kRootInode));
  DEDUPFS_ASSIGN(const std::uint64_t in_use, get_counter(metadata, kInodesCounter, 0));
  if (next == 0 || next > kLastInode + 1)
    return Error{ErrorCode::kCorruption, "the next inode number is out of range: " + std::to_string(next)};
  DEDUPFS_ASSIGN(const InodeNumber end, end_of_inodes(metadata, next));
  if (end > kLastInode + 1)
    return Error{ErrorCode::kCorruption, "inode " + std::to_string(end - 1) + " is beyond the last possible one"};
  if (end != next)
    spdlog::warn("the next inode number was {}, but inode {} is there: it is {} now", next, end - 1, end);
  return std::unique_ptr<InodeNumbers>(new InodeNumbers(metadata, end, in_use));
}

InodeNumber InodeNumbers::allocate() {
  const MutexLock lock(mutex_);
  ++in_use_;
  if (next_ + kReserve / 2 >= limit_) limit_ += kReserve / 2;
  return next_++;
}

void InodeNumbers::count_deleted() {
  const MutexLock lock(mutex_);
  if (in_use_ > 0) --in_use_;
}

void InodeNumbers::set_in_use(std::uint64_t count) {
  const MutexLock lock(mutex_);
  in_use_ = count;
}

std::uint64_t InodeNumbers::in_use() const {
  const MutexLock lock(mutex_);
  return in_use_;
}

InodeNumber InodeNumbers::end() const {
  const MutexLock lock(mutex_);
  return next_;
}

void InodeNumbers::save(bool exact) {
  const MutexLock lock(mutex_);
  const InodeNumber limit = exact ? next_ : limit_;
  if (limit != saved_limit_) metadata_.put(Family::kCounters, kNextInodeCounter, encode_counter(limit));
  if (in_use_ != saved_in_use_) metadata_.put(Family::kCounters, kInodesCounter, encode_counter(in_use_));
  saved_limit_ = limit;
  saved_in_use_ = in_use_;
}

}  // namespace dedupfs
