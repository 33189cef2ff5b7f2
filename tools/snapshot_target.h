// The snapshots of a volume for dedupfs-snapshot: through its daemon if it is mounted, else in the volume itself.
//
// Threads: one user at a time.
// Failure: errors of the daemon or of the filesystem; kBusy if somebody else has opened the volume without a daemon.
#pragma once

#include <cstdint>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include "base/backing.h"
#include "base/result.h"
#include "fs/namespace/filesystem.h"
#include "mount/reports/snapshot_report.h"
#include "volume_disk.h"

namespace dedupfs::tools {

class RequestProgress;

class SnapshotTarget {
 public:
  struct Snapshots {
    std::vector<SnapshotRecord> all;  // the first made first
    Holds holds;
  };

  // A volume without a daemon is opened only to read it, or to change it. Reading writes nothing in its folder.
  enum class Access { kRead, kChange };

  static Result<SnapshotTarget> open(const Path& path, Access access, bool foreign,
                                     const std::shared_ptr<Backing>& backing = volume_disk());

  // Each returns the list after its change.
  Result<Snapshots> list();
  // A date is that of what it is a copy of, not later than now; none: now. kUnsupported if the daemon is older than dates.
  Result<Snapshots> create(const std::string& name, const std::optional<std::int64_t>& created_unix_seconds = {});
  Result<Snapshots> remove(const std::string& name);
  Result<Snapshots> roll_back(const std::string& name);
  Result<Snapshots> hold(const std::string& name, const std::optional<std::int64_t>& until_unix_seconds);
  Result<Snapshots> release(const std::string& name);

  // The object that `dedupfs-snapshot diff --json` prints, without its version. `to` none: the present.
  Result<nlohmann::json> diff(const std::string& from, const std::optional<std::string>& to);

  // What each snapshot takes: the object of snapshot_shares_json().
  Result<nlohmann::json> sizes(RequestProgress& progress);

  Result<void> close();

 private:
  Result<Snapshots> ask(nlohmann::json request) const;
  Result<void> write_back() const;
  Result<nlohmann::json> ask_for_changes(const nlohmann::json& request, nlohmann::json& changes) const;

  Path volume_;
  std::unique_ptr<Filesystem> filesystem_;  // null if its daemon is asked
};

}  // namespace dedupfs::tools
