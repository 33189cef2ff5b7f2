#include "mount/fuse/fuse_caller.h"

#include <fmt/format.h>
#include <linux/capability.h>

#include <algorithm>
#include <csignal>
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

bool says_killed(std::istream& status) {
  std::uint64_t pending = 0;  // of the thread and of its process
  std::uint64_t kept = 0;     // blocked, ignored or handled
  for (std::string line; std::getline(status, line);) {
    std::istringstream fields(line);
    std::string name;
    std::uint64_t signals = 0;
    fields >> name >> std::hex >> signals;
    if (!fields) continue;
    if (name == "SigPnd:" || name == "ShdPnd:") pending |= signals;
    if (name == "SigBlk:" || name == "SigIgn:" || name == "SigCgt:") kept |= signals;
  }
  constexpr auto bit_of = [](int signal) { return std::uint64_t{1} << (signal - 1); };
  // The kernel makes SIGKILL of all that end a process, but for those that leave an image of it.
  constexpr std::uint64_t kWithImage = bit_of(SIGQUIT) | bit_of(SIGILL) | bit_of(SIGTRAP) | bit_of(SIGABRT) |
                                       bit_of(SIGBUS) | bit_of(SIGFPE) | bit_of(SIGSEGV) | bit_of(SIGXCPU) |
                                       bit_of(SIGXFSZ) | bit_of(SIGSYS);
  return (pending & bit_of(SIGKILL)) != 0 || (pending & kWithImage & ~kept) != 0;
}

bool is_being_killed(pid_t thread) {
  if (thread <= 0) return false;
  std::ifstream status(fmt::format("/proc/{}/status", thread));
  return says_killed(status);
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
