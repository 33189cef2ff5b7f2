// Reaps deleted snapshots. Each of their before-images goes to the next older snapshot if that one needs it; otherwise it is
// dropped. This happens in small steps, which any crash may interrupt: a later step finds the rest again.
//
// Threads: step() on the committer's, so never beside the end of a group.
// Failure: errors are the database's; finished steps stay done.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <set>
#include <string>
#include <string_view>

#include "base/result.h"
#include "store/metadata/before_images.h"
#include "store/metadata/metadata.h"

namespace dedupfs {

class SnapshotReaper {
 public:
  // Called with each value that no snapshot has any more.
  using Dropped = std::function<void(Family family, std::string_view value)>;

  SnapshotReaper(const Database& database, Metadata& metadata, Dropped dropped)
      : database_(database), metadata_(metadata), snapshots_(metadata.snapshots()), dropped_(std::move(dropped)) {}

  // True if there is more to do now. The rest may have to wait for a commit: see awaits_commit().
  Result<bool> step();
  bool is_done() const { return snapshots_.deleted().empty(); }
  bool awaits_commit() const { return awaits_commit_; }

 private:
  Result<bool> begin_pass();
  Result<void> sweep(const KeyValue& stored, const BeforeImageKey& image);
  void end_pass();

  const Database& database_;
  Metadata& metadata_;
  SnapshotList& snapshots_;
  const Dropped dropped_;

  // Deleted in a group that is committed, so that no group adds images to them any more.
  std::set<TreeNumber> reaping_;
  std::set<TreeNumber> had_images_;    // of them, in this pass
  std::optional<std::string> next_;    // where the pass goes on; none: no pass is under way
  std::optional<std::string> reaped_;  // the last image that this pass has moved or dropped
  bool awaits_commit_ = false;
};

}  // namespace dedupfs
