// The sender of a FUSE request, and its rights according to /proc.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <istream>
#include <optional>
#include <vector>

#include "fs/format/types.h"
#include "mount/fuse/fuse_api.h"

namespace dedupfs {

struct ProcessRights {
  std::vector<std::uint32_t> groups;
  bool fsetid = false;  // CAP_FSETID is in the effective set

  bool operator==(const ProcessRights&) const = default;
};

// From the text of /proc/PID/status; nothing if a line is missing.
std::optional<ProcessRights> parse_process_status(std::istream& status);
// Nothing if the thread is in another PID namespace (0), or its status cannot be read. A capability counts only where the user
// namespace is ours.
std::optional<ProcessRights> rights_of_thread(pid_t thread);

// From the text of /proc/PID/status: whether a signal that ends the process is on its way. One that it handles, ignores or blocks is not.
bool says_killed(std::istream& status);
// False if that cannot be known, too.
bool is_being_killed(pid_t thread);

// The caller of a request, for as long as the request is not answered. Rights that cannot be known: root keeps set-id bits,
// nobody else has supplementary groups.
class FuseCaller final : public CallerRights {
 public:
  explicit FuseCaller(fuse_req_t req);
  FuseCaller(const FuseCaller&) = delete;
  FuseCaller& operator=(const FuseCaller&) = delete;

  // NOLINTNEXTLINE(google-explicit-constructor): stands wherever a Caller is wanted
  operator const Caller&() const { return caller_; }

  bool has_supplementary_group(std::uint32_t gid) const override;
  bool may_keep_set_ids() const override;
  // Set-id bits were at stake: the operation may have taken them away.
  bool was_asked() const { return asked_; }

 private:
  const std::optional<ProcessRights>& rights() const;

  Caller caller_;
  const pid_t thread_;
  mutable bool asked_ = false;
  mutable std::optional<ProcessRights> rights_;
};

inline FuseCaller caller_of(fuse_req_t req) {
  return FuseCaller(req);
}

}  // namespace dedupfs
