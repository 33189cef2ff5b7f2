// The filesystem: inodes, names, content, consistency; everything except FUSE. It runs without a mount.
//
// The operations are those of POSIX. The kernel does permission checks and locks, as for each FUSE filesystem with
// default_permissions, so the Filesystem does not.
//
// Threads:   every function from any thread.
// Ownership: owns the volume. Callers must give handles (open_file()) back by release_file(), and references (lookup() and all
//            functions that return Attributes of a name) by forget(). An unlinked inode is deleted when the last one is gone.
// Failure:   errors as in POSIX, as ErrorCode; errno_map.h maps them to errno.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/activity.h"
#include "base/bytes.h"
#include "base/go_on.h"
#include "base/job_meter.h"
#include "base/meter.h"
#include "base/result.h"
#include "fs/background/damaged_files.h"
#include "fs/background/reclaimer.h"
#include "fs/background/running_jobs.h"
#include "fs/format/types.h"
#include "fs/namespace/filesystem_types.h"
#include "fs/quotas/quotas.h"
#include "fs/snapshots/snapshot_holds.h"
#include "fs/transactions/data_limit.h"
#include "store/check/scrubber.h"
#include "store/volume/volume.h"

namespace dedupfs {

struct FilesystemParts;  // filesystem_parts.h

// Holds the objects that do the work, and passes each call on to them (filesystem_parts.h).
//
// Many functions: one for each operation of POSIX. The kernel calls them one by one.
class Filesystem {
 public:
  using Cancelled = std::function<bool()>;  // true: the caller does not wait any longer

  static Result<std::unique_ptr<Filesystem>> open(std::unique_ptr<Volume> volume, const FilesystemOptions& options);
  ~Filesystem();

  // Called now and then with the number of records that the last checkpoint has so far. False: there is no time for the rest.
  using ClosingGoesOn = std::function<bool(std::uint64_t records)>;
  // Commits, takes the last checkpoint and stops the background threads; nothing may run beside it. An Error: the last changes
  // are lost. The destructor does the same and logs errors.
  Result<void> close(const ClosingGoesOn& goes_on = [](std::uint64_t) { return true; });
  // After close(): the reason why the last state has no checkpoint. The volume loses nothing by that.
  const std::optional<Error>& missing_checkpoint() const;

  // --- names. Returned Attributes count one reference to the inode, until forget().
  Result<Attributes> lookup(InodeNumber parent, std::string_view name);  // also "." and ".." (NFS)
  void forget(InodeNumber inode, std::uint64_t count);
  // This filesystem takes the place of another one, of which it has a later state: references and openings of inodes there count here. Returns
  // these inodes. Those that are gone are kStale. Both only read, and nobody uses either of them meanwhile. kStale: it is another volume.
  Result<std::vector<InodeNumber>> adopt_holders(Filesystem& earlier);
  Result<Attributes> create(InodeNumber parent, std::string_view name, std::uint32_t mode, const Caller& caller);
  Result<Attributes> make_node(InodeNumber parent, std::string_view name, std::uint32_t mode, std::uint64_t device,
                               const Caller& caller);  // files, fifos, sockets, devices
  Result<Attributes> make_directory(InodeNumber parent, std::string_view name, std::uint32_t mode,
                                    const Caller& caller);
  Result<Attributes> make_symlink(InodeNumber parent, std::string_view name, std::string_view target,
                                  const Caller& caller);
  // A regular file without a name, which lasts as long as it has a holder, or until make_link() gives it a name. Its owner, its access lists and its
  // quota are those of a new file in the directory.
  Result<Attributes> make_unnamed(InodeNumber directory, std::uint32_t mode, const Caller& caller);
  Result<Attributes> make_link(InodeNumber inode, InodeNumber parent, std::string_view name);
  Result<void> unlink(InodeNumber parent, std::string_view name);
  Result<void> remove_directory(InodeNumber parent, std::string_view name);
  using RenameMode = dedupfs::RenameMode;
  Result<void> rename(InodeNumber old_parent, std::string_view old_name, InodeNumber new_parent,
                      std::string_view new_name, RenameMode mode, const Caller& caller = {});
  Result<std::string> read_symlink(InodeNumber inode);

  // Visits the entries behind `cookie` (0: from the start) in a stable order, "." and ".." first, until visit() returns false.
  // With `counted`, attributes are complete, and each entry (except "." and "..") for which visit() returns true counts a
  // reference. A rename within the directory keeps the cookie. With `stream`, the entries end at the end of the stream.
  Result<void> read_directory(InodeNumber directory, std::uint64_t cookie, bool counted,
                              const std::function<bool(const DirectoryEntry&)>& visit,
                              DirectoryStream* stream = nullptr);

  // --- attributes
  Result<Attributes> attributes(InodeNumber inode);
  Result<Attributes> set_attributes(InodeNumber inode, const AttributeChanges& changes, const Caller& caller);
  using XattrMode = dedupfs::XattrMode;
  Result<void> set_xattr(InodeNumber inode, std::string_view name, std::string_view value, XattrMode mode,
                         const Caller& caller = {});
  Result<std::string> get_xattr(InodeNumber inode, std::string_view name);
  Result<std::vector<std::string>> list_xattrs(InodeNumber inode);
  Result<void> remove_xattr(InodeNumber inode, std::string_view name);

  // --- files
  // kReadOnly if this inode cannot be changed. Callers that open a file for writing must check this themselves.
  Result<void> check_writable(InodeNumber inode) const;
  Result<void> open_file(InodeNumber inode, bool truncate, const Caller& caller);  // counts an opening
  void release_file(InodeNumber inode, bool was_writer);                           // starts to store written data
  // What a cache above has of the file is read without a call of read(). So an opening for it counts as a read. True: the access time changed.
  bool note_opened_for_reading(InodeNumber inode);
  using AccessTime = dedupfs::AccessTime;
  Result<std::vector<PinnedBytes>> read(InodeNumber inode, std::uint64_t offset, std::size_t length,
                                        AccessTime atime = AccessTime::kByPolicy);
  // Starts to load the data that a sequential reader will want.
  void prefetch(InodeNumber inode, std::uint64_t offset, std::uint64_t length);
  Result<void> write(InodeNumber inode, std::uint64_t offset, ByteSpan bytes, const Caller& caller,
                     const Cancelled& cancelled);
  using AllocateMode = dedupfs::AllocateMode;
  Result<void> allocate(InodeNumber inode, std::uint64_t offset, std::uint64_t length, AllocateMode mode,
                        const Caller& caller = {}, const Cancelled& cancelled = nullptr);
  Result<std::uint64_t> seek_data(InodeNumber inode, std::uint64_t offset);
  Result<std::uint64_t> seek_hole(InodeNumber inode, std::uint64_t offset);
  Result<std::uint64_t> copy_range(InodeNumber from, std::uint64_t from_offset, InodeNumber to, std::uint64_t to_offset,
                                   std::uint64_t length, const Caller& caller = {},
                                   const Cancelled& cancelled = nullptr);
  Result<void> flush_file(InodeNumber inode);  // close(2): reports errors of earlier writes

  // --- snapshots: entries of the directory kSnapshotsInode, which are read like all others

  // kInvalidArgument for a name that cannot be one.
  static Result<void> check_snapshot_name(std::string_view name);
  // The snapshot has everything that happened before the call. It is durable when this returns. A date is that of what it is a copy of.
  // What the judge refuses is gone when this returns, with its error; also after a power cut meanwhile.
  Result<void> create_snapshot(std::string_view name, std::optional<std::int64_t> created_unix_seconds = {},
                               const JudgeSnapshot& judge = nullptr);
  // The deletion is durable when this returns. The space comes back in the background. kNotPermitted if it is held.
  Result<void> delete_snapshot(std::string_view name);
  std::vector<SnapshotRecord> snapshots() const;  // the first made first
  // Keeps a snapshot from being deleted until it is released, or until a date, before which nobody can release it: as
  // SnapshotHolds. They are durable when these return.
  Result<void> hold_snapshot(std::string_view name, std::optional<std::int64_t> until_unix_seconds);
  Result<void> release_snapshot(std::string_view name);
  std::map<TreeNumber, HoldStatus> held_snapshots() const;
  // Gives the live tree the state of the snapshot, in one durable step. kBusy if a file is open; the message names it. Nothing
  // else may run meanwhile. Returns the names and inodes that a cache of names, attributes and content must forget, in addition
  // to the directory of the snapshots.
  // Memory: some hundred bytes for each record that changes.
  Result<std::vector<ChangedName>> roll_back(std::string_view name);

  // Copies `from` and the tree below it, by reference to its chunks, to a new entry of `parent`: with owners, modes, times,
  // attributes and the hard links within the tree. An entry that changes meanwhile is copied as it was before or after the
  // change. After a failure or a crash, the entries copied so far stay. kInvalidArgument if a directory would be copied into
  // itself. `meter` gets the entries that were copied, and `look` is called now and then.
  Result<CloneTotals> clone_tree(InodeNumber from, InodeNumber parent, std::string_view name, JobMeter* meter = nullptr,
                                 const std::function<void()>& look = nullptr);

  // --- quotas of trees: as Quotas

  Result<void> set_quota(InodeNumber directory, const QuotaLimits& limits, const GoOn& go_on = nullptr,
                         JobMeter* meter = nullptr);
  Result<void> remove_quota(InodeNumber directory);
  std::vector<QuotaStatus> quotas() const;
  Result<std::map<InodeNumber, std::string>> quota_paths() const;  // of their directories
  Result<void> measure_quotas(const GoOn& go_on);  // stored bytes of all trees that have a limit of them

  // --- the whole
  // Nobody gets an answer any more: whoever waits for memory, for room or for a measurement in write(), allocate() or copy_range() gets kInterrupted.
  void give_up_waiting();
  // Everything that happened before the call is durable when it returns (fsync, sync, umount).
  // If a file could not be stored, returns its error; the others are durable all the same.
  Result<void> sync();
  // The same, but data that found no room on the disk is no error: it waits in memory on. Of a read-only volume it does nothing.
  Result<void> sync_what_fits();
  // As sync(), but it reports a failed attempt to store a file only for this file, as fsync(2) must.
  Result<void> sync_file(InodeNumber inode);
  Result<SpaceReport> space();
  // The space that statfs(2) shows for an inode: of its tree if that has a quota, otherwise of the volume.
  Result<TreeSpace> space_of(InodeNumber inode);
  // A limit on what is written, beside that of the disk. Call it before the first request.
  void limit_writes(DataLimit::Keeper keeper);
  // kBusy while a writer waits for that limit. For whoever is about to wait until all requests have ended: this may take long.
  Result<void> check_no_writer_waits();
  // From now on every change fails with kReadOnly and this reason, until the next mount. What was changed is still committed.
  void end_changes(const Error& reason);
  // The reason why the volume is read-only since a commit failed. Nothing: none failed.
  std::optional<Error> abort_reason() const;
  Volume& volume();
  Scrubber& scrubber();
  // Those that need chunks that the last scrub of this mount found damaged. Nothing: none has ended, or they could not be named.
  std::optional<DamagedFileNames> damaged_files() const;
  Reclaimer& reclaimer();       // only if the volume is writable
  RunningJobs& running_jobs();  // noted by whoever runs them
  Activity& activity();         // noted by whoever passes on the requests of users
  // Data in memory that no commit has made durable yet (for statistics).
  std::uint64_t dirty_bytes() const;
  MeterReadings readings() const;

 private:
  explicit Filesystem(std::unique_ptr<FilesystemParts> parts);
  Result<void> close_writable(const ClosingGoesOn& goes_on);

  std::unique_ptr<FilesystemParts> parts_;
};

}  // namespace dedupfs
