// A volume at the address of a bucket, as a disk that can only be read. What is seen is the newest head of the time when the disk is opened;
// who wants a newer one opens it again. As long as a folder of it is in use, everybody gets the same head, and shares its cache.
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

 private:
  const RemoteAddress where_;
  const BucketBacking::Settings settings_;
  const OpenBucket open_;
  Mutex mutex_;
  std::weak_ptr<BackingFolder> opened_ DEDUPFS_GUARDED_BY(mutex_);
};

}  // namespace dedupfs
