#include "mount/control/control_requests.h"

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <string>

namespace dedupfs {

namespace {

Error unknown_action(const std::string& action, const std::string& job) {
  return {ErrorCode::kInvalidArgument, "\"" + action + "\" is not an action of a " + job};
}

}  // namespace

// nlohmann-json converts any number to a requested type. If the number does not fit, the result is undefined. So each number is
// checked first.

Result<std::vector<InodeNumber>> inodes_of(const nlohmann::json& request) {
  const nlohmann::json& numbers = request.at("inodes");
  if (!numbers.is_array() || !std::ranges::all_of(numbers, &nlohmann::json::is_number_unsigned))
    return Error{ErrorCode::kInvalidArgument, "\"inodes\" is not an array of inode numbers"};
  return numbers.get<std::vector<InodeNumber>>();
}

Result<DeletedSet> deleted_set_of(const nlohmann::json& request) {
  const nlohmann::json& names = request.at("names");
  const auto is_name = [](const nlohmann::json& name) {
    return name.is_array() && name.size() == 2 && std::ranges::all_of(name, &nlohmann::json::is_number_unsigned);
  };
  if (!names.is_array() || !std::ranges::all_of(names, is_name))
    return Error{ErrorCode::kInvalidArgument, "\"names\" is not an array of pairs of inode numbers"};
  DeletedSet deleted;
  for (const nlohmann::json& name : names)
    deleted.names.push_back({name[0].get<InodeNumber>(), name[1].get<InodeNumber>()});
  deleted.snapshots = request.at("snapshots").get<std::vector<std::string>>();
  return deleted;
}

namespace {

Result<std::uint64_t> number_in(const nlohmann::json& request, const std::string& key, const std::string& what) {
  const nlohmann::json& number = request.at(key);
  if (!number.is_number_unsigned()) return Error{ErrorCode::kInvalidArgument, "\"" + key + "\" is not " + what};
  return number.get<std::uint64_t>();
}

Result<std::uint64_t> rate_of(const nlohmann::json& request) {
  return number_in(request, "bytes_per_second", "a number of bytes");
}

}  // namespace

Result<ScrubRequest> scrub_request_of(const nlohmann::json& request) {
  using Action = ScrubRequest::Action;
  const std::string action = request.at("action").get<std::string>();
  if (action == "status") return ScrubRequest{Action::kStatus};
  if (action == "stop") return ScrubRequest{Action::kStop};
  if (action != "start" && action != "set_rate") return unknown_action(action, "scrub");
  DEDUPFS_ASSIGN(const std::uint64_t rate, rate_of(request));
  return ScrubRequest{action == "start" ? Action::kStart : Action::kSetRate, rate};
}

namespace {

// None if it is null.
Result<std::optional<std::int64_t>> time_in(const nlohmann::json& request, const std::string& key) {
  constexpr std::uint64_t kLast = std::numeric_limits<std::int64_t>::max();
  if (request.at(key).is_null()) return std::optional<std::int64_t>();
  DEDUPFS_ASSIGN(const std::uint64_t seconds, number_in(request, key, "a time"));
  return std::optional(static_cast<std::int64_t>(std::min(seconds, kLast)));
}

Result<SnapshotRequest> diff_request_of(const nlohmann::json& request) {
  SnapshotRequest diff{.action = SnapshotRequest::Action::kDiff, .name = request.at("from").get<std::string>()};
  if (const nlohmann::json& to = request.at("to"); !to.is_null()) diff.to = to.get<std::string>();
  DEDUPFS_ASSIGN(diff.first, number_in(request, "first", "the number of a change"));
  return diff;
}

}  // namespace

Result<SnapshotRequest> snapshot_request_of(const nlohmann::json& request) {
  using Action = SnapshotRequest::Action;
  const std::string action = request.at("action").get<std::string>();
  if (action == "list") return SnapshotRequest{Action::kList, {}};
  if (action == "diff") return diff_request_of(request);
  const std::string name = request.at("name").get<std::string>();
  if (action == "create") {
    SnapshotRequest create{.action = Action::kCreate, .name = name};
    if (request.contains("created_unix_seconds")) {
      DEDUPFS_ASSIGN(create.created_unix_seconds, time_in(request, "created_unix_seconds"));
    }
    return create;
  }
  if (action == "delete") return SnapshotRequest{Action::kDelete, name};
  if (action == "rollback") return SnapshotRequest{Action::kRollBack, name};
  if (action == "release") return SnapshotRequest{Action::kRelease, name};
  if (action == "hold") {
    SnapshotRequest hold{.action = Action::kHold, .name = name};
    DEDUPFS_ASSIGN(hold.until_unix_seconds, time_in(request, "until_unix_seconds"));
    return hold;
  }
  return unknown_action(action, "snapshot");
}

Result<QuotaRequest> quota_request_of(const nlohmann::json& request) {
  using Action = QuotaRequest::Action;
  const std::string action = request.at("action").get<std::string>();
  if (action == "list") return QuotaRequest{};
  if (action != "set" && action != "remove") return unknown_action(action, "quota");
  QuotaRequest quota{.action = action == "set" ? Action::kSet : Action::kRemove, .inode = 0, .limits = {}};
  DEDUPFS_ASSIGN(quota.inode, number_in(request, "inode", "an inode number"));
  if (quota.action == Action::kRemove) return quota;
  for (const auto& [key, limit] :
       {std::pair("logical_bytes", &quota.limits.logical_bytes), std::pair("stored_bytes", &quota.limits.stored_bytes),
        std::pair("files", &quota.limits.files)}) {
    if (request.at(key).is_null()) continue;
    DEDUPFS_ASSIGN(*limit, number_in(request, key, "a limit"));
  }
  return quota;
}

Result<CloneRequest> clone_request_of(const nlohmann::json& request) {
  DEDUPFS_ASSIGN(const InodeNumber from, number_in(request, "from", "an inode number"));
  DEDUPFS_ASSIGN(const InodeNumber parent, number_in(request, "parent", "an inode number"));
  return CloneRequest{from, parent, request.at("name").get<std::string>()};
}

RemountRequest remount_request_of(const nlohmann::json& request) {
  return {request.at("sync").get<bool>(), request.at("dirsync").get<bool>()};  // of all else, get throws
}

Result<ReclaimRequest> reclaim_request_of(const nlohmann::json& request) {
  using Action = ReclaimRequest::Action;
  const std::string action = request.at("action").get<std::string>();
  if (action == "status") return ReclaimRequest{Action::kStatus};
  if (action == "pause") return ReclaimRequest{Action::kPause};
  if (action == "resume") return ReclaimRequest{Action::kResume};
  if (action == "stop") return ReclaimRequest{Action::kStop};
  if (action == "set_rate") {
    DEDUPFS_ASSIGN(const std::uint64_t rate, rate_of(request));
    return ReclaimRequest{.action = Action::kSetRate, .bytes_per_second = rate};
  }
  if (action == "start") return ReclaimRequest{Action::kStart, ReclaimGoal::kFreeSpace};
  if (action == "settle") return ReclaimRequest{Action::kStart, ReclaimGoal::kSettle};
  return unknown_action(action, "reclaim");
}

Result<std::optional<std::chrono::hours>> grace_of(const nlohmann::json& request) {
  constexpr std::uint64_t kMostHours = 366 * 24;
  if (!request.contains("grace_hours")) return std::optional<std::chrono::hours>();
  const auto hours = request.at("grace_hours").get<std::uint64_t>();
  if (hours > kMostHours) return invalid_argument(fmt::format("grace_hours: {} is more than {}", hours, kMostHours));
  return std::optional(std::chrono::hours(hours));
}

Result<RemoteRequest> remote_request_of(const nlohmann::json& request) {
  const std::string action = request.at("action").get<std::string>();
  if (action == "status") return RemoteRequest{RemoteRequest::Action::kStatus};
  if (action == "push") {
    RemoteRequest push{RemoteRequest::Action::kPush};
    DEDUPFS_ASSIGN(push.grace, grace_of(request));
    return push;
  }
  return unknown_action(action, "replication");
}

}  // namespace dedupfs
