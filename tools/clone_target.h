// The folder that a clone of a bucket is made in: a new one, or one with an unfinished clone.
//
// Threads: one.
// Failure: kNotEmpty, kExists: something else is there. What was made goes if the bucket cannot give the rest, now or later.
#pragma once

#include <memory>
#include <string>

#include "base/backing.h"
#include "base/result.h"
#include "replica/clone.h"
#include "store/volume/vacant_folder.h"

namespace dedupfs::tools {

class CloneTarget {
 public:
  static Result<std::unique_ptr<CloneTarget>> open(const Path& path, const Replica& replica);
  CloneTarget(const CloneTarget&) = delete;
  CloneTarget& operator=(const CloneTarget&) = delete;

  const std::shared_ptr<BackingFolder>& folder() const { return folder_; }
  // `index_only`: containers stay in the bucket, but for what finds duplicates.
  Result<void> fill(Bucket& bucket, const Replica& replica, CloneSettings settings, bool index_only);
  // All that belongs to it is there.
  Result<void> finish(bool index_only);

 private:
  CloneTarget() = default;

  UnfinishedVolume unfinished_;
  std::shared_ptr<BackingFolder> folder_;
  std::shared_ptr<BackingFolder> evicted_;  // of a clone of the index only
  std::shared_ptr<const void> lock_;
};

}  // namespace dedupfs::tools
