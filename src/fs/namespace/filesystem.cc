#include "fs/namespace/filesystem.h"

#include <spdlog/spdlog.h>

#include <algorithm>
#include <ctime>
#include <utility>

#include "base/crash_point.h"
#include "base/shortcuts.h"
#include "fs/format/mode.h"
#include "fs/namespace/filesystem_parts.h"
#include "fs/namespace/tree_space.h"

namespace dedupfs {
namespace {

Result<std::unique_ptr<FilesystemParts>> start_parts(std::unique_ptr<Volume> volume, const FilesystemOptions& options) {
  DEDUPFS_ASSIGN(auto numbers, InodeNumbers::load(volume->metadata()));
  DEDUPFS_ASSIGN(const Shortcuts shortcuts, Shortcuts::of_environment());
  auto parts = std::make_unique<FilesystemParts>(std::move(volume), std::move(numbers), options, shortcuts);
  DEDUPFS_TRY(parts->start());
  return parts;
}

}  // namespace

Timestamp Timestamp::now() {
  timespec time{};
  ::clock_gettime(CLOCK_REALTIME, &time);
  return {time.tv_sec, static_cast<std::uint32_t>(time.tv_nsec)};
}

Result<std::unique_ptr<Filesystem>> Filesystem::open(std::unique_ptr<Volume> volume, const FilesystemOptions& options) {
  const std::string path = volume->path().string();
  auto parts = start_parts(std::move(volume), options);
  if (parts) return std::unique_ptr<Filesystem>(new Filesystem(std::move(*parts)));
  if (parts.error().code() != ErrorCode::kCorruption) return parts.error();
  return Error{ErrorCode::kCorruption,
               parts.error().message() + "; run fsck.dedupfs -y " + path + " to repair the volume"};
}

Filesystem::Filesystem(std::unique_ptr<FilesystemParts> parts) : parts_(std::move(parts)) {}

Filesystem::~Filesystem() {
  if (const Result<void> closed = close(); !closed)
    spdlog::error("closing {}: {}", parts_->volume->path().string(), closed.error().message());
}

Result<void> Filesystem::close(const ClosingGoesOn& goes_on) {
  parts_->stop();
  if (parts_->closed.exchange(true) || parts_->volume->read_only()) return {};
  Result<void> closed = close_writable(goes_on);
  if (!closed) parts_->volume->note_lost_changes();
  return closed;
}

Result<void> Filesystem::close_writable(const ClosingGoesOn& goes_on) {
  parts_->holds.note_time();
  if (parts_->history) parts_->history->take_last();
  DEDUPFS_TRY(parts_->transactions.finish());
  crash_point("unmount.committed");
  if (const auto finished = parts_->background.finish_checkpoint(goes_on); !finished) {
    parts_->missing_checkpoint = finished.error();
    spdlog::error(
        "the checkpoint of the last state was not written: {}. The volume is whole, but if its index is lost before "
        "the next "
        "checkpoint, fsck.dedupfs can only bring back the names of an older one. The next unmount takes one",
        finished.error().message());
  }
  return parts_->transactions.check_stored();  // data that could not be stored are lost now
}

const std::optional<Error>& Filesystem::missing_checkpoint() const {
  return parts_->missing_checkpoint;
}

// ---------------------------------------------------------------- names

Result<Attributes> Filesystem::lookup(InodeNumber parent, std::string_view name) {
  return parts_->name_space.lookup(parent, name);
}

void Filesystem::forget(InodeNumber inode, std::uint64_t count) {
  parts_->references.drop(inode, count);
}

Result<std::vector<InodeNumber>> Filesystem::adopt_holders(Filesystem& earlier) {
  if (volume().superblock().uuid != earlier.volume().superblock().uuid)
    return Error{ErrorCode::kStale, volume().path().string() + " is another volume than before"};
  return parts_->table.adopt_holders(earlier.parts_->table);
}

Result<Attributes> Filesystem::create(InodeNumber parent, std::string_view name, std::uint32_t mode,
                                      const Caller& caller) {
  return make_node(parent, name, S_IFREG | (mode & kPermissionBits), 0, caller);
}

Result<Attributes> Filesystem::make_node(InodeNumber parent, std::string_view name, std::uint32_t mode,
                                         std::uint64_t device, const Caller& caller) {
  return parts_->name_space.make_node(parent, name, mode, device, caller);
}

Result<Attributes> Filesystem::make_directory(InodeNumber parent, std::string_view name, std::uint32_t mode,
                                              const Caller& caller) {
  return parts_->name_space.make_directory(parent, name, mode, caller);
}

Result<Attributes> Filesystem::make_symlink(InodeNumber parent, std::string_view name, std::string_view target,
                                            const Caller& caller) {
  return parts_->name_space.make_symlink(parent, name, target, caller);
}

Result<Attributes> Filesystem::make_unnamed(InodeNumber directory, std::uint32_t mode, const Caller& caller) {
  return parts_->name_space.make_unnamed(directory, mode, caller);
}

Result<Attributes> Filesystem::make_link(InodeNumber inode, InodeNumber parent, std::string_view name) {
  return parts_->name_space.make_link(inode, parent, name);
}

Result<void> Filesystem::unlink(InodeNumber parent, std::string_view name) {
  return parts_->name_space.unlink(parent, name);
}

Result<void> Filesystem::remove_directory(InodeNumber parent, std::string_view name) {
  return parts_->name_space.remove_directory(parent, name);
}

Result<void> Filesystem::rename(InodeNumber old_parent, std::string_view old_name, InodeNumber new_parent,
                                std::string_view new_name, RenameMode mode, const Caller& caller) {
  return parts_->renames.rename(old_parent, old_name, new_parent, new_name, mode, caller);
}

Result<std::string> Filesystem::read_symlink(InodeNumber inode) {
  return parts_->name_space.read_symlink(inode);
}

Result<void> Filesystem::read_directory(InodeNumber directory, std::uint64_t cookie, bool counted,
                                        const std::function<bool(const DirectoryEntry&)>& visit,
                                        DirectoryStream* stream) {
  return parts_->directories.read(directory, cookie, counted, visit, stream);
}

// ---------------------------------------------------------------- attributes

Result<Attributes> Filesystem::attributes(InodeNumber inode) {
  return parts_->inode_attributes.get(inode);
}

Result<Attributes> Filesystem::set_attributes(InodeNumber inode, const AttributeChanges& changes,
                                              const Caller& caller) {
  return parts_->inode_attributes.change(inode, changes, caller);
}

Result<void> Filesystem::set_xattr(InodeNumber inode, std::string_view name, std::string_view value, XattrMode mode,
                                   const Caller& caller) {
  return parts_->xattrs.set(inode, name, value, mode, caller);
}

Result<std::string> Filesystem::get_xattr(InodeNumber inode, std::string_view name) {
  return parts_->xattrs.get(inode, name);
}

Result<std::vector<std::string>> Filesystem::list_xattrs(InodeNumber inode) {
  return parts_->xattrs.list(inode);
}

Result<void> Filesystem::remove_xattr(InodeNumber inode, std::string_view name) {
  return parts_->xattrs.remove(inode, name);
}

// ---------------------------------------------------------------- files

Result<void> Filesystem::check_writable(InodeNumber inode) const {
  return parts_->writability.check(inode);
}

Result<void> Filesystem::open_file(InodeNumber inode, bool truncate, const Caller& caller) {
  return parts_->files.open(inode, truncate, caller);
}

bool Filesystem::note_opened_for_reading(InodeNumber inode) {
  return parts_->files.note_opened_for_reading(inode);
}

void Filesystem::release_file(InodeNumber inode, bool was_writer) {
  parts_->files.release(inode, was_writer);
}

Result<std::vector<PinnedBytes>> Filesystem::read(InodeNumber inode, std::uint64_t offset, std::size_t length,
                                                  AccessTime atime) {
  return parts_->files.read(inode, offset, length, atime);
}

void Filesystem::prefetch(InodeNumber inode, std::uint64_t offset, std::uint64_t length) {
  parts_->files.prefetch(inode, offset, length);
}

Result<void> Filesystem::write(InodeNumber inode, std::uint64_t offset, ByteSpan bytes, const Caller& caller,
                               const Cancelled& cancelled) {
  return parts_->files.write(inode, offset, bytes, caller, cancelled);
}

Result<void> Filesystem::allocate(InodeNumber inode, std::uint64_t offset, std::uint64_t length, AllocateMode mode,
                                  const Caller& caller, const Cancelled& cancelled) {
  return parts_->files.allocate(inode, offset, length, mode, caller, cancelled);
}

Result<std::uint64_t> Filesystem::seek_data(InodeNumber inode, std::uint64_t offset) {
  return parts_->files.seek_data(inode, offset);
}

Result<std::uint64_t> Filesystem::seek_hole(InodeNumber inode, std::uint64_t offset) {
  return parts_->files.seek_hole(inode, offset);
}

Result<std::uint64_t> Filesystem::copy_range(InodeNumber from, std::uint64_t from_offset, InodeNumber to,
                                             std::uint64_t to_offset, std::uint64_t length, const Caller& caller,
                                             const Cancelled& cancelled) {
  return parts_->files.copy_range(from, from_offset, to, to_offset, length, caller, cancelled);
}

Result<void> Filesystem::flush_file(InodeNumber inode) {
  return parts_->files.flush(inode);
}

// ---------------------------------------------------------------- snapshots and clones

Result<void> Filesystem::check_snapshot_name(std::string_view name) {
  return Snapshots::check_name(name);
}

Result<void> Filesystem::create_snapshot(std::string_view name, std::optional<std::int64_t> created_unix_seconds,
                                         const JudgeSnapshot& judge) {
  return parts_->snapshots.create(name, created_unix_seconds, judge);
}

Result<void> Filesystem::delete_snapshot(std::string_view name) {
  return parts_->snapshots.remove(name);
}

std::vector<SnapshotRecord> Filesystem::snapshots() const {
  return parts_->snapshots.all();
}

Result<void> Filesystem::hold_snapshot(std::string_view name, std::optional<std::int64_t> until_unix_seconds) {
  return parts_->snapshots.hold(name, until_unix_seconds);
}

Result<void> Filesystem::release_snapshot(std::string_view name) {
  return parts_->snapshots.release(name);
}

std::map<TreeNumber, HoldStatus> Filesystem::held_snapshots() const {
  return parts_->holds.all();
}

Result<std::vector<ChangedName>> Filesystem::roll_back(std::string_view name) {
  return parts_->rollback.to(name);
}

Result<CloneTotals> Filesystem::clone_tree(InodeNumber from, InodeNumber parent, std::string_view name, JobMeter* meter,
                                           const std::function<void()>& look) {
  return parts_->clones.clone_tree(from, parent, name, meter, look);
}

// ---------------------------------------------------------------- quotas

Result<void> Filesystem::set_quota(InodeNumber directory, const QuotaLimits& limits, const GoOn& go_on,
                                   JobMeter* meter) {
  return parts_->quotas.set(directory, limits, go_on, meter);
}

Result<void> Filesystem::remove_quota(InodeNumber directory) {
  return parts_->quotas.remove(directory);
}

std::vector<QuotaStatus> Filesystem::quotas() const {
  return parts_->quotas.all();
}

Result<std::map<InodeNumber, std::string>> Filesystem::quota_paths() const {
  return parts_->quotas.paths();
}

Result<void> Filesystem::measure_quotas(const GoOn& go_on) {
  return parts_->quotas.measure_all(go_on);
}

// ---------------------------------------------------------------- the whole

void Filesystem::give_up_waiting() {
  parts_->files.give_up_waiting();
}

Result<void> Filesystem::sync() {
  DEDUPFS_TRY(parts_->transactions.sync());
  return parts_->transactions.check_stored();
}

Result<void> Filesystem::sync_file(InodeNumber inode) {
  return parts_->files.sync(inode);
}

Result<SpaceReport> Filesystem::space() {
  DEDUPFS_ASSIGN(const SpaceGuard::Room room, parts_->space.room());
  DEDUPFS_ASSIGN(const std::uint64_t total_bytes, parts_->volume_size.bytes());
  // More than the total is available if others have freed room on the disk since it was measured.
  return SpaceReport{std::max(total_bytes, room.available_bytes), room.available_bytes, room.total_bytes,
                     parts_->numbers->in_use()};
}

Result<TreeSpace> Filesystem::space_of(InodeNumber inode) {
  DEDUPFS_ASSIGN(const SpaceReport volume, space());
  const std::optional<QuotaStatus> quota = parts_->quotas.of_inode(inode);
  return quota ? space_in_quota(volume, *quota) : space_without_quota(volume);
}

Volume& Filesystem::volume() {
  return *parts_->volume;
}

Scrubber& Filesystem::scrubber() {
  return parts_->background.scrubber();
}

std::optional<DamagedFileNames> Filesystem::damaged_files() const {
  return parts_->background.damaged_files();
}

Result<void> Filesystem::sync_what_fits() {
  if (volume().read_only()) return {};
  auto synced = sync();
  if (!synced && synced.error().code() == ErrorCode::kNoSpace) return {};
  return synced;
}

void Filesystem::limit_writes(DataLimit::Keeper keeper) {
  parts_->space.limit_writes(std::move(keeper));
}

Result<void> Filesystem::check_no_writer_waits() {
  if (parts_->space.waiting_writers() == 0) return {};
  return Error{ErrorCode::kBusy,
               "files are being written, and the writers wait for room; try again when they have ended"};
}

void Filesystem::end_changes(const Error& reason) {
  parts_->writability.end_changes(reason);
}

std::optional<Error> Filesystem::abort_reason() const {
  return parts_->writability.abort_reason();
}

Reclaimer& Filesystem::reclaimer() {
  return parts_->background.reclaimer();
}

RunningJobs& Filesystem::running_jobs() {
  return parts_->running_jobs;
}

Activity& Filesystem::activity() {
  return parts_->activity;
}

std::uint64_t Filesystem::dirty_bytes() const {
  return parts_->transactions.pending_bytes();
}

MeterReadings Filesystem::readings() const {
  MeterReadings readings = parts_->volume->chunks().readings();
  readings.waits.push_back({"unstored_data", parts_->budget.waits()});
  readings.caches.push_back({"inodes", parts_->table.cache_reading()});
  readings.queues.push_back({"unstored_bytes", parts_->budget.used_bytes()});
  return readings;
}

}  // namespace dedupfs
