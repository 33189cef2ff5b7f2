#include "snapshot_target.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdint>
#include <utility>

#include "base/unique_fd.h"
#include "fs/snapshots/tree_diff.h"
#include "fs/statistics/shared_space.h"
#include "mount/control/control_socket.h"
#include "mount/reports/diff_report.h"
#include "mount/reports/share_report.h"
#include "mount/system/in_time.h"
#include "mount/system/mount_table.h"
#include "request_progress.h"

namespace dedupfs::tools {

Result<SnapshotTarget> SnapshotTarget::open(const Path& path, Access access, bool foreign,
                                            const std::shared_ptr<Backing>& backing) {
  SnapshotTarget target;
  DEDUPFS_ASSIGN(target.volume_, find_whole_volume(path));
  const auto daemon = ControlClient::connect(target.volume_);
  if (daemon) return target;
  if (daemon.error().code() != ErrorCode::kNotFound) return daemon.error();
  DEDUPFS_ASSIGN(auto volume,
                 Volume::open(target.volume_, {.read_only = access == Access::kRead, .foreign = foreign}, backing));
  DEDUPFS_ASSIGN(target.filesystem_, Filesystem::open(std::move(volume), {}));
  return target;
}

Result<SnapshotTarget::Snapshots> SnapshotTarget::list() {
  return filesystem_ ? Snapshots{filesystem_->snapshots(), filesystem_->held_snapshots()} : ask({{"action", "list"}});
}

Result<SnapshotTarget::Snapshots> SnapshotTarget::create(const std::string& name,
                                                         const std::optional<std::int64_t>& created_unix_seconds) {
  if (filesystem_) {
    DEDUPFS_TRY(filesystem_->create_snapshot(name, created_unix_seconds));
    return list();
  }
  DEDUPFS_TRY(write_back());
  nlohmann::json request{{"action", "create"}, {"name", name}};
  if (created_unix_seconds) request["created_unix_seconds"] = *created_unix_seconds;
  DEDUPFS_ASSIGN(Snapshots there, ask(std::move(request)));
  const auto made = std::ranges::find(there.all, name, &SnapshotRecord::name);
  if (!created_unix_seconds || made == there.all.end() || made->created_unix_seconds == *created_unix_seconds)
    return there;
  DEDUPFS_TRY(remove(name));
  return Error{ErrorCode::kUnsupported,
               "the daemon of this mount is older than this program, and dates each snapshot with now: mount again"};
}

Result<SnapshotTarget::Snapshots> SnapshotTarget::remove(const std::string& name) {
  if (!filesystem_) return ask({{"action", "delete"}, {"name", name}});
  DEDUPFS_TRY(filesystem_->delete_snapshot(name));
  return list();
}

Result<SnapshotTarget::Snapshots> SnapshotTarget::roll_back(const std::string& name) {
  if (!filesystem_) return ask({{"action", "rollback"}, {"name", name}});
  DEDUPFS_TRY(filesystem_->roll_back(name));
  return list();
}

Result<SnapshotTarget::Snapshots> SnapshotTarget::hold(const std::string& name,
                                                       const std::optional<std::int64_t>& until_unix_seconds) {
  if (!filesystem_) {
    nlohmann::json request{{"action", "hold"}, {"name", name}, {"until_unix_seconds", nullptr}};
    if (until_unix_seconds) request["until_unix_seconds"] = *until_unix_seconds;
    return ask(std::move(request));
  }
  DEDUPFS_TRY(filesystem_->hold_snapshot(name, until_unix_seconds));
  return list();
}

Result<SnapshotTarget::Snapshots> SnapshotTarget::release(const std::string& name) {
  if (!filesystem_) return ask({{"action", "release"}, {"name", name}});
  DEDUPFS_TRY(filesystem_->release_snapshot(name));
  return list();
}

Result<nlohmann::json> SnapshotTarget::diff(const std::string& from, const std::optional<std::string>& to) {
  nlohmann::json changes = nlohmann::json::array();
  nlohmann::json compared;
  if (filesystem_) {
    DEDUPFS_ASSIGN(const TreeDiff diff, diff_trees(filesystem_->volume().database(), from, to));
    compared = compared_json(diff);
    changes = changes_json(diff, 0, SIZE_MAX);
  } else {
    if (!to) DEDUPFS_TRY(write_back());
    nlohmann::json request{{"command", "snapshot"}, {"action", "diff"}, {"from", from}, {"to", nullptr}};
    if (to) request["to"] = *to;
    DEDUPFS_ASSIGN(compared, ask_for_changes(request, changes));
  }
  compared["changes"] = std::move(changes);
  return compared;
}

Result<nlohmann::json> SnapshotTarget::sizes(RequestProgress& progress) {
  if (filesystem_) {
    RunningJobs::Job job = progress.begin("snapshot_sizes");
    DEDUPFS_ASSIGN(const auto shares,
                   compute_snapshot_shares(filesystem_->volume(), progress.watch(job), &job.meter()));
    return snapshot_shares_json(shares);
  }
  DEDUPFS_ASSIGN(const nlohmann::json answer, progress.request(volume_, {{"command", "snapshot_sizes"}}));
  return read_answer([&] { return answer.at("sizes"); });
}

// As many answers as the changes take. Returns what is compared.
Result<nlohmann::json> SnapshotTarget::ask_for_changes(const nlohmann::json& request, nlohmann::json& changes) const {
  for (;;) {
    nlohmann::json page = request;
    page["first"] = changes.size();
    DEDUPFS_ASSIGN(nlohmann::json answer, control_request(volume_, page));
    const auto is_last = read_answer([&] {
      nlohmann::json& more = answer.at("changes");
      const bool is_empty = more.empty();
      for (nlohmann::json& change : more) changes.push_back(std::move(change));
      return is_empty || changes.size() >= answer.at("total_changes").get<std::size_t>();
    });
    if (!is_last) return is_last.error();
    if (*is_last) return read_answer([&] { return answer.at("compared"); });
  }
}

Result<void> SnapshotTarget::close() {
  return filesystem_ ? filesystem_->close() : Result<void>();
}

Result<SnapshotTarget::Snapshots> SnapshotTarget::ask(nlohmann::json request) const {
  request["command"] = "snapshot";
  DEDUPFS_ASSIGN(const nlohmann::json answer, control_request(volume_, request));
  return read_answer([&] {
    const nlohmann::json& snapshots = answer.at("snapshots");
    return Snapshots{snapshots_of(snapshots), holds_of(snapshots)};
  });
}

// The kernel still holds changes that programs made through mappings.
Result<void> SnapshotTarget::write_back() const {
  DEDUPFS_ASSIGN(const auto table, read_mount_table());
  const auto mount = find_dedupfs_mount(table, volume_);
  if (!mount) return {};
  const std::string mountpoint = mount->mountpoint.string();
  return do_in_time("the kernel to write back to " + mountpoint, {}, [&]() -> Result<void> {
    const UniqueFd root(::open(mountpoint.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
    if (!root || ::syncfs(root.get()) != 0) return Error::from_errno(errno, mountpoint);
    return {};
  });
}

}  // namespace dedupfs::tools
