#include "mount/daemon/hardening.h"

#include <spdlog/spdlog.h>
#include <sys/capability.h>
#include <sys/prctl.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <fstream>
#include <memory>

#include "store/seal/secret.h"

namespace dedupfs {

namespace {

constexpr std::array kKeptCapabilities = {
    CAP_SYS_ADMIN,     // mount and unmount
    CAP_DAC_OVERRIDE,  // a volume or a log file of another user
    CAP_SYS_RESOURCE,  // the blocks that a disk reserves for root: a commit on a disk that others have filled
};

// As servers whose death costs more than that of any program: PostgreSQL has it, too. Not -1000, which would hide a leak for ever.
constexpr int kOomScore = -900;

void report_failure(const char* what) {
  spdlog::warn("the daemon runs with more privileges than it needs: {}: {}", what, std::strerror(errno));
}

bool is_kept(cap_value_t capability) {
  return std::ranges::find(kKeptCapabilities, capability) != kKeptCapabilities.end();
}

void drop_capabilities() {
  const auto free_capabilities = [](cap_t capabilities) { ::cap_free(capabilities); };
  using Capabilities = std::unique_ptr<std::remove_pointer_t<cap_t>, decltype(free_capabilities)>;
  const Capabilities had(::cap_get_proc());
  const Capabilities kept(::cap_init());
  if (!had || !kept) return report_failure("capabilities");
  for (cap_value_t capability = 0; capability < ::cap_max_bits(); ++capability) {
    if (!is_kept(capability)) {
      // The bounding set, too: a program that root starts would have them all again.
      if (::cap_get_bound(capability) > 0 && ::cap_drop_bound(capability) != 0) report_failure("bounding set");
      continue;
    }
    cap_flag_value_t is_permitted = CAP_CLEAR;
    if (::cap_get_flag(had.get(), capability, CAP_PERMITTED, &is_permitted) != 0 || is_permitted == CAP_CLEAR) continue;
    for (const cap_flag_t set : {CAP_PERMITTED, CAP_EFFECTIVE})
      ::cap_set_flag(kept.get(), set, 1, &capability, CAP_SET);
  }
  if (::cap_set_proc(kept.get()) != 0) report_failure("capabilities");
}

// Keeps a value that was set before, for example by a systemd unit.
void lower_oom_score() {
  constexpr const char* kFile = "/proc/self/oom_score_adj";
  int score = 0;
  if (!(std::ifstream(kFile) >> score) || score != 0) return;
  std::ofstream file(kFile);
  file << kOomScore << std::flush;
  if (!file) spdlog::debug("{} could not be changed", kFile);
}

}  // namespace

void harden_process(const Hardening& hardening) {
  // The cache holds data that users may not read of each other.
  if (!hardening.core_dump && !forbid_core_files()) report_failure("core dumps");
  if (!hardening.is_root) return;  // whose unmounting needs fusermount3, a set-user-id program
  lower_oom_score();
  drop_capabilities();
  if (::prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0) report_failure("no_new_privs");
}

}  // namespace dedupfs
