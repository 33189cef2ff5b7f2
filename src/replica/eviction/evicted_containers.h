// The containers of a volume of which most lies in its bucket only, and the part of them that is on this machine.
//
// An evicted container has its file in the folder "evicted" instead of "containers": as long as it was, with holes, and a record beside it
// (evicted_record.h). Kept are the ranges that readers of region headers and directories need, so that duplicates are found without the
// bucket. All else is read from the bucket in blocks. Who holds the volume for writing may cache those blocks in the holes.
//
// What a crash leaves: the record is durable before the file moves, and the move is durable before a byte of it goes. Which blocks are
// cached is known in memory only, so after a crash none is. A container that is recalled is whole and durable before it moves back.
//
// Threads:   every function from any thread.
// Ownership: shared by the open folders and files of one opened volume. Two that cache blocks for one volume would spoil each other's, so
//            only the holder of its lock may call begin_caching().
// Failure:   reading: kBusy for what the bucket does not give now; kCorruption names an object or a record that is missing or damaged;
//            that of the disk.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <list>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/backing.h"
#include "base/mutex.h"
#include "base/result.h"
#include "replica/eviction/evicted_record.h"
#include "replica/object_blocks.h"
#include "replica/open_bucket.h"

namespace dedupfs {

// Remembers that the bucket did not give something for a reason that may pass: it did not answer, or refused the keys. For those who must not
// take that for damage.
class FetchFailure {
 public:
  void note(const Error& error);
  Result<void> check() const;  // the first one

 private:
  mutable Mutex mutex_;
  std::optional<Error> first_ DEDUPFS_GUARDED_BY(mutex_);
};

class EvictedContainers {
 public:
  struct Evicted {
    FileInBucket file;
    std::vector<FileRange> kept;
  };
  using EvictedPtr = std::shared_ptr<const Evicted>;
  struct Status {
    std::uint64_t containers = 0;     // that are evicted
    std::uint64_t cached_bytes = 0;   // of their blocks, on this machine
    std::uint64_t fetched_bytes = 0;  // from the bucket, since the volume was opened
    std::uint64_t fetches = 0;        // of blocks
    BucketRequests requests;          // for these, and for what was read ahead
  };

  // `volume`: the folder of the volume as the disk has it. The bucket is opened when it is needed first. `parallel`: see
  // ObjectBlocks::Settings.
  EvictedContainers(std::shared_ptr<BackingFolder> volume, OpenBucket open_bucket,
                    std::shared_ptr<FetchFailure> failure, std::size_t parallel)
      : volume_(std::move(volume)),
        open_bucket_(std::move(open_bucket)),
        failure_(std::move(failure)),
        parallel_(parallel) {}
  // Finds out what is evicted, the first time. `containers`: the folder "containers" as the disk has it.
  Result<void> look(std::shared_ptr<BackingFolder> containers);
  // The caller has taken the lock of the volume, and used nothing yet. What the one before has evicted and recalled after look() is seen.
  Result<void> lock_is_held();

  // ---------------------------------------------------------------- the folder of containers, after look()
  // Each is of one moment, whatever is evicted or recalled meanwhile.
  Result<std::vector<std::string>> list() const;
  Result<std::unique_ptr<BackingFile>> open(std::string_view name, Backing::Mode mode);
  Result<BackingFolder::Status> status(std::string_view name) const;
  Result<void> unlink(std::string_view name);

  // ---------------------------------------------------------------- reading
  std::vector<std::string> names() const;  // in order
  bool contains(std::string_view name) const;
  Result<EvictedPtr> load(const std::string& name);
  // From a container, whether it is evicted or not, whose file is `real`. `evicted`: null, or what load() gave; it is kept up to date.
  Result<std::size_t> read_up_to(const std::string& name, BackingFile& real, EvictedPtr& evicted, std::uint64_t offset,
                                 MutableByteSpan out);
  // What of an evicted container is on this machine.
  Result<BackingFolder::Status> file_status(std::string_view name) const;
  bool is_near(const std::string& name, const Evicted& evicted, std::uint64_t offset, std::uint64_t length) const;
  // Brings an evicted container back as a whole, for one who writes to it. No error if it is not evicted.
  Result<void> recall(const std::string& name);

  // ---------------------------------------------------------------- for the holder of the volume's lock
  // From now on blocks are cached, so many bytes of them. What an earlier run has left is given back. kUnsupported: the disk cannot
  // give back a part of a file.
  Result<void> begin_caching(std::uint64_t max_bytes);
  bool is_caching() const { return is_caching_; }
  // What `read` reads of this container, whose file is here.
  Result<std::vector<FileRange>> ranges_read(const std::string& name, const std::function<Result<void>()>& read);
  // The bucket has all of it, as `file` says, and nobody writes to it. What lies outside of `kept` goes from this machine, once the bucket was asked
  // for its pieces: kCorruption if one is not there.
  Result<void> evict(const std::string& name, const EvictedRecord& record, Bucket& bucket);
  // For that. GoOn ends its waits.
  Result<std::unique_ptr<Bucket>> open_bucket(const GoOn& go_on);
  // How recently it was read: larger is later, 0 never.
  std::uint64_t last_use(const std::string& name) const;
  Status status() const;

 private:
  using BlockKey = std::pair<std::string, std::uint64_t>;
  static constexpr std::uint64_t kBlockBytes = 1 << 20;

  Result<void> find_evicted() DEDUPFS_REQUIRES(places_);
  Result<std::shared_ptr<BackingFolder>> folder() const DEDUPFS_EXCLUDES(places_);
  Result<std::shared_ptr<BackingFolder>> folder_to_write() DEDUPFS_EXCLUDES(places_);
  Result<std::shared_ptr<ObjectBlocks>> bucket();
  Result<void> fetch(const Evicted& evicted, std::uint64_t offset, MutableByteSpan out);
  void note_read(const std::string& name, std::uint64_t offset, std::uint64_t length) DEDUPFS_REQUIRES_SHARED(places_);
  Result<std::size_t> read_evicted(const std::string& name, BackingFile& real, const Evicted& evicted,
                                   std::uint64_t offset, MutableByteSpan out);
  Result<bool> read_cached(const BlockKey& key, BackingFile& real, std::uint64_t offset, MutableByteSpan out);
  void cache(const BlockKey& key, BackingFile& real, const Evicted& evicted, ByteSpan block);
  void drop_blocks();
  Result<void> drop_block(const BlockKey& key, const Evicted& evicted) DEDUPFS_REQUIRES(places_);
  void forget_blocks(std::string_view name);
  Result<void> probe_disk(BackingFolder& folder);
  Result<void> recall_now(const std::string& name);
  Result<void> evict_now(const std::string& name, const EvictedRecord& record);
  std::shared_ptr<BackingFolder> containers_folder() const;

  const std::shared_ptr<BackingFolder> volume_;
  const OpenBucket open_bucket_;
  const std::shared_ptr<FetchFailure> failure_;
  const std::size_t parallel_;
  std::atomic<bool> is_caching_ = false;
  std::atomic<std::uint64_t> max_cached_bytes_ = 0;
  std::atomic<std::uint64_t> fetched_bytes_ = 0;
  std::atomic<std::uint64_t> fetches_ = 0;

  // Held by who reads what is on this machine, and alone by who changes what is there.
  mutable SharedMutex places_ DEDUPFS_ACQUIRED_BEFORE(uses_);
  std::shared_ptr<BackingFolder> containers_ DEDUPFS_GUARDED_BY(places_);  // as the disk has it; null before look()
  std::shared_ptr<BackingFolder> folder_ DEDUPFS_GUARDED_BY(places_);      // "evicted"; null: there is none yet
  std::map<std::string, std::weak_ptr<const Evicted>, std::less<>> evicted_ DEDUPFS_GUARDED_BY(places_);

  // Those of which the content goes or comes as a whole: no block of them is cached.
  std::set<std::string> in_motion_ DEDUPFS_GUARDED_BY(places_);

  mutable Mutex uses_;
  std::list<BlockKey> blocks_ DEDUPFS_GUARDED_BY(uses_);  // cached ones, most recently used first
  std::map<BlockKey, std::list<BlockKey>::iterator> block_places_ DEDUPFS_GUARDED_BY(uses_);
  std::uint64_t clock_ DEDUPFS_GUARDED_BY(uses_) = 0;
  std::map<std::string, std::uint64_t> last_uses_ DEDUPFS_GUARDED_BY(uses_);  // of containers that are here as a whole
  std::string watched_ DEDUPFS_GUARDED_BY(uses_);                             // the container of ranges_read()
  std::vector<FileRange> read_ DEDUPFS_GUARDED_BY(uses_);

  const std::shared_ptr<BucketRequestMeter> requests_ = std::make_shared<BucketRequestMeter>();
  Mutex bucket_mutex_;
  std::shared_ptr<ObjectBlocks> bucket_blocks_ DEDUPFS_GUARDED_BY(bucket_mutex_);
};

}  // namespace dedupfs
