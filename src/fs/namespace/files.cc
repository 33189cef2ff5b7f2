// Regular files: opening, reading, writing and everything else that concerns content.
#include <fmt/format.h>
#include <spdlog/spdlog.h>

#include "fs/content/dirty_map.h"
#include "fs/namespace/filesystem.h"
#include "fs/namespace/filesystem_state.h"

namespace dedupfs {
namespace {

// One call clones no more, so that it can be interrupted and a commit does not wait for it long.
constexpr std::uint64_t kMaxCopiedAtOnce = 256 << 20;

Result<void> check_range(std::uint64_t offset, std::uint64_t length) {
  if (offset > kMaxFileBytes || length > kMaxFileBytes - offset)
    return Error{ErrorCode::kTooLarge, "beyond the largest possible file"};
  return {};
}

}  // namespace

Result<InodePtr> FilesystemState::get_file(InodeNumber number) {
  DEDUPFS_ASSIGN(InodePtr inode, table.get(number));
  const std::lock_guard lock(inode->mutex);
  const std::uint32_t mode = inode->record.attributes.mode;
  if (is_directory(mode)) return Error{ErrorCode::kIsDirectory, "inode " + std::to_string(number) + " is a directory"};
  if (!is_regular(mode))
    return Error{ErrorCode::kInvalidArgument, "inode " + std::to_string(number) + " is not a file"};
  return inode;
}

std::shared_ptr<FileContent> FilesystemState::content_for_reading(Inode& inode) {
  const std::lock_guard lock(inode.mutex);
  if (inode.content == nullptr) {
    const Attributes& attributes = inode.record.attributes;
    inode.content =
        std::make_shared<FileContent>(*volume, budget, inode.number, attributes.size, attributes.data_bytes);
  }
  return inode.content;
}

std::shared_ptr<FileContent> FilesystemState::content_for_change(const InodePtr& inode) {
  {
    const std::lock_guard lock(inode->mutex);
    table.mark_dirty(inode);
  }
  return content_for_reading(*inode);
}

void FilesystemState::note_modification(Inode& inode, const Caller& caller) {
  const std::lock_guard lock(inode.mutex);
  Attributes& attributes = inode.record.attributes;
  attributes.mtime = attributes.ctime = Timestamp::now();
  drop_set_ids(attributes, caller);
}

// As setattr_should_drop_suidgid() of Linux. The kernel does the same before it writes through its cache, but not to a
// set-group-id bit without execution by the group.
void FilesystemState::drop_set_ids(Attributes& attributes, const Caller& caller) {
  if ((attributes.mode & (S_ISUID | S_ISGID)) == 0 || caller.may_keep_set_ids()) return;
  attributes.mode &= ~std::uint32_t{S_ISUID};
  if ((attributes.mode & S_IXGRP) != 0 || !caller.is_in_group(attributes.gid))
    attributes.mode &= ~std::uint32_t{S_ISGID};
}

Result<void> Filesystem::check_writable(InodeNumber number) const {
  return state_->check_writable(number);
}

Result<void> Filesystem::open_file(InodeNumber number, bool truncate, const Caller& caller) {
  FilesystemState& state = *state_;
  if (truncate) DEDUPFS_TRY(state.check_writable(number));
  DEDUPFS_ASSIGN(const InodePtr inode, state.get_file(number));
  if (truncate) {
    const FilesystemState::Change change(state);
    DEDUPFS_TRY(state.resize(inode, 0, caller));
  }
  state.table.open(number);
  return {};
}

void Filesystem::release_file(InodeNumber number, bool was_writer) {
  FilesystemState& state = *state_;
  if (state.table.close(number)) {
    state.doom(number);
    return;
  }
  const InodePtr inode = state.table.find_in_memory(number);
  if (inode == nullptr) return;
  if (was_writer && inode->dirty) state.flush_in_background(inode);
  const std::lock_guard lock(inode->mutex);
  if (!inode->dirty && !state.table.is_open(number)) {
    inode->record.attributes = FilesystemState::attributes_of(*inode);
    inode->content.reset();
  }
}

Result<std::vector<PinnedBytes>> Filesystem::read(InodeNumber number, std::uint64_t offset, std::size_t length,
                                                  AccessTime atime) {
  DEDUPFS_ASSIGN(const InodePtr inode, state_->get_file(number));
  Result<std::vector<PinnedBytes>> bytes = state_->content_for_reading(*inode)->read(offset, length);
  DEDUPFS_TRY(state_->metadata.check_tree(tree_of(number)));
  if (!bytes) return state_->log_damage(*inode, bytes.error());
  if (length != 0 && atime == AccessTime::kByPolicy) state_->note_access(inode);
  return bytes;
}

void Filesystem::prefetch(InodeNumber number, std::uint64_t offset, std::uint64_t length) {
  if (const Result<InodePtr> inode = state_->get_file(number))
    state_->content_for_reading(**inode)->prefetch(offset, length);
}

Result<void> Filesystem::write(InodeNumber number, std::uint64_t offset, ByteSpan bytes, const Caller& caller,
                               const Cancelled& cancelled) {
  FilesystemState& state = *state_;
  DEDUPFS_TRY(state.check_writable(number));
  DEDUPFS_TRY(check_range(offset, bytes.size()));
  DEDUPFS_ASSIGN(const InodePtr inode, state.get_file(number));
  if (bytes.empty()) return {};
  DEDUPFS_TRY(state.space.admit_data(bytes.size()));
  DEDUPFS_ASSIGN(DirtyBudget::Share share, state.acquire_budget(bytes.size(), cancelled));
  const FilesystemState::Change change(state);
  const Result<void> written = state.content_for_change(inode)->write(offset, bytes, std::move(share));
  if (!written) return state.log_damage(*inode, written.error());
  state.note_modification(*inode, caller);
  return {};
}

Result<DirtyBudget::Share> FilesystemState::acquire_budget(std::uint64_t bytes,
                                                           const std::function<bool()>& cancelled) {
  const Result<void> acquired =
      budget.acquire(bytes, [&] { return aborted || flush_fails || (cancelled != nullptr && cancelled()); });
  if (acquired) return DirtyBudget::Share::acquired(budget, bytes);
  DEDUPFS_TRY(check_writable());
  const std::lock_guard lock(errors_mutex);
  if (flush_error) return *flush_error;
  return acquired.error();
}

Result<void> FilesystemState::resize(const InodePtr& inode, std::uint64_t size, const Caller& caller) {
  DEDUPFS_TRY(check_range(size, 0));
  DEDUPFS_TRY(get_file(inode->number));
  if (const Result<void> resized = content_for_change(inode)->truncate(size); !resized)
    return log_damage(*inode, resized.error());
  note_modification(*inode, caller);
  return {};
}

Result<void> Filesystem::allocate(InodeNumber number, std::uint64_t offset, std::uint64_t length, AllocateMode mode,
                                  const Caller& caller) {
  FilesystemState& state = *state_;
  DEDUPFS_TRY(state.check_writable(number));
  if (length == 0) return Error{ErrorCode::kInvalidArgument, "nothing to allocate"};
  DEDUPFS_TRY(check_range(offset, length));
  DEDUPFS_ASSIGN(const InodePtr inode, state.get_file(number));
  const std::uint64_t end = offset + length;
  const bool zeroes = mode != AllocateMode::kExtend && mode != AllocateMode::kKeepSize;
  if (!zeroes) {
    // Space that is not written yet takes none here; but whoever asks for it wants to hear that there is none.
    const std::uint64_t there = state.content_for_reading(*inode)->data_bytes();
    DEDUPFS_TRY(state.space.admit_data(std::min(length, end - std::min(end, there))));
  }
  DEDUPFS_ASSIGN(const DirtyBudget::Share share, state.acquire_budget(DirtyMap::kExtentNodeBytes, nullptr));
  const FilesystemState::Change change(state);
  const std::shared_ptr<FileContent> content = state.content_for_change(inode);
  const bool extends = mode == AllocateMode::kExtend || mode == AllocateMode::kZeroRange;
  const std::uint64_t size = content->size();
  Result<void> done;
  if (zeroes && offset < size) done = content->punch(offset, std::min(length, size - offset));
  if (done && extends && end > size) done = content->truncate(end);
  if (!done) return state.log_damage(*inode, done.error());
  state.note_modification(*inode, caller);
  return {};
}

Result<std::uint64_t> Filesystem::seek_data(InodeNumber number, std::uint64_t offset) {
  DEDUPFS_ASSIGN(const InodePtr inode, state_->get_file(number));
  const QuiesceGate::Pass pass(state_->gate);  // it stores what is on its way first
  return state_->content_for_reading(*inode)->find_data(offset);
}

Result<std::uint64_t> Filesystem::seek_hole(InodeNumber number, std::uint64_t offset) {
  DEDUPFS_ASSIGN(const InodePtr inode, state_->get_file(number));
  const QuiesceGate::Pass pass(state_->gate);  // it stores what is on its way first
  return state_->content_for_reading(*inode)->find_hole(offset);
}

Result<std::uint64_t> Filesystem::copy_range(InodeNumber from_number, std::uint64_t from_offset, InodeNumber to_number,
                                             std::uint64_t to_offset, std::uint64_t length, const Caller& caller) {
  FilesystemState& state = *state_;
  DEDUPFS_TRY(state.check_writable(to_number));
  DEDUPFS_ASSIGN(const InodePtr from, state.get_file(from_number));
  DEDUPFS_ASSIGN(const InodePtr to, state.get_file(to_number));
  DEDUPFS_TRY(state.space.admit_metadata());
  const FilesystemState::Change change(state);
  DEDUPFS_TRY(
      state.metadata.check_tree(tree_of(from_number)));  // what a deleted snapshot had may go with the next group
  const std::shared_ptr<FileContent> source = state.content_for_reading(*from);
  const std::uint64_t size = source->size();
  if (from_offset >= size || length == 0) return 0;
  length = std::min({length, size - from_offset, kMaxCopiedAtOnce});
  DEDUPFS_TRY(check_range(to_offset, length));
  if (from == to && from_offset < to_offset + length && to_offset < from_offset + length)
    return Error{ErrorCode::kInvalidArgument, "the ranges to copy overlap"};
  const std::shared_ptr<FileContent> target = state.content_for_change(to);
  const Result<void> cloned = target->clone_range(*source, from_offset, to_offset, length);
  if (!cloned) return state.log_damage(*to, cloned.error());
  state.note_modification(*to, caller);
  return length;
}

Result<void> Filesystem::flush_file(InodeNumber number) {
  DEDUPFS_ASSIGN(const InodePtr inode, state_->table.get(number));
  {
    const std::lock_guard lock(inode->mutex);
    if (std::optional<Error> error = std::exchange(inode->write_error, std::nullopt)) return std::move(*error);
  }
  return state_->check_not_aborted();  // what a commit lost for good may have been of this file
}

// Damage is logged once for each message: readers come back.
Error FilesystemState::log_damage(Inode& inode, Error error) {
  if (error.code() != ErrorCode::kCorruption && error.code() != ErrorCode::kIo) return error;
  {
    const std::lock_guard lock(inode.mutex);
    if (inode.last_logged_damage == error.message()) return error;
    inode.last_logged_damage = error.message();
  }
  spdlog::error("inode {} ({}): {}", inode.number, path_for_log(inode), error.message());
  return error;
}

std::string FilesystemState::path_for_log(Inode& inode) {
  constexpr int kDeepest = 64;
  std::string path;
  InodeNumber parent = 0;
  {
    const std::lock_guard lock(inode.mutex);
    path = inode.last_name.empty() ? "name unknown" : inode.last_name;
    parent = inode.last_parent;
  }
  for (int depth = 0; depth < kDeepest && parent != 0 && inode_of(parent) != kRootInode; ++depth) {
    const Result<InodePtr> directory = get_directory(parent);
    if (!directory) break;
    const std::lock_guard lock((*directory)->mutex);
    const std::string& name = (*directory)->last_name;
    path = fmt::format("{}/{}", name.empty() ? fmt::format("[{}]", parent) : name, path);
    parent = (*directory)->record.attributes.parent;
  }
  if (inode_of(parent) != kRootInode) return path;
  const auto snapshot = volume->snapshots().find(tree_of(parent));
  return snapshot ? fmt::format("/{}/{}/{}", kSnapshotsName, snapshot->name, path) : "/" + path;
}

}  // namespace dedupfs
