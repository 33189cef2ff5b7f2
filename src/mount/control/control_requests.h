// The arguments of the requests at the control socket. They come from outside: any JSON may be there.
//
// Threads: any.
// Failure: kInvalidArgument; a nlohmann::json::exception for missing values and wrong types, which ControlServer answers.
#pragma once

#include <chrono>
#include <cstdint>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "fs/format/quota_records.h"
#include "fs/format/types.h"
#include "fs/statistics/shared_space.h"
#include "store/reclaim/reclaim_types.h"

namespace dedupfs {

// {"command": "files", "inodes": [1, 2]}
Result<std::vector<InodeNumber>> inodes_of(const nlohmann::json& request);

// {"command": "freed", "names": [[12, 1], [13, 0]], "snapshots": ["monday"]}: inodes, each with the directory of its name
Result<DeletedSet> deleted_set_of(const nlohmann::json& request);

// {"command": "scrub", "action": "start", "bytes_per_second": 0}
struct ScrubRequest {
  enum class Action { kStatus, kStart, kStop, kSetRate };

  Action action = Action::kStatus;
  std::uint64_t bytes_per_second = 0;  // of kStart and kSetRate
};
Result<ScrubRequest> scrub_request_of(const nlohmann::json& request);

// {"command": "snapshot", "action": "create", "name": "monday", "created_unix_seconds": null}
// {"command": "snapshot", "action": "diff", "from": "monday", "to": "tuesday", "first": 0}
struct SnapshotRequest {
  enum class Action { kList, kCreate, kDelete, kRollBack, kDiff, kHold, kRelease };

  Action action = Action::kList;
  std::string name;                                  // of all but kList; of kDiff: the older snapshot
  std::optional<std::string> to;                     // of kDiff; none: the present
  std::uint64_t first = 0;                           // of kDiff: the changes in front of it are left out
  std::optional<std::int64_t> until_unix_seconds;    // of kHold; none: until it is released
  std::optional<std::int64_t> created_unix_seconds;  // of kCreate: that of what it is a copy of; none: now
};
Result<SnapshotRequest> snapshot_request_of(const nlohmann::json& request);

// {"command": "quota", "action": "set", "inode": 12, "logical_bytes": 1000, "stored_bytes": null, "files": null}
struct QuotaRequest {
  enum class Action { kList, kSet, kRemove };

  Action action = Action::kList;
  InodeNumber inode = 0;  // of all but kList: the directory
  QuotaLimits limits;     // of kSet
};
Result<QuotaRequest> quota_request_of(const nlohmann::json& request);

// {"command": "clone", "from": 12, "parent": 1, "name": "copy"}
struct CloneRequest {
  InodeNumber from = 0;
  InodeNumber parent = 0;
  std::string name;
};
Result<CloneRequest> clone_request_of(const nlohmann::json& request);

// {"command": "remount", "sync": true, "dirsync": false}
struct RemountRequest {
  bool sync = false;
  bool dirsync = false;
};
RemountRequest remount_request_of(const nlohmann::json& request);

// {"command": "reclaim", "action": "start"}, or "settle", which starts one with that goal
struct ReclaimRequest {
  enum class Action { kStatus, kStart, kPause, kResume, kStop, kSetRate };

  Action action = Action::kStatus;
  ReclaimGoal goal = ReclaimGoal::kFreeSpace;  // of kStart
  std::uint64_t bytes_per_second = 0;          // of kSetRate
};
Result<ReclaimRequest> reclaim_request_of(const nlohmann::json& request);

// {"command": "remote", "action": "push", "grace_hours": 24}
struct RemoteRequest {
  enum class Action { kStatus, kPush };

  Action action = Action::kStatus;
  std::optional<std::chrono::hours> grace = std::nullopt;  // of kPush
};
Result<RemoteRequest> remote_request_of(const nlohmann::json& request);

}  // namespace dedupfs
