// The files of an encrypted volume: which are open, and what the last opening noted of them. sealed_folder.h shows them as the folder
// of a plain volume to the parts of dedupfs that know nothing of encryption.
//
// Every file passes SealedContent, but for these, which hold nothing of the volume's content: `lock`, `ballast`, `control.sock`. The
// superblock that they see is the file `settings`; the real `superblock.json`, the key header, is hidden from them.
//
// The first change notes in the file `unmounted` that the volume is in use, with the list of files as they are then and the session,
// which is in all that is written from now on. When the last folder and file is closed, the list of files as they are now goes there.
// Who takes the lock of the volume compares: every file must be as listed, or, after a crash, have nothing new but what was written in
// the session that crashed. Whatever is opened later is compared then.
//
// After a rotation of the master key, the first change seals small files anew that nobody else writes again. When no file on the list of
// an unmount is under a former key, that key leaves the key header. key_rotation.cc has what this takes.
//
// Threads:   any thread. The folders and files as backing.h says.
// Ownership: folders and files keep the tree, and the tree keeps the lock file, until its list is written.
// Failure:   a file that is another one than was sealed there, or is damaged, gives an error to who reads it (kCorruption).
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "base/backing.h"
#include "base/mutex.h"
#include "store/seal/sealed_content.h"
#include "store/seal/volume_record.h"

namespace dedupfs {

// An open file's content, and its path in the volume as long as it has one.
struct SealedNode {
  std::shared_ptr<SealedContent> content;
  std::string path;           // empty: it was removed. Guarded by the tree
  int writers = 0;            // guarded by the tree
  std::uint64_t changes = 0;  // guarded by the tree
};

class SealedTree {
 public:
  // Decides what becomes of a volume of which a file is not as the last opening left it: an error refuses it. A volume that is accepted
  // can be read; it can be changed after take_files_as_they_are().
  using Judge = std::function<Result<void>(const Error& difference)>;
  static Result<void> refuse(const Error& difference) { return difference; }
  static Result<void> accept(const Error& /*difference*/) { return {}; }

  // A new volume in an empty folder.
  static std::shared_ptr<SealedTree> create(std::shared_ptr<BackingFolder> folder,
                                            std::shared_ptr<const VolumeKey> key);
  // The judge is asked by lock_is_held().
  static std::shared_ptr<SealedTree> open(std::shared_ptr<BackingFolder> folder, std::shared_ptr<const VolumeKey> key,
                                          Judge judge);
  // For files beside the volume that hold what is in it: sealed with its key.
  static std::shared_ptr<SealedTree> scratch(const SealedTree& volume, std::shared_ptr<BackingFolder> folder);
  ~SealedTree();
  SealedTree(const SealedTree&) = delete;
  SealedTree& operator=(const SealedTree&) = delete;

  // What the folders and files ask. Paths are those in the volume, "" for its folder, "index/CURRENT". Nobody opens a file between a
  // change of names on the disk and its note.
  struct OpenFile {
    std::unique_ptr<BackingFile> real;
    std::shared_ptr<SealedNode> node;
  };
  using Opening = std::function<Result<std::unique_ptr<BackingFile>>()>;
  using NameChange = std::function<Result<void>()>;
  Result<OpenFile> open(const std::string& path, const Opening& opening);
  Result<void> rename(const std::string& from, const std::string& to, const NameChange& change);
  Result<void> link(const std::string& from, const std::string& to, const NameChange& change);
  Result<void> remove(const std::string& path, const NameChange& change);
  Result<void> begin_change();
  Result<void> begin_change_of(SealedNode& node);
  void opened_for_writing(SealedNode& node);
  void closed_for_writing(SealedNode& node, BackingFile& file);
  // The ends that files of a folder got when they were closed become durable. Of those that a session before this one wrote, nobody
  // knows whether a sync failed: they are written again.
  enum class Ends { kOfThisSession, kOfOthers };
  Result<void> sync_ends(const std::string& folder_path, BackingFolder& folder, Ends ends = Ends::kOfThisSession);
  void keep_lock(std::shared_ptr<BackingFile> lock);
  // The paths of the files of which some is sealed with a former master key.
  std::set<std::string> outdated_files() const;
  // Nobody else changes the volume from now on: compares its files with the list, unless that was done. The error of the judge.
  Result<void> lock_is_held();

  const std::shared_ptr<BackingFolder>& folder() const { return folder_; }
  const VolumeKey& key() const { return *key_; }
  // What the last opening left, without its list of files.
  VolumeRecord last_record() const;
  // What the judge accepted.
  std::vector<Error> differences() const;
  // Compares what no mount does: also the ends of the files whose lengths are right, and what stands before them.
  Result<void> compare_all();
  Result<void> take_files_as_they_are();

 private:
  enum class Purpose { kVolume, kNewVolume, kScratch };  // of a scratch folder nothing is noted
  enum class Depth { kMount, kChange, kAll };
  using FileVisit =
      std::function<Result<void>(BackingFolder& folder, const std::string& name, const std::string& path)>;

  SealedTree(std::shared_ptr<BackingFolder> folder, std::shared_ptr<const VolumeKey> key, Purpose purpose);

  void load_record() DEDUPFS_REQUIRES(change_mutex_);
  void log_generation() const DEDUPFS_REQUIRES(change_mutex_);
  Result<void> compare(Depth depth) DEDUPFS_REQUIRES(change_mutex_);
  Result<void> compare_postponed() DEDUPFS_REQUIRES(change_mutex_);
  Result<void> compare_file(BackingFolder& folder, const std::string& name, const std::string& path, Depth depth)
      DEDUPFS_REQUIRES(change_mutex_);
  Result<void> differs(const std::string& path, const std::string& how) DEDUPFS_REQUIRES(change_mutex_);
  Result<void> begin_change_locked() DEDUPFS_REQUIRES(change_mutex_);
  void seal_small_files_anew() DEDUPFS_REQUIRES(change_mutex_);
  Result<void> seal_anew(BackingFolder& folder, const std::string& name, const std::string& path);
  void forget_unused_keys(const FileMarks& files) const;
  Result<void> for_each_noted_folder(
      const std::function<Result<void>(BackingFolder& folder, const std::string& path)>& visit) const;
  Result<void> for_each_noted_file(const FileVisit& visit) const;
  Result<void> sync_all(Ends ends);
  Result<void> note_all_files() DEDUPFS_REQUIRES(change_mutex_);
  Result<FileMark> mark_at_end(BackingFolder& folder, const std::string& name, const std::string& path);
  std::shared_ptr<SealedContent> load(const BackingFile& file, const std::string& path, const FileMark* known) const;
  Result<std::shared_ptr<SealedNode>> node_at(const std::string& path, const BackingFile& file)
      DEDUPFS_REQUIRES_SHARED(names_mutex_);
  std::shared_ptr<SealedNode> open_node_at(const std::string& path) DEDUPFS_REQUIRES(mutex_);
  void note_failed_sync_of(const std::string& path) DEDUPFS_REQUIRES(mutex_);
  void forget(const std::string& path) DEDUPFS_REQUIRES(mutex_);
  Result<void> require_synced() const;
  std::array<std::set<std::string>*, 3> path_sets() DEDUPFS_REQUIRES(mutex_);
  std::optional<FileMark> mark_of(const std::string& path) DEDUPFS_REQUIRES(mutex_);
  bool is_acceptable(const SealedContent& content, const std::string& path) DEDUPFS_REQUIRES(mutex_);

  const std::shared_ptr<BackingFolder> folder_;
  const std::shared_ptr<const VolumeKey> key_;
  const Purpose purpose_;
  SessionId session_;
  Judge judge_ = refuse;
  std::shared_ptr<BackingFile> lock_ DEDUPFS_GUARDED_BY(mutex_);

  mutable Mutex change_mutex_ DEDUPFS_ACQUIRED_BEFORE(mutex_);
  VolumeRecord last_ DEDUPFS_GUARDED_BY(change_mutex_);                    // but for its files, which are in marks_
  std::optional<FileMark> record_mark_ DEDUPFS_GUARDED_BY(change_mutex_);  // none: there is no record
  bool is_compared_ DEDUPFS_GUARDED_BY(change_mutex_) = false;
  std::vector<Error> differences_ DEDUPFS_GUARDED_BY(change_mutex_);
  std::set<std::string> differing_ DEDUPFS_GUARDED_BY(change_mutex_);  // the paths
  // Containers that are far away, and were written since the volume was opened last, if it was not unmounted. Whoever only reads
  // compares those that he opens: in a bucket there are many.
  std::vector<std::string> postponed_ DEDUPFS_GUARDED_BY(change_mutex_);
  bool is_changed_ DEDUPFS_GUARDED_BY(change_mutex_) = false;
  bool takes_differences_ DEDUPFS_GUARDED_BY(change_mutex_) = false;

  SharedMutex names_mutex_ DEDUPFS_ACQUIRED_BEFORE(mutex_);  // exclusive: names change
  std::array<Mutex, 16> load_mutexes_;                       // of files by their paths. Before mutex_

  mutable Mutex mutex_;
  enum class Evidence { kNone, kList, kListAndSession };  // what files are compared with
  Evidence evidence_ DEDUPFS_GUARDED_BY(mutex_) = Evidence::kNone;
  std::vector<SessionId> sessions_ DEDUPFS_GUARDED_BY(mutex_);  // this one, and the one that crashed
  std::map<std::string, std::weak_ptr<SealedNode>> nodes_ DEDUPFS_GUARDED_BY(mutex_);
  FileMarks marks_ DEDUPFS_GUARDED_BY(mutex_);                     // as they were last known
  std::set<std::string> changed_ DEDUPFS_GUARDED_BY(mutex_);       // since then
  std::set<std::string> failed_syncs_ DEDUPFS_GUARDED_BY(mutex_);  // nobody knows what of these files is on the disk
  // Of files whose last records or trailers may not be durable yet.
  std::set<std::string> undurable_ends_ DEDUPFS_GUARDED_BY(mutex_);
};

}  // namespace dedupfs
