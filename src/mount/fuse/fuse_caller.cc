#include "mount/fuse/fuse_caller.h"

#include <fmt/format.h>
#include <linux/capability.h>

#include <algorithm>
#include <fstream>
#include <iterator>
#include <sstream>
#include <string>

#include "base/text_of_file.h"

namespace dedupfs {

namespace {

// The ids in the user namespace of a process. Only a privileged process of our own namespace can make another namespace with the
// same ids.
std::string id_map(const std::string& process) {
  return text_of_file("/proc/" + process + "/uid_map");
}

}  // namespace

std::optional<ProcessRights> parse_process_status(std::istream& status) {
  ProcessRights rights;
  bool has_groups = false;
  bool has_capabilities = false;
  for (std::string line; std::getline(status, line);) {
    std::istringstream fields(line);
    std::string name;
    fields >> name;
    if (name == "Groups:") {
      rights.groups.assign(std::istream_iterator<std::uint32_t>(fields), {});
      has_groups = fields.eof();
    } else if (name == "CapEff:") {
      std::uint64_t capabilities = 0;
      has_capabilities = static_cast<bool>(fields >> std::hex >> capabilities);
      rights.fsetid = (capabilities >> CAP_FSETID & 1) != 0;
    }
  }
  if (!has_groups || !has_capabilities) return std::nullopt;
  return rights;
}

std::optional<ProcessRights> rights_of_thread(pid_t thread) {
  if (thread <= 0) return std::nullopt;
  const std::string name = std::to_string(thread);
  std::ifstream status("/proc/" + name + "/status");
  std::optional<ProcessRights> rights = parse_process_status(status);
  if (rights && rights->fsetid) rights->fsetid = id_map(name) == id_map("self");
  return rights;
}

FuseCaller::FuseCaller(fuse_req_t req) : thread_(fuse_req_ctx(req)->pid) {
  const fuse_ctx& context = *fuse_req_ctx(req);
  caller_ = {
      .uid = context.uid, .gid = context.gid, .umask = static_cast<std::uint32_t>(context.umask), .rights = this};
}

const std::optional<ProcessRights>& FuseCaller::rights() const {
  if (!asked_) rights_ = rights_of_thread(thread_);
  asked_ = true;
  return rights_;
}

bool FuseCaller::has_supplementary_group(std::uint32_t gid) const {
  return rights() && std::ranges::find(rights()->groups, gid) != rights()->groups.end();
}

bool FuseCaller::may_keep_set_ids() const {
  return rights() ? rights()->fsetid : caller_.uid == 0;
}

}  // namespace dedupfs
