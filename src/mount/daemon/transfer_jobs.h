// Sending and receiving snapshots of a mounted volume: the commands that stream data, and those that ask how far one is, and how far a receive
// got.
//
// Threads: free functions; the jobs run in threads of their own, beside requests of the kernel.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>

#include "base/mutex.h"
#include "base/result.h"
#include "mount/control/stream_jobs.h"
#include "mount/fuse/fuse_mount.h"

namespace dedupfs {

// How far streams are that are under way, by the names that their clients gave them. From any thread.
class RunningTransfers {
 public:
  struct Done {
    std::uint64_t stream_bytes = 0;
    std::uint64_t done_bytes = 0;     // of the content
    std::uint64_t content_bytes = 0;  // 0: not known yet
  };

  // One without a name is not noted.
  void note(const std::string& name, const Done& done);
  void end(const std::string& name);
  // Answers {"command": "transfer", "transfer": NAME}. kNotFound: no stream of that name is under way.
  Result<nlohmann::json> answer(const nlohmann::json& request) const;

 private:
  mutable Mutex mutex_;
  std::map<std::string, Done> running_ DEDUPFS_GUARDED_BY(mutex_);
};

// "send" and "receive". The mount outlives the jobs.
StreamJobs::Jobs transfer_jobs(FuseMount& mount, const std::shared_ptr<RunningTransfers>& running);
// Answers {"command": "received", "folder": "copies/anna"}.
Result<nlohmann::json> received_token(FuseMount& mount, const nlohmann::json& request);

}  // namespace dedupfs
