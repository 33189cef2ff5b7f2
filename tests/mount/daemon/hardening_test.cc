// What the system says of a process that was hardened.
#include "mount/daemon/hardening.h"

#include <gtest/gtest.h>
#include <linux/capability.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <unistd.h>

#include <cstdint>
#include <fstream>
#include <string>

#include "support/child_process.h"

namespace dedupfs {
namespace {

std::string status_of(const std::string& field) {
  std::ifstream status("/proc/self/status");
  for (std::string line; std::getline(status, line);)
    if (line.starts_with(field + ":\t")) return line.substr(field.size() + 2);
  ADD_FAILURE() << "no " << field;
  return "0";
}
std::uint64_t capabilities(const std::string& set) {
  return std::stoull(status_of(set), nullptr, 16);
}
int oom_score() {
  int score = 0;
  std::ifstream("/proc/self/oom_score_adj") >> score;
  return score;
}
rlim_t core_limit() {
  rlimit limit{};
  ::getrlimit(RLIMIT_CORE, &limit);
  return limit.rlim_cur;
}

constexpr std::uint64_t kKept = (1u << CAP_SYS_ADMIN) | (1u << CAP_DAC_OVERRIDE) | (1u << CAP_SYS_RESOURCE);

TEST(Hardening, OfRootThreeCapabilitiesAreLeft) {
  if (::geteuid() != 0) GTEST_SKIP() << "only root has capabilities";
  in_child_process([] {
    const std::uint64_t before = capabilities("CapEff");
    harden_process({.is_root = true});
    EXPECT_EQ(capabilities("CapEff"), before & kKept);
    EXPECT_EQ(capabilities("CapPrm"), before & kKept);
    EXPECT_EQ(capabilities("CapInh"), 0u);
    if (before & (1u << CAP_SETPCAP)) {
      EXPECT_EQ(capabilities("CapBnd") & ~kKept, 0u) << "a program that it starts would have them again";
    }
  });
}

TEST(Hardening, OfRootNoProgramGivesPrivilegesBack) {
  in_child_process([] {
    harden_process({.is_root = true});
    EXPECT_EQ(status_of("NoNewPrivs"), "1");
  });
}

// Its unmounting needs fusermount3, a set-user-id program.
TEST(Hardening, AnotherUserKeepsWhatItHas) {
  in_child_process([] {
    const std::uint64_t before = capabilities("CapEff");
    harden_process({.is_root = false});
    EXPECT_EQ(capabilities("CapEff"), before);
    EXPECT_EQ(status_of("NoNewPrivs"), "0");
  });
}

TEST(Hardening, NoMemoryIsDumpedAndNoDebuggerComesIn) {
  for (const bool is_root : {false, true}) {
    in_child_process([is_root] {
      const rlimit generous{.rlim_cur = 1 << 20, .rlim_max = 1 << 20};
      ::setrlimit(RLIMIT_CORE, &generous);
      harden_process({.is_root = is_root});
      EXPECT_EQ(core_limit(), 0u);
      EXPECT_EQ(::prctl(PR_GET_DUMPABLE), 0);
    });
  }
}

TEST(Hardening, WhoAsksForCoreFilesGetsThem) {
  in_child_process([] {
    const rlim_t before = core_limit();
    harden_process({.is_root = true, .core_dump = true});
    EXPECT_EQ(core_limit(), before);
    EXPECT_EQ(::prctl(PR_GET_DUMPABLE), 1);
  });
}

TEST(Hardening, TheDaemonOfRootIsKilledLate) {
  if (::geteuid() != 0) GTEST_SKIP() << "only root may lower it";
  in_child_process([] {
    std::ofstream("/proc/self/oom_score_adj") << 0 << std::flush;
    const bool may_lower = (std::ofstream("/proc/self/oom_score_adj") << -1 << std::flush).good();
    if (!may_lower) ::_exit(kNotAllowedHere);
    std::ofstream("/proc/self/oom_score_adj") << 0 << std::flush;
    harden_process({.is_root = true});
    EXPECT_EQ(oom_score(), -900);
  });
}

TEST(Hardening, AScoreThatSomebodyChoseIsKept) {
  in_child_process([] {
    std::ofstream("/proc/self/oom_score_adj") << 300 << std::flush;
    harden_process({.is_root = true});
    EXPECT_EQ(oom_score(), 300);
  });
}

}  // namespace
}  // namespace dedupfs
