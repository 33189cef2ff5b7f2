#include "clone_target.h"

#include <fmt/format.h>

#include <set>
#include <utility>
#include <vector>

#include "replica/eviction/make_evicted.h"
#include "store/format/format.h"
#include "store/format/superblock_features.h"
#include "store/seal/key_header.h"
#include "store/volume/volume.h"
#include "volume_disk.h"

namespace dedupfs::tools {

Result<std::unique_ptr<CloneTarget>> CloneTarget::open(const Path& path, const Replica& replica) {
  std::unique_ptr<CloneTarget> target(new CloneTarget);
  const auto system = Backing::posix();
  auto begun = system->open_root(path);
  bool goes_on = false;
  if (begun) {
    DEDUPFS_ASSIGN(const auto unfinished_clone, find_unfinished_clone(**begun));
    goes_on = unfinished_clone.has_value();
  }
  if (goes_on && (*begun)->exists(kSuperblockFile).value_or(true))
    return Error{ErrorCode::kExists,
                 fmt::format("{0} has a whole clone: remove {0}/{1} to keep it, or all of the folder to begin anew",
                             (*begun)->path().string(), kUnfinishedClone)};
  if (goes_on) {
    target->folder_ = std::move(*begun);
  } else {
    DEDUPFS_ASSIGN(target->folder_, vacant_folder(path, *system, target->unfinished_));
    std::set<std::string> names;
    for (const std::string_view always :
         {kIndexDirectory, kContainersDirectory, kEvictedDirectory, kUnfinishedClone, kLockFile})
      names.emplace(always);
    for (const auto& [in_volume, file] : replica.files) names.insert(in_volume.substr(0, in_volume.find('/')));
    target->unfinished_.made(target->folder_, {names.begin(), names.end()});
  }
  DEDUPFS_ASSIGN(target->lock_, Volume::lock(*target->folder_, /*read_only=*/false));
  return target;
}

Result<void> CloneTarget::fill(Bucket& bucket, const Replica& replica, CloneSettings settings, bool index_only) {
  if (index_only) {
    DEDUPFS_TRY(
        remove_tree(*folder_, kContainersDirectory));  // of an interrupted clone that was none of the index alone
    auto evicted = folder_->open_folder(kEvictedDirectory);
    if (!evicted && evicted.error().code() == ErrorCode::kNotFound)
      evicted = folder_->make_and_open_folder(kEvictedDirectory);
    if (!evicted) return evicted.error();
    evicted_ = *evicted;
    DEDUPFS_TRY(remove_other_evicted(*evicted_, replica.files));
    settings.leave_container = [evicted = evicted_, &bucket](const std::string& name, const RemoteFile& file,
                                                             const GoOn& go_on) {
      return make_evicted(*evicted, name, file, {.bucket = bucket, .go_on = go_on});
    };
  }
  const auto cloned = clone_replica(bucket, replica, *folder_, settings);
  // What the bucket cannot give, it will not give later. Everything else may go on.
  const bool may_go_on =
      cloned || (cloned.error().code() != ErrorCode::kCorruption && cloned.error().code() != ErrorCode::kNotFound);
  if (may_go_on) unfinished_.keep();
  if (cloned) return {};
  return may_go_on ? Error{cloned.error().code(), cloned.error().message() + "; the same command goes on with it"}
                   : cloned.error();
}

// Who has no key cannot say in the superblock of an encrypted volume that containers are evicted. The next mount with a cache does.
Result<void> CloneTarget::finish(bool index_only) {
  if (index_only) {
    DEDUPFS_TRY(evicted_->sync());
    DEDUPFS_ASSIGN(const auto key_header, read_key_header(*folder_));
    DEDUPFS_ASSIGN(const auto with_containers, volume_disk()->open_root(folder_->path()));
    if (!key_header) DEDUPFS_TRY(add_incompatible_feature(*with_containers, kEvictionFeature));
  }
  return finish_clone(*folder_);
}

}  // namespace dedupfs::tools
