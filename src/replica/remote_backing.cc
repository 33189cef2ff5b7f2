#include "replica/remote_backing.h"

#include <utility>

namespace dedupfs {

Result<std::shared_ptr<BackingFolder>> RemoteBacking::open_root(const Path& /*path*/) {
  const MutexLock lock(mutex_);
  if (auto opened = opened_.lock()) return opened;
  DEDUPFS_ASSIGN(std::shared_ptr<Bucket> bucket, open_(where_, {}));
  DEDUPFS_ASSIGN(auto replica, load_replica(*bucket));
  if (!replica) return Error{ErrorCode::kNotFound, bucket->name() + " holds no volume"};
  DEDUPFS_ASSIGN(auto root, BucketBacking(std::move(bucket), std::move(*replica), settings_).open_root(where_.address));
  opened_ = root;
  return root;
}

}  // namespace dedupfs
