// A volume at the address of a bucket, as a disk that can only be read. What is seen is the newest head of the time when the disk is opened.
// As long as a folder of it is in use, everybody gets the same head, and shares its cache, until renew() finds a newer one. Those who have
// the older one open keep it. A store that lists an older head later, or another volume, is not believed: kCorruption.
//
// No connection outlives the folders, so a process may look at a volume and then go on in a child.
//
// Threads:   as backing.h says.
// Failure:   opening: kInvalidArgument for what is no address; kNotFound if the bucket has no volume; that of the bucket. After that, as
//            BucketBacking.
#pragma once

#include <memory>

#include "base/backing.h"
#include "base/mutex.h"
#include "replica/bucket_backing.h"
#include "replica/open_bucket.h"

namespace dedupfs {

class RemoteBacking final : public Backing {
 public:
  RemoteBacking(RemoteAddress where, BucketBacking::Settings settings, OpenBucket open = open_bucket)
      : where_(std::move(where)), settings_(settings), open_(std::move(open)) {}

  // Any path: there is one volume. Its files are named by the address.
  Result<std::shared_ptr<BackingFolder>> open_root(const Path& path) override;
  // Looks for a head that is newer than the one in use. If there is one, open_root() gives it from now on.
  Result<bool> renew();

 private:
  Result<std::shared_ptr<BackingFolder>> open_newest(std::shared_ptr<Bucket> bucket) DEDUPFS_REQUIRES(mutex_);

  const RemoteAddress where_;
  const BucketBacking::Settings settings_;
  const OpenBucket open_;
  Mutex mutex_;
  std::weak_ptr<BackingFolder> opened_ DEDUPFS_GUARDED_BY(mutex_);
  std::weak_ptr<Bucket> bucket_ DEDUPFS_GUARDED_BY(mutex_);            // of it
  std::weak_ptr<ObjectBlocks> blocks_ DEDUPFS_GUARDED_BY(mutex_);      // of that bucket; objects never change
  std::uint64_t sequence_ DEDUPFS_GUARDED_BY(mutex_) = 0;              // of its head
  UuidText volume_ DEDUPFS_GUARDED_BY(mutex_);                         // of that
  std::shared_ptr<BackingFolder> renewed_ DEDUPFS_GUARDED_BY(mutex_);  // which nobody has opened yet
};

}  // namespace dedupfs
