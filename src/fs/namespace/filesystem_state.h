// What the parts of Filesystem share (filesystem.cc, namespace.cc, rename.cc, directories.cc, attributes.cc, xattrs.cc,
// files.cc, commits.cc, snapshots.cc, rollback.cc, clones.cc, reclaims.cc). Private to them.
//
// Order of locks; whoever holds one takes only those further down:
//   1. rename_mutex: whoever moves a directory to another parent, so that no other one moves meanwhile
//   2. the quiesce gate (Change), the commit's flush_mutex
//   3. name locks of directories
//   4. inodes' mutexes, by number (InodeLocks)
//   5. leaves: shards of the table, its dirty set, the metadata, a file's content, counters
// Waiting for a commit or for the dirty budget is done before 2. The entries of a directory change only with its name
// lock held exclusively AND its inode locked.
#pragma once

#include <atomic>
#include <deque>
#include <exception>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <shared_mutex>
#include <string>
#include <string_view>

#include "base/thread_pool.h"
#include "fs/background/checkpointer.h"
#include "fs/background/defragmenter.h"
#include "fs/background/reclaimer.h"
#include "fs/content/dirty_budget.h"
#include "fs/content/file_content.h"
#include "fs/format/mode.h"
#include "fs/format/records.h"
#include "fs/namespace/ancestry.h"
#include "fs/namespace/filesystem_types.h"
#include "fs/namespace/inode_numbers.h"
#include "fs/namespace/inode_table.h"
#include "fs/namespace/name_locks.h"
#include "fs/namespace/orphan_reaper.h"
#include "fs/namespace/space_guard.h"
#include "fs/namespace/volume_size.h"
#include "fs/transactions/commit_hook.h"
#include "fs/transactions/committer.h"
#include "fs/transactions/quiesce_gate.h"
#include "store/check/scrubber.h"
#include "store/metadata/snapshot_reaper.h"
#include "store/volume/volume.h"

namespace dedupfs {

struct FilesystemState {
  FilesystemState(std::unique_ptr<Volume> its_volume, const FilesystemOptions& its_options);
  ~FilesystemState();

  Result<void> start();
  Result<void> ensure_root();

  // The scope of an operation that changes something. Before it: check_writable() and the space guard.
  class Change {
   public:
    explicit Change(FilesystemState& state) : state_(state), pass_((state.throttle(), state.gate)) {}
    ~Change() {
      // What an exception ended halfway must not be committed.
      if (std::uncaught_exceptions() > exceptions_ && Metadata::changes_of_this_thread() != changes_)
        state_.abort({ErrorCode::kNoMemory, "memory ran out in the middle of a change"});
    }
    Change(const Change&) = delete;
    Change& operator=(const Change&) = delete;

   private:
    FilesystemState& state_;
    QuiesceGate::Pass pass_;
    const int exceptions_ = std::uncaught_exceptions();
    const std::uint64_t changes_ = Metadata::changes_of_this_thread();
  };

  Result<void> check_writable() const;
  Result<void> check_writable(InodeNumber node) const;  // nor is it of a snapshot
  // Asks for an early commit when the open group grows large, and waits for one when it is far too large.
  void throttle();
  std::uint64_t open_group_bytes() const;

  // --- namespace.cc
  static Result<void> check_new_name(std::string_view name);
  Result<InodePtr> get_directory(InodeNumber number);
  static InodeNumber parent_of(Inode& directory);  // not locked
  Result<std::optional<Dirent>> find_entry(InodeNumber parent, std::string_view name);
  // The inode that an entry leads to: it must be there.
  Result<InodePtr> get_target(InodeNumber parent, std::string_view name, const Dirent& entry);
  Result<bool> is_empty_directory(InodeNumber directory);
  // The parent in the record of a directory. Not through the table: a walk through many would drop what others use.
  Result<InodeNumber> read_parent(InodeNumber directory);
  // A new inode in `directory`, which is locked. Nobody has its number yet, and no name leads to it. `record` comes with type,
  // mode and what is special to the type.
  Result<InodePtr> add_inode(Inode& directory, InodeRecord record, const Caller& caller, const Timestamp& now);
  Result<Attributes> make(InodeNumber parent, std::string_view name, InodeRecord record, const Caller& caller);
  Result<Attributes> reference_by_number(InodeNumber number);

  // With the directory locked both ways: that it was not removed, and that its next cookie is free.
  Result<void> check_takes_names(Inode& directory);
  // With the directory locked both ways; its record is changed in memory and put by put_record().
  void add_entry(Inode& directory, std::string_view name, const Inode& target);
  void add_entry(Inode& directory, std::string_view name, const Inode& target, std::uint64_t cookie);
  void put_entry(Inode& directory, std::string_view name, const Inode& target, std::uint64_t cookie);
  void remove_entry(Inode& directory, std::string_view name, const Dirent& entry);
  // A name of the inode is gone (with it locked); the last one makes it an orphan.
  void drop_link(const InodePtr& inode, const Timestamp& now);
  void doom(InodeNumber number);

  // --- attributes.cc; with the inode locked
  static Attributes attributes_of(const Inode& inode);
  void put_record(Inode& inode);
  void note_access(const InodePtr& inode);  // not locked

  // --- rename.cc
  struct Rename;
  Result<void> check_no_circle(const Rename& rename);
  Result<bool> rename_if_checked(Rename& rename);

  // --- directories.cc: attributes and a reference for an entry, if its inode is sound
  void count_entry(DirectoryEntry& entry, InodeNumber parent, InodeNumber number);

  // --- xattrs.cc; with the inode locked
  Result<std::optional<std::string>> find_xattr(const Inode& inode, std::string_view name);
  void put_xattr(Inode& inode, std::string_view name, std::string value);
  Result<void> erase_xattr(Inode& inode, std::string_view name);
  Result<void> inherit_acls(Inode& directory, Inode& child, const Caller& caller);
  Result<void> update_acl_for_mode(Inode& inode, std::uint32_t mode);

  // --- files.cc
  Result<InodePtr> get_file(InodeNumber number);
  std::shared_ptr<FileContent> content_for_reading(Inode& inode);
  // Puts the inode into the set of changed ones first, so that nobody drops the content while it is being changed.
  std::shared_ptr<FileContent> content_for_change(const InodePtr& inode);
  // Waits until there is so much of the budget. What an operation takes it takes on top; the share is given back at its end.
  Result<DirtyBudget::Share> acquire_budget(std::uint64_t bytes, const std::function<bool()>& cancelled);
  Result<void> resize(const InodePtr& inode, std::uint64_t size, const Caller& caller);
  // Times and set-id bits, after the content changed.
  void note_modification(Inode& inode, const Caller& caller);
  static void drop_set_ids(Attributes& attributes, const Caller& caller);
  Error log_damage(Inode& inode, Error error);
  std::string path_for_log(Inode& inode);

  // --- snapshots.cc
  void add_snapshots_directory();
  Result<Attributes> lookup_snapshot(std::string_view name);
  Result<void> list_snapshots(std::uint64_t cookie, bool counted,
                              const std::function<bool(const DirectoryEntry&)>& visit);
  void touch_snapshots_directory();  // its attributes: they follow the snapshots and the owner of the root
  bool hides_snapshots() const;
  Result<void> put_new_snapshot(SnapshotRecord& record);
  void mark_deleted(SnapshotRecord record);
  void note_dropped(Family family, std::string_view value);

  class Cloning;  // clones.cc

  // --- rollback.cc; at the end of a group
  class Restoration;
  Result<void> roll_back(const SnapshotRecord& snapshot, std::vector<ChangedName>& changed);

  // --- commits.cc
  bool has_changes() const;
  Result<void> sync(std::chrono::milliseconds patience = {});
  Result<void> flush(Inode& inode);
  void flush_in_background(const InodePtr& inode);
  void flush_all();  // the first error goes to flush_error
  void settle(const InodePtr& inode);
  Result<void> commit_group();
  Result<void> end_group();
  Result<void> commit_volume();
  void abort(const Error& reason) noexcept;  // read-only from now on
  std::uint64_t pending_bytes() const;
  std::optional<Error> abort_reason() const;
  Result<void> check_not_aborted() const;  // kIo, with the reason
  bool background_step();
  class CleanUpPause;
  std::optional<Error> flush_obstacle() const;  // if something could not be flushed, but will be able to

  // --- reclaims.cc: what moves chunks
  std::unique_ptr<Reclaimer> make_reclaimer();
  Result<void> await_deletions(const std::function<Result<void>()>& go_on);
  std::unique_ptr<Defragmenter> make_defragmenter();
  bool is_short_of_space();
  Result<void> visit_references(const Database::Snapshot& snapshot, const ReclaimHost::Visit& visit) const;
  Result<void> visit_newest_references(const ReclaimHost::VisitUntil& visit) const;
  Result<bool> visit_recipes(const std::string& begin, const std::string& end,
                             const ReclaimHost::VisitUntil& visit) const;
  std::optional<ReclaimSettings> due_reclaim();

  std::unique_ptr<Volume> volume;
  const FilesystemOptions options;
  Metadata& metadata;
  SpaceGuard space;
  VolumeSize volume_size;
  DirtyBudget budget;
  QuiesceGate gate;
  std::shared_mutex flush_mutex;  // shared: a flush in the background; exclusive: the end of a group
  std::mutex rename_mutex;
  Ancestry ancestry{[this](InodeNumber directory) { return read_parent(directory); }};  // guarded by rename_mutex
  NameLocks names;
  InodeTable table;
  std::unique_ptr<InodeNumbers> numbers;
  std::unique_ptr<OrphanReaper> orphan_reaper;
  std::unique_ptr<SnapshotReaper> snapshot_reaper;
  CommitHook commit_hook;
  std::atomic<bool> clean_up_is_paused{false};
  std::mutex snapshot_mutex;  // one at a time makes, deletes or restores one; taken before everything else
  InodePtr snapshots_directory;

  std::atomic<std::uint64_t> changes{0};
  std::atomic<std::uint64_t> frozen_bytes{0};  // of the group that is being committed
  std::atomic<bool> aborted{false};
  std::atomic<bool> flush_fails{false};  // the last attempt to store file data did: waiting for room would be in vain
  mutable std::mutex errors_mutex;
  std::optional<Error> abort_error;
  std::optional<Error> flush_error;
  std::atomic<bool> closed{false};  // by close(): the next commit is the last
  std::optional<Error> missing_checkpoint;

  // Last, so that their threads end before what they use.
  std::unique_ptr<ThreadPool> flushers;
  std::unique_ptr<Committer> committer;
  std::unique_ptr<Checkpointer> checkpointer;
  std::unique_ptr<Scrubber> scrubber;
  std::unique_ptr<Reclaimer> reclaimer;
  std::unique_ptr<Defragmenter> defragmenter;  // null: without
};

}  // namespace dedupfs
