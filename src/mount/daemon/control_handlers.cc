#include "mount/daemon/control_handlers.h"

#include <unistd.h>

#include <ctime>
#include <fstream>
#include <memory>
#include <optional>
#include <utility>

#include "fs/history/history_series.h"
#include "fs/snapshots/tree_diff.h"
#include "fs/statistics/file_statistics.h"
#include "mount/control/control_requests.h"
#include "mount/daemon/diff_pages.h"
#include "mount/daemon/public_questions.h"
#include "mount/daemon/transfer_jobs.h"
#include "mount/reports/diff_report.h"
#include "mount/reports/history_report.h"
#include "mount/reports/jobs_report.h"
#include "mount/reports/metrics_report.h"
#include "mount/reports/quota_report.h"
#include "mount/reports/reclaim_report.h"
#include "mount/reports/replication_report.h"
#include "mount/reports/scrub_report.h"
#include "mount/reports/share_report.h"
#include "mount/reports/snapshot_report.h"
#include "mount/reports/statistics_report.h"

namespace dedupfs {
namespace {

using Json = nlohmann::json;

std::uint64_t resident_bytes() {
  std::uint64_t size = 0, resident = 0;
  std::ifstream("/proc/self/statm") >> size >> resident;
  return resident * static_cast<std::uint64_t>(::sysconf(_SC_PAGESIZE));
}

Result<void> run_scrub_request(Scrubber& scrubber, const ScrubRequest& request) {
  switch (request.action) {
    case ScrubRequest::Action::kStatus: return {};
    case ScrubRequest::Action::kStart: return scrubber.start(request.bytes_per_second);
    case ScrubRequest::Action::kSetRate: scrubber.set_rate(request.bytes_per_second); break;
    case ScrubRequest::Action::kStop: scrubber.stop();
  }
  return {};
}

Result<void> run_reclaim_request(Reclaimer& reclaimer, const ReclaimRequest& request) {
  switch (request.action) {
    case ReclaimRequest::Action::kStatus: return {};
    case ReclaimRequest::Action::kStart: return reclaimer.start({.goal = request.goal});
    case ReclaimRequest::Action::kSetRate: reclaimer.set_rate(request.bytes_per_second); break;
    case ReclaimRequest::Action::kPause: reclaimer.pause(); break;
    case ReclaimRequest::Action::kResume: reclaimer.resume(); break;
    case ReclaimRequest::Action::kStop: reclaimer.stop();
  }
  return {};
}

// One that its client waits for: its progress is told and listed, and it ends when nobody waits any more.
class WatchedJob {
 public:
  WatchedJob(Filesystem& filesystem, std::string_view name, const ControlServer::StillWanted& wanted,
             const ControlServer::Tell& tell)
      : job_(filesystem.running_jobs(), name), wanted_(wanted), tell_(tell) {}

  JobMeter* meter() { return &job_.meter(); }
  void look() {
    tell_([this] { return job_json(job_.status()); });
  }
  GoOn go_on() {
    return [this] {
      look();
      return wanted_();
    };
  }

 private:
  RunningJobs::Job job_;
  const ControlServer::StillWanted& wanted_;
  const ControlServer::Tell& tell_;
};

// Statistics and differences are those of committed data. Users need them most on a full disk.
Result<nlohmann::json> diff_page(Filesystem& filesystem, DiffPages& pages, const SnapshotRequest& request,
                                 const ControlServer::StillWanted& wanted) {
  const auto find = [&]() -> Result<TreeDiff> {
    if (!request.to) DEDUPFS_TRY(filesystem.sync_what_fits());
    return diff_trees(filesystem.volume().database(), request.name, request.to, wanted);
  };
  DEDUPFS_ASSIGN(const auto diff, pages.get({request.name, request.to, request.first}, find));
  Json changes = changes_json(*diff, request.first);
  pages.note_given(request.first + changes.size());
  return Json{
      {"compared", compared_json(*diff)}, {"total_changes", diff->changes.size()}, {"changes", std::move(changes)}};
}

Result<nlohmann::json> run_snapshot_request(FuseMount& mount, DiffPages& pages, const SnapshotRequest& request,
                                            const ControlServer::StillWanted& wanted) {
  Filesystem& filesystem = mount.filesystem();
  switch (request.action) {
    case SnapshotRequest::Action::kDiff: return diff_page(filesystem, pages, request, wanted);
    case SnapshotRequest::Action::kList: break;
    case SnapshotRequest::Action::kCreate:
      if (request.created_unix_seconds > std::time(nullptr))  // none is less than any
        return Error{ErrorCode::kInvalidArgument,
                     "the date of snapshot '" + request.name + "' is yet to come: \"created_unix_seconds\""};
      DEDUPFS_TRY(filesystem.create_snapshot(request.name, request.created_unix_seconds));
      break;
    case SnapshotRequest::Action::kDelete: DEDUPFS_TRY(filesystem.delete_snapshot(request.name)); break;
    case SnapshotRequest::Action::kHold:
      DEDUPFS_TRY(filesystem.hold_snapshot(request.name, request.until_unix_seconds));
      break;
    case SnapshotRequest::Action::kRelease: DEDUPFS_TRY(filesystem.release_snapshot(request.name)); break;
    case SnapshotRequest::Action::kRollBack: {
      DEDUPFS_TRY(filesystem.check_no_writer_waits());
      const auto roll_back = [&] {
        const QuiesceGate::Closure alone(mount.requests());
        return filesystem.roll_back(request.name);
      };
      DEDUPFS_ASSIGN(const auto changed, roll_back());
      mount.invalidate(changed);
    }
  }
  return nlohmann::json{{"snapshots", snapshots_json(filesystem.snapshots(), filesystem.held_snapshots())}};
}

Result<nlohmann::json> run_quota_request(Filesystem& filesystem, const QuotaRequest& request,
                                         const ControlServer::StillWanted& wanted, const ControlServer::Tell& tell) {
  switch (request.action) {
    case QuotaRequest::Action::kList:
      if (!filesystem.volume().read_only()) DEDUPFS_TRY(filesystem.measure_quotas(wanted));
      break;
    case QuotaRequest::Action::kSet: {
      WatchedJob job(filesystem, "quota", wanted, tell);
      DEDUPFS_TRY(filesystem.set_quota(request.inode, request.limits, job.go_on(), job.meter()));
      break;
    }
    case QuotaRequest::Action::kRemove: DEDUPFS_TRY(filesystem.remove_quota(request.inode));
  }
  DEDUPFS_ASSIGN(const auto paths, filesystem.quota_paths());
  return nlohmann::json{{"quotas", quotas_json(filesystem.quotas(), paths)}};
}

// Those who may ask here may see paths.
Result<nlohmann::json> statistics_with_paths(FuseMount& mount, const BackgroundShipper* shipper) {
  DEDUPFS_ASSIGN(nlohmann::json statistics, committed_statistics(mount, shipper));
  DEDUPFS_ASSIGN(const auto paths, mount.filesystem().quota_paths());
  statistics["quotas"] = quotas_json(mount.filesystem().quotas(), paths);
  return statistics;
}

Result<MetricsFormat> metrics_format_of(const nlohmann::json& asked) {
  const std::string format = asked.value("format", "prometheus");
  if (format == "prometheus") return MetricsFormat::kPrometheus;
  if (format == "openmetrics") return MetricsFormat::kOpenMetrics;
  return Error{ErrorCode::kInvalidArgument, "\"" + format + "\" is not a format of metrics: prometheus, openmetrics"};
}

}  // namespace

ControlServer::Handlers control_handlers(FuseMount& mount, const MountRequest& request, BackgroundShipper* shipper,
                                         const std::shared_ptr<RunningTransfers>& transfers) {
  Filesystem& filesystem = mount.filesystem();
  const auto pages = std::make_shared<DiffPages>();
  ControlServer::Handlers handlers = {
      {"sync",
       [&filesystem](const Json&) -> Result<Json> {
         DEDUPFS_TRY(filesystem.sync());
         return Json{{"landed_bytes", filesystem.volume().containers().landed_bytes().value_or(0)}};
       }},
      {"statistics",
       [&mount, &filesystem, shipper](const Json&) -> Result<Json> {
         DEDUPFS_TRY(filesystem.sync_what_fits());
         DEDUPFS_ASSIGN(const Json statistics, statistics_with_paths(mount, shipper));
         return Json{{"statistics", statistics}};
       }},
      {"metrics",
       [&mount, &filesystem, &request, shipper](const Json& asked) -> Result<Json> {
         DEDUPFS_ASSIGN(const MetricsFormat format, metrics_format_of(asked));
         DEDUPFS_ASSIGN(const Json statistics, statistics_with_paths(mount, shipper));
         DEDUPFS_ASSIGN(const SpaceReport space, filesystem.space());
         return Json{{"metrics", metrics_text(statistics,
                                              {.volume = request.volume.string(),
                                               .mountpoint = request.mountpoint.string(),
                                               .read_only = request.options.read_only,
                                               .available_bytes = space.available_bytes},
                                              format)}};
       }},
      {"history",
       [&filesystem](const Json&) -> Result<Json> {
         DEDUPFS_ASSIGN(const History history, read_history(filesystem.volume().metadata(), std::time(nullptr)));
         return Json{{"samples", history_json(history)}};
       }},
      {"live", [&mount](const Json&) -> Result<Json> { return live_statistics(mount); }},
      {"files",
       [&filesystem](const Json& asked) -> Result<Json> {
         DEDUPFS_TRY(filesystem.sync_what_fits());
         DEDUPFS_ASSIGN(const auto inodes, inodes_of(asked));
         DEDUPFS_ASSIGN(const auto statistics, compute_file_statistics(filesystem.volume(), inodes));
         return Json{{"files", file_statistics_json(statistics)}};
       }},
      {"freed",
       [&filesystem](const Json& asked, const ControlServer::StillWanted& wanted,
                     const ControlServer::Tell& tell) -> Result<Json> {
         DEDUPFS_ASSIGN(const DeletedSet deleted, deleted_set_of(asked));
         WatchedJob job(filesystem, "freed", wanted, tell);
         DEDUPFS_TRY(filesystem.sync_what_fits());
         DEDUPFS_ASSIGN(const Share share, compute_deletion(filesystem.volume(), deleted, job.go_on(), job.meter()));
         return Json{{"freed", deletion_json(share)}};
       }},
      {"folders",
       [&filesystem](const Json& asked, const ControlServer::StillWanted& wanted,
                     const ControlServer::Tell& tell) -> Result<Json> {
         DEDUPFS_ASSIGN(const auto inodes, inodes_of(asked));
         WatchedJob job(filesystem, "folders", wanted, tell);
         DEDUPFS_TRY(filesystem.sync_what_fits());
         DEDUPFS_ASSIGN(const auto shares,
                        compute_folder_shares(filesystem.volume(), inodes, job.go_on(), job.meter()));
         return Json{{"folders", folder_shares_json(shares)}};
       }},
      {"snapshot_sizes",
       [&filesystem](const Json&, const ControlServer::StillWanted& wanted,
                     const ControlServer::Tell& tell) -> Result<Json> {
         WatchedJob job(filesystem, "snapshot_sizes", wanted, tell);
         DEDUPFS_TRY(filesystem.sync_what_fits());
         DEDUPFS_ASSIGN(const auto shares, compute_snapshot_shares(filesystem.volume(), job.go_on(), job.meter()));
         return Json{{"sizes", snapshot_shares_json(shares)}};
       }},
      {"scrub",
       [&filesystem](const Json& asked) -> Result<Json> {
         DEDUPFS_ASSIGN(const ScrubRequest scrub, scrub_request_of(asked));
         DEDUPFS_TRY(run_scrub_request(filesystem.scrubber(), scrub));
         const ScrubStatus status = filesystem.scrubber().status();
         return Json{{"scrub", scrub_json(status, filesystem.damaged_files())}};
       }},
      {"reclaim",
       [&filesystem](const Json& asked) -> Result<Json> {
         DEDUPFS_ASSIGN(const ReclaimRequest reclaim, reclaim_request_of(asked));
         if (filesystem.volume().read_only())
           return Error{ErrorCode::kReadOnly, "the volume is mounted read-only; mount it for writing to reclaim space"};
         DEDUPFS_TRY(run_reclaim_request(filesystem.reclaimer(), reclaim));
         return Json{{"reclaim", reclaim_json(filesystem.reclaimer().status())}};
       }},
      {"remote",
       [shipper](const Json& asked) -> Result<Json> {
         if (shipper == nullptr)
           return Error{
               ErrorCode::kInvalidArgument,
               "the mounted volume is not shipped: it is read-only or a copy, or was attached after the mount"};
         DEDUPFS_ASSIGN(const RemoteRequest remote, remote_request_of(asked));
         Json answer;
         if (remote.action == RemoteRequest::Action::kPush) answer["awaited_tries"] = shipper->ship_soon(remote.grace);
         answer["remote"] = replication_json(shipper->status());
         return answer;
       }},
      {"snapshot",
       [&mount, pages](const Json& asked, const ControlServer::StillWanted& wanted) -> Result<Json> {
         DEDUPFS_ASSIGN(const SnapshotRequest snapshot, snapshot_request_of(asked));
         return run_snapshot_request(mount, *pages, snapshot, wanted);
       }},
      {"quota",
       [&filesystem](const Json& asked, const ControlServer::StillWanted& wanted,
                     const ControlServer::Tell& tell) -> Result<Json> {
         DEDUPFS_ASSIGN(const QuotaRequest quota, quota_request_of(asked));
         return run_quota_request(filesystem, quota, wanted, tell);
       }},
      {"clone",
       [&mount](const Json& asked, const ControlServer::StillWanted& wanted,
                const ControlServer::Tell& tell) -> Result<Json> {
         DEDUPFS_ASSIGN(const CloneRequest clone, clone_request_of(asked));
         WatchedJob job(mount.filesystem(), "clone", wanted, tell);
         DEDUPFS_ASSIGN(const CloneTotals totals, mount.filesystem().clone_tree(clone.from, clone.parent, clone.name,
                                                                                job.meter(), [&job] { job.look(); }));
         mount.invalidate({{clone.parent, clone.name}, {clone.parent, std::nullopt}});
         if (mount.is_dirsync()) DEDUPFS_TRY(mount.sync());
         return clone_json(totals);
       }},
      {"transfer", [transfers](const Json& asked) { return transfers->answer(asked); }},
      {"received", [&mount](const Json& asked) { return received_token(mount, asked); }},
      {"remount",
       [&mount](const Json& asked) -> Result<Json> {
         const RemountRequest remount = remount_request_of(asked);
         mount.set_synchronous(remount.sync, remount.dirsync);
         return Json::object();
       }},
      {"info",
       [&mount, &filesystem, &request](const Json&) -> Result<Json> {
         return Json{{"pid", ::getpid()},
                     {"device", mount.device()},
                     {"version", request.version},
                     {"volume", request.volume.string()},
                     {"mountpoint", request.mountpoint.string()},
                     {"options", format_own_options(request.options)},
                     {"read_only", request.options.read_only},
                     {"dirty_bytes", filesystem.dirty_bytes()},
                     {"memory_bytes", resident_bytes()}};
       }},
  };
  for (auto& [name, handler] : handlers)
    handler = [pages, handle = std::move(handler)](const Json& asked, const ControlServer::StillWanted& wanted,
                                                   const ControlServer::Tell& tell) {
      pages->drop_old();
      return handle(asked, wanted, tell);
    };
  return handlers;
}

}  // namespace dedupfs
