#include "replica/remote_backing.h"

#include <fmt/format.h>

#include <utility>

namespace dedupfs {

Result<std::shared_ptr<BackingFolder>> RemoteBacking::open_root(const Path& /*path*/) {
  const MutexLock lock(mutex_);
  if (renewed_) return std::exchange(renewed_, nullptr);
  if (auto opened = opened_.lock()) return opened;
  DEDUPFS_ASSIGN(std::shared_ptr<Bucket> bucket, open_(where_, {}));
  return open_newest(std::move(bucket));
}

Result<std::shared_ptr<BackingFolder>> RemoteBacking::open_newest(std::shared_ptr<Bucket> bucket) {
  DEDUPFS_ASSIGN(auto replica, load_replica(*bucket, settings_.parallel));
  if (!replica) return Error{ErrorCode::kNotFound, bucket->name() + " holds no volume"};
  // What was shown is not taken back, whatever the store lists.
  if (sequence_ != 0 && (replica->head.sequence < sequence_ || replica->head.volume != volume_))
    return corruption(fmt::format("{}: head {} of volume {} comes after head {} of volume {}, which was shown before",
                                  bucket->name(), replica->head.sequence, replica->head.volume, sequence_, volume_));
  volume_ = replica->head.volume;
  sequence_ = replica->head.sequence;
  bucket_ = bucket;
  auto blocks = blocks_.lock();
  if (!blocks) blocks = std::make_shared<ObjectBlocks>(std::move(bucket), settings_);
  blocks_ = blocks;
  DEDUPFS_ASSIGN(auto root, BucketBacking(std::move(blocks), std::move(*replica)).open_root(where_.address));
  opened_ = root;
  return root;
}

Result<bool> RemoteBacking::renew() {
  const MutexLock lock(mutex_);
  if (renewed_) return true;
  const auto bucket = bucket_.lock();
  if (!bucket) return true;  // nothing is in use: who opens it gets the newest
  bool is_newer = false;
  DEDUPFS_TRY(
      bucket->list(std::string(kHeadPrefix), head_object(sequence_), [&](const Bucket::Object& object) -> Result<void> {
        is_newer = is_newer || parse_head_object(object.name).has_value();
        return {};
      }));
  if (!is_newer) return false;
  DEDUPFS_ASSIGN(renewed_, open_newest(bucket));
  return true;
}

}  // namespace dedupfs
