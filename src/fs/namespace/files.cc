#include "fs/namespace/files.h"

#include <algorithm>
#include <memory>
#include <optional>
#include <utility>

#include "base/mutex.h"
#include "fs/content/dirty_budget.h"
#include "fs/content/dirty_map.h"
#include "fs/content/file_content.h"
#include "fs/inodes/inode_record.h"
#include "fs/transactions/quiesce_gate.h"

namespace dedupfs {
namespace {

// The limit for one call of clone: it can be interrupted in between, and a commit does not wait for it long.
constexpr std::uint64_t kMaxCopiedAtOnce = 256 << 20;

}  // namespace

Result<void> Files::open(InodeNumber number, bool truncate, const Caller& caller) {
  if (truncate) DEDUPFS_TRY(transactions_.check_writable(number));
  DEDUPFS_ASSIGN(const InodePtr inode, table_.get_file(number));
  if (truncate) {
    const Transactions::Change change(transactions_);
    DEDUPFS_TRY(contents_.resize(inode, 0, caller));
  }
  table_.open(number);
  return {};
}

void Files::release(InodeNumber number, bool was_writer) {
  if (table_.close(number)) {
    orphans_.note_unlinked(number);
    return;
  }
  const InodePtr inode = table_.find_in_memory(number);
  if (inode == nullptr) return;
  if (was_writer && inode->dirty) changes_.store_in_background(inode);
  const MutexLock lock(inode->mutex);
  if (!inode->dirty && !table_.is_open(number)) {
    inode->record.attributes = attributes_of(*inode);
    inode->content.reset();
  }
}

bool Files::note_opened_for_reading(InodeNumber number) {
  const Result<InodePtr> inode = table_.get_file(number);
  return inode && access_times_.note(*inode);
}

Result<std::vector<PinnedBytes>> Files::read(InodeNumber number, std::uint64_t offset, std::size_t length,
                                             AccessTime atime) {
  DEDUPFS_ASSIGN(const InodePtr inode, table_.get_file(number));
  std::shared_ptr<FileContent> content = contents_.for_reading(*inode);
  Result<std::vector<PinnedBytes>> bytes = content->read(offset, length);
  // A commit takes the content away from an inode that nobody has open. What is written then makes another one, and the old one may refer to
  // chunks that are reclaimed.
  for (auto now = contents_.for_reading(*inode); !bytes && now != content; now = contents_.for_reading(*inode)) {
    content = std::move(now);
    bytes = content->read(offset, length);
  }
  DEDUPFS_TRY(metadata_.check_tree(tree_of(number)));
  if (!bytes) return damage_log_.note(*inode, bytes.error());
  if (length != 0 && atime == AccessTime::kByPolicy) access_times_.note(inode);
  return bytes;
}

void Files::prefetch(InodeNumber number, std::uint64_t offset, std::uint64_t length) {
  if (const Result<InodePtr> inode = table_.get_file(number)) contents_.for_reading(**inode)->prefetch(offset, length);
}

std::function<bool()> Files::given_up_or(const std::function<bool()>& cancelled) const {
  return [this, &cancelled] { return gives_up_ || (cancelled != nullptr && cancelled()); };
}

// Whoever waits for room learns at once that nothing can be changed any more.
Result<void> Files::admit_write(std::uint64_t bytes, const std::function<bool()>& cancelled) {
  const std::function<bool()> given_up = given_up_or(cancelled);
  auto admitted = space_.admit_write(bytes, [&] { return !writability_.check() || given_up(); });
  if (!admitted) DEDUPFS_TRY(writability_.check());
  return admitted;
}

Result<void> Files::write(InodeNumber number, std::uint64_t offset, ByteSpan bytes, const Caller& caller,
                          const std::function<bool()>& cancelled) {
  DEDUPFS_TRY(transactions_.check_writable(number));
  DEDUPFS_TRY(FileContents::check_range(offset, bytes.size()));
  DEDUPFS_ASSIGN(const InodePtr inode, table_.get_file(number));
  if (bytes.empty()) return {};
  DEDUPFS_TRY(admit_write(bytes.size(), cancelled));
  DEDUPFS_TRY(quotas_.admit(*inode, offset, bytes.size(), given_up_or(cancelled)));
  DEDUPFS_ASSIGN(DirtyBudget::Share share, contents_.acquire_budget(bytes.size(), given_up_or(cancelled)));
  const Transactions::Change change(transactions_);
  const std::shared_ptr<FileContent> content = contents_.for_change(inode);
  DEDUPFS_ASSIGN(const QuotaReservation room, quotas_.reserve(inode, *content, offset, bytes.size()));
  const Result<void> written = content->write(offset, bytes, std::move(share));
  if (!written) return damage_log_.note(*inode, written.error());
  FileContents::note_modification(*inode, caller);
  return {};
}

Result<void> Files::allocate(InodeNumber number, std::uint64_t offset, std::uint64_t length, AllocateMode mode,
                             const Caller& caller, const std::function<bool()>& cancelled) {
  DEDUPFS_TRY(transactions_.check_writable(number));
  if (length == 0) return Error{ErrorCode::kInvalidArgument, "nothing to allocate"};
  DEDUPFS_TRY(FileContents::check_range(offset, length));
  DEDUPFS_ASSIGN(const InodePtr inode, table_.get_file(number));
  const std::uint64_t end = offset + length;
  const bool zeroes = mode != AllocateMode::kExtend && mode != AllocateMode::kKeepSize;
  if (!zeroes) {
    // Reserved space takes no room here before it is written. But callers expect an error if there is no room for it.
    const std::uint64_t there = contents_.for_reading(*inode)->data_bytes();
    const std::uint64_t missing = std::min(length, end - std::min(end, there));
    DEDUPFS_TRY(space_.admit_data(missing));
    if (missing != 0) DEDUPFS_TRY(quotas_.admit(*inode, offset, length, given_up_or(cancelled)));
    DEDUPFS_TRY(quotas_.check_room(*inode, missing));
  }
  DEDUPFS_ASSIGN(const DirtyBudget::Share share,
                 contents_.acquire_budget(DirtyMap::kExtentNodeBytes, given_up_or(cancelled)));
  const Transactions::Change change(transactions_);
  const std::shared_ptr<FileContent> content = contents_.for_change(inode);
  const bool extends = mode == AllocateMode::kExtend || mode == AllocateMode::kZeroRange;
  const std::uint64_t size = content->size();
  Result<void> done;
  if (zeroes && offset < size) done = content->punch(offset, std::min(length, size - offset));
  if (done && extends && end > size) done = content->truncate(end);
  if (!done) return damage_log_.note(*inode, done.error());
  FileContents::note_modification(*inode, caller);
  return {};
}

Result<std::uint64_t> Files::seek_data(InodeNumber number, std::uint64_t offset) {
  DEDUPFS_ASSIGN(const InodePtr inode, table_.get_file(number));
  const QuiesceGate::Pass pass(transactions_.gate());  // in-flight data are stored first
  return contents_.for_reading(*inode)->find_data(offset);
}

Result<std::uint64_t> Files::seek_hole(InodeNumber number, std::uint64_t offset) {
  DEDUPFS_ASSIGN(const InodePtr inode, table_.get_file(number));
  const QuiesceGate::Pass pass(transactions_.gate());  // in-flight data are stored first
  return contents_.for_reading(*inode)->find_hole(offset);
}

Result<std::uint64_t> Files::copy_range(InodeNumber from_number, std::uint64_t from_offset, InodeNumber to_number,
                                        std::uint64_t to_offset, std::uint64_t length, const Caller& caller,
                                        const std::function<bool()>& cancelled) {
  DEDUPFS_TRY(transactions_.check_writable(to_number));
  DEDUPFS_ASSIGN(const InodePtr from, table_.get_file(from_number));
  DEDUPFS_ASSIGN(const InodePtr to, table_.get_file(to_number));
  DEDUPFS_TRY(space_.admit_metadata());
  const std::uint64_t there = contents_.for_reading(*from)->size();
  DEDUPFS_TRY(quotas_.admit(*to, to_offset, std::min({length, there - std::min(there, from_offset), kMaxCopiedAtOnce}),
                            given_up_or(cancelled)));
  const Transactions::Change change(transactions_);
  DEDUPFS_TRY(metadata_.check_tree(tree_of(from_number)));  // a deleted snapshot's content may go with the next group
  const std::shared_ptr<FileContent> source = contents_.for_reading(*from);
  const std::uint64_t size = source->size();
  if (from_offset >= size || length == 0) return 0;
  length = std::min({length, size - from_offset, kMaxCopiedAtOnce});
  DEDUPFS_TRY(FileContents::check_range(to_offset, length));
  if (from == to && from_offset < to_offset + length && to_offset < from_offset + length)
    return Error{ErrorCode::kInvalidArgument, "the ranges to copy overlap"};
  const std::shared_ptr<FileContent> target = contents_.for_change(to);
  DEDUPFS_ASSIGN(const QuotaReservation room,
                 quotas_.reserve_copy(to, *target, to_offset, length, *source, from_offset));
  const Result<void> cloned = target->clone_range(*source, from_offset, to_offset, length);
  if (!cloned) return damage_log_.note(*to, cloned.error());
  FileContents::note_modification(*to, caller);
  return length;
}

Result<void> Files::flush(InodeNumber number) {
  DEDUPFS_ASSIGN(const InodePtr inode, table_.get(number));
  {
    const MutexLock lock(inode->mutex);
    if (std::optional<Error> error = std::exchange(inode->write_error, std::nullopt)) return std::move(*error);
  }
  return writability_.check_not_aborted();  // the changes that a failed commit lost may be of this file
}

Result<void> Files::sync(InodeNumber number) {
  DEDUPFS_TRY(transactions_.sync());
  return flush(number);
}

}  // namespace dedupfs
