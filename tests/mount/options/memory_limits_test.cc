#include "mount/options/memory_limits.h"

#include <gtest/gtest.h>

#include <fstream>
#include <string>

#include "support/temp_dir.h"
#include "support/units.h"

namespace dedupfs {
namespace {

TEST(MemoryLimits, OnAMachineOf4GiBTheyAreWhatTheyAlwaysWere) {
  const MemoryLimits limits = memory_limits_for(4 * kGiB, 4);

  EXPECT_EQ(limits.cache, 256 * kMiB);
  EXPECT_EQ(limits.index, 256 * kMiB);
  EXPECT_EQ(limits.dirty, 256 * kMiB);
  EXPECT_EQ(limits.waiting_regions, 32 * kMiB);
  EXPECT_EQ(limits.shipping, 144 * kMiB);
  EXPECT_EQ(limits.group, 64 * kMiB);
  EXPECT_EQ(limits.malloc_arenas, 4u);
  EXPECT_EQ(limits.malloc_mmap_threshold, 0u);
  EXPECT_EQ(limits.fuse_threads, 32u);
}

TEST(MemoryLimits, OnASmallMachineAllOfThemShrink) {
  const MemoryLimits limits = memory_limits_for(kGiB, 8);

  EXPECT_EQ(limits.cache, 64 * kMiB);
  EXPECT_EQ(limits.index, 64 * kMiB);
  EXPECT_EQ(limits.dirty, 64 * kMiB);
  EXPECT_LE(limits.cache + limits.index + limits.dirty + limits.waiting_regions + limits.shipping + 4 * limits.group,
            350 * kMiB);
  EXPECT_EQ(limits.malloc_arenas, 2u);
  EXPECT_EQ(limits.fuse_threads, 32u);
}

TEST(MemoryLimits, HoweverLittleThereIsEachHasWhatTheOptionsAllow) {
  const MemoryLimits limits = memory_limits_for(64 * kMiB, 1);

  EXPECT_EQ(limits.cache, 16 * kMiB);
  EXPECT_EQ(limits.index, 16 * kMiB);
  EXPECT_EQ(limits.dirty, 16 * kMiB);
}

TEST(MemoryLimits, WithLittleMemoryFewThreadsHoldRequestsAndLargeBlocksDoNotStayInTheHeap) {
  const MemoryLimits limits = memory_limits_for(64 * kMiB, 8);

  EXPECT_EQ(limits.fuse_threads, 4u);
  EXPECT_EQ(limits.malloc_mmap_threshold, 128u << 10);
}

TEST(MemoryLimits, OnALargeMachineTheCachesGrow) {
  const MemoryLimits limits = memory_limits_for(256 * kGiB, 64);

  EXPECT_EQ(limits.cache, 4 * kGiB);
  EXPECT_EQ(limits.index, 4 * kGiB);
  EXPECT_EQ(limits.dirty, 256 * kMiB);
  EXPECT_EQ(limits.group, 64 * kMiB);
}

class MemoryOfMachine : public testing::Test {
 protected:
  MemoryOfMachine() { write("proc/meminfo", "MemTotal:        8388608 kB\nMemFree:         1 kB\n"); }

  void write(const std::filesystem::path& path, const std::string& content) {
    std::filesystem::create_directories((root_.path() / path).parent_path());
    std::ofstream(root_.path() / path) << content;
  }
  std::uint64_t memory() const { return memory_of_machine(root_.path()); }
  std::uint64_t available() const { return available_memory(root_.path()); }

 private:
  TempDir root_;
};

TEST_F(MemoryOfMachine, WithoutAGroupItIsThatOfTheMachine) {
  EXPECT_EQ(memory(), 8 * kGiB);
  write("proc/self/cgroup", "0::/\n");
  EXPECT_EQ(memory(), 8 * kGiB);
}

TEST_F(MemoryOfMachine, AGroupOfVersion2LimitsItAndSoDoThoseAboveIt) {
  write("proc/self/cgroup", "0::/system.slice/backup.service\n");
  write("sys/fs/cgroup/system.slice/backup.service/memory.max", "max\n");
  EXPECT_EQ(memory(), 8 * kGiB);

  write("sys/fs/cgroup/system.slice/memory.max", "2147483648\n");
  EXPECT_EQ(memory(), 2 * kGiB);

  write("sys/fs/cgroup/system.slice/backup.service/memory.max", "1073741824\n");
  EXPECT_EQ(memory(), kGiB);
}

TEST_F(MemoryOfMachine, WhatIsAvailableOfItIsNeverMore) {
  EXPECT_EQ(available(), 8 * kGiB) << "nothing tells what is available";

  write("proc/meminfo", "MemTotal:        8388608 kB\nMemAvailable:    3145728 kB\n");
  EXPECT_EQ(available(), 3 * kGiB);

  write("proc/self/cgroup", "0::/backup\n");
  write("sys/fs/cgroup/backup/memory.max", "1073741824\n");
  EXPECT_EQ(available(), kGiB);
}

TEST_F(MemoryOfMachine, AGroupOfVersion1LimitsIt) {
  write("proc/self/cgroup", "5:cpu,cpuacct:/other\n4:memory:/user/one\n0::/user\n");
  write("sys/fs/cgroup/memory/user/one/memory.limit_in_bytes", "9223372036854771712\n");
  EXPECT_EQ(memory(), 8 * kGiB);

  write("sys/fs/cgroup/memory/user/memory.limit_in_bytes", "536870912\n");
  EXPECT_EQ(memory(), kGiB / 2);
}

TEST_F(MemoryOfMachine, WhatIsNoNumberIsNoLimit) {
  write("proc/self/cgroup", "nonsense\n0::\n:::\n0::/a\n");
  write("sys/fs/cgroup/a/memory.max", "12x");
  EXPECT_EQ(memory(), 8 * kGiB);
}

TEST(MemoryLimits, SwapIsWhatTheSystemLists) {
  const TempDir root;
  EXPECT_FALSE(has_swap(root.path()));
  std::filesystem::create_directory(root.path() / "proc");
  std::ofstream(root.path() / "proc/swaps") << "Filename Type Size Used Priority\n";
  EXPECT_FALSE(has_swap(root.path()));
  std::ofstream(root.path() / "proc/swaps", std::ios::app) << "/dev/sda2 partition 1000 0 -2\n";
  EXPECT_TRUE(has_swap(root.path()));
}

}  // namespace
}  // namespace dedupfs
