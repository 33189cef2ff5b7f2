#include "mount/options/mount_options.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/mount.h>

namespace dedupfs {
namespace {

using ::testing::AllOf;
using ::testing::Contains;
using ::testing::HasSubstr;
using ::testing::Not;
using Atime = FilesystemOptions::Atime;

MountOptions parsed(std::string_view list) {
  auto options = parse_mount_options(list);
  EXPECT_TRUE(options) << list << ": " << (options ? "" : options.error().message());
  return options ? *options : MountOptions();
}

std::string error_of(std::string_view list) {
  const auto options = parse_mount_options(list);
  EXPECT_FALSE(options) << list;
  return options ? "" : options.error().message();
}

TEST(MountOptions, AnEmptyListGivesTheDefaults) {
  EXPECT_EQ(parsed(""), MountOptions());
  EXPECT_EQ(parsed(",,"), MountOptions());
  EXPECT_EQ(parsed("rw,defaults"), MountOptions());
}

TEST(MountOptions, ReadsItsOwnOptions) {
  const MountOptions options = parsed(
      "cache=1g,index_mem=512m,dirty=64m,commit=30,checkpoint=3600,threads=3,readahead=0,rewrite=20,direct_io=off,"
      "gather=30,log=/var/log/x,key_file=/root/key,passphrase_command=pass show backup,keyring=backup");

  EXPECT_EQ(options.cache_bytes, 1u << 30);
  EXPECT_EQ(options.index_memory_bytes, 512u << 20);
  EXPECT_EQ(options.dirty_bytes, 64u << 20);
  EXPECT_EQ(options.commit_interval, std::chrono::seconds(30));
  EXPECT_EQ(options.checkpoint_interval, std::chrono::hours(1));
  EXPECT_EQ(options.threads, 3u);
  EXPECT_EQ(options.read_ahead_bytes, 0u);
  EXPECT_EQ(options.defragment_percent, 20u);
  EXPECT_EQ(options.gather_percent, 30u);
  EXPECT_EQ(options.direct_io, DirectIo::kOff);
  EXPECT_EQ(options.log_file, "/var/log/x");
  EXPECT_EQ(options.key_file, "/root/key");
  EXPECT_EQ(options.passphrase_command, "pass show backup");
  EXPECT_EQ(options.keyring, "backup");
}

TEST(MountOptions, ReadsWhenAndHowMuchIsSettled) {
  EXPECT_EQ(parsed("").settle, SettleMode::kIdle);
  EXPECT_EQ(parsed("settle=idle").settle, SettleMode::kIdle);
  EXPECT_EQ(parsed("settle=always").settle, SettleMode::kAlways);
  EXPECT_EQ(parsed("settle=off").settle, SettleMode::kOff);
  EXPECT_EQ(parsed("").settle_cpu_percent, 100u);
  EXPECT_EQ(parsed("settle_cpu=1").settle_cpu_percent, 1u);
  EXPECT_EQ(parsed("settle_cpu=100").settle_cpu_percent, 100u);
  EXPECT_EQ(parsed("").gather_percent, 100u);
  EXPECT_EQ(parsed("gather=0").gather_percent, 0u);

  EXPECT_THAT(error_of("settle=never"), AllOf(HasSubstr("settle=never"), HasSubstr("idle, always or off")));
  EXPECT_THAT(error_of("settle="), HasSubstr("idle, always or off"));
  EXPECT_THAT(error_of("settle_cpu=0"), AllOf(HasSubstr("settle_cpu=0"), HasSubstr("from 1 to 100")));
  EXPECT_THAT(error_of("settle_cpu=101"), HasSubstr("from 1 to 100"));
  EXPECT_THAT(error_of("gather=101"), AllOf(HasSubstr("gather=101"), HasSubstr("from 0 to 100")));

  for (const char* list : {"settle=always,settle_cpu=50,gather=0", "settle=off"})
    EXPECT_EQ(format_own_options(parsed(list)), list);
}

TEST(MountOptions, ReadsWhatABucketMayLack) {
  EXPECT_EQ(parsed("remote_cache=1g").remote_unshipped_bytes, std::nullopt);
  EXPECT_EQ(parsed("remote_unshipped=16m").remote_unshipped_bytes, 16u << 20);
  EXPECT_EQ(parsed("remote_unshipped=0").remote_unshipped_bytes, 0u);

  for (const char* wrong :
       {"remote_unshipped=1m", "remote_unshipped=", "remote_unshipped=-1", "remote_unshipped=2000g"})
    EXPECT_THAT(error_of(wrong), AllOf(HasSubstr(wrong), HasSubstr("from 16m to 1t"))) << wrong;

  for (const char* list : {"remote_unshipped=0", "remote_cache=1g,remote_unshipped=2g"})
    EXPECT_EQ(format_own_options(parsed(list)), list);
}

TEST(MountOptions, AcceptsWhatFstabLinesHold) {
  for (const char* list : {"auto",
                           "noauto",
                           "user",
                           "users",
                           "nouser",
                           "owner",
                           "group",
                           "nofail",
                           "_netdev",
                           "x-systemd.automount",
                           "x-systemd.requires=/srv",
                           "X-mount.mkdir",
                           "comment=a,rw",
                           "uhelper=x",
                           "diratime",
                           "nodiratime",
                           "iversion",
                           "silent",
                           "user=joe",
                           "default_permissions",
                           "user_id=0,group_id=0,rootmode=40000,max_read=131072",
                           "lazytime"}) {
    EXPECT_EQ(parsed(list), MountOptions()) << list;
  }
}

TEST(MountOptions, TheLastOfContraryFlagsCounts) {
  EXPECT_TRUE(parsed("rw,ro").read_only);
  EXPECT_FALSE(parsed("ro,rw").read_only);
  EXPECT_EQ(parsed("suid").suid, true);
  EXPECT_EQ(parsed("suid,nosuid").suid, false);
  EXPECT_EQ(parsed("allow_suid").suid, true);  // mount(8) passes it on
  EXPECT_EQ(parsed("allow_dev").dev, true);
  EXPECT_EQ(parsed("").suid, std::nullopt);
  EXPECT_FALSE(parsed("noexec").exec);
}

TEST(MountOptions, WhatHappensWhenTheDaemonDiesIsForTheOneWhoMounts) {
  EXPECT_THAT(libfuse_options(parsed(""), "/v", true), Not(HasSubstr("auto_unmount")));
  EXPECT_THAT(libfuse_options(parsed("auto_unmount"), "/v", true), HasSubstr(",auto_unmount"));
  EXPECT_FALSE(parsed("").core_dump);
  EXPECT_TRUE(parsed("core_dump").core_dump);
}

TEST(MountOptions, ReadsHowAccessTimesAreKept) {
  EXPECT_EQ(parsed("noatime").atime, Atime::kNever);
  EXPECT_EQ(parsed("noatime,relatime").atime, Atime::kRelative);
  EXPECT_EQ(parsed("strictatime").atime, Atime::kAlways);
}

TEST(MountOptions, RefusesWhatItDoesNotKnowAndNamesIt) {
  EXPECT_THAT(error_of("rw,cahce=1g"), AllOf(HasSubstr("unknown"), HasSubstr("cahce=1g"), HasSubstr("cache=")));
  EXPECT_THAT(error_of("ro=1"), HasSubstr("ro=1"));
  EXPECT_THAT(error_of("rw,=1"), HasSubstr("=1"));
  EXPECT_THAT(error_of("cache"), HasSubstr("needs a value"));
  EXPECT_TRUE(parse_mount_options("rw,cahce=1g", true));
}

TEST(MountOptions, AllThatThereAreAreListedWhereOneLooksForThem) {
  const std::string unknown = error_of("cahce=1g");
  const std::string help = "\n" + mount_options_help();

  for (const std::string name :
       {"cache", "index_mem", "dirty", "commit", "checkpoint", "threads", "readahead", "rewrite", "settle",
        "settle_cpu", "gather", "remote_unshipped", "direct_io", "log", "key_file", "passphrase_command", "keyring"}) {
    EXPECT_THAT(unknown, HasSubstr(" " + name + "=,")) << "as a word of the list";
    EXPECT_THAT(help, HasSubstr("\n  " + name + "=")) << "as a line of its own";
  }
  EXPECT_THAT(mount_option_words(), AllOf(Contains("cache="), Contains("log="), Contains("core_dump")));
  for (const std::string name : {"allow_other", "noallow_other", "auto_unmount", "core_dump"}) {
    EXPECT_THAT(unknown, HasSubstr(" " + name));
    EXPECT_THAT(help, HasSubstr("\n  " + name + " "));
  }
  for (const auto* value : {"cache=SIZE ", "commit=5 ", "checkpoint=600 ", "rewrite=5 ", "gather=100 ",
                            "direct_io=wronly ", "threads=N ", "log=FILE "})
    EXPECT_THAT(help, HasSubstr(value)) << "its default, if it has one that can be given";
}

TEST(MountOptions, RefusesValuesOutOfRangeAndSaysWhatIsAllowed) {
  EXPECT_THAT(error_of("cache=1k"), AllOf(HasSubstr("cache=1k"), HasSubstr("16m")));
  EXPECT_THAT(error_of("cache=much"), HasSubstr("16m"));
  EXPECT_THAT(error_of("commit=0"), HasSubstr("from 1 to 3600"));
  EXPECT_THAT(error_of("commit=5s"), HasSubstr("from 1 to 3600"));
  EXPECT_THAT(error_of("commit=99999999999999999999"), HasSubstr("from 1 to 3600"));
  EXPECT_THAT(error_of("threads=-1"), HasSubstr("threads=-1"));
  EXPECT_THAT(error_of("rewrite=101"), HasSubstr("from 0 to 100"));
  EXPECT_THAT(error_of("direct_io=on"), HasSubstr("wronly, off or all"));
  EXPECT_THAT(error_of("log=relative"), HasSubstr("absolute"));
  EXPECT_THAT(error_of("key_file="), HasSubstr("key_file="));
}

TEST(MountOptions, TheLastOfTwoEqualOptionsCounts) {
  EXPECT_EQ(parsed("cache=512m,nofail,cache=1g").cache_bytes, 1u << 30) << "fstab, then the command line";
  EXPECT_EQ(parsed("direct_io=all,log=/a,direct_io=off,log=/b").direct_io, DirectIo::kOff);
  EXPECT_EQ(parsed("log=/a,log=/b").log_file, "/b");
  EXPECT_THAT(error_of("cache=much,cache=1g"), HasSubstr("cache=much"))
      << "a mistake is named though it would not count";
}

TEST(MountOptions, OwnOptionsSurviveBeingFormatted) {
  const MountOptions options = parsed("cache=1g,commit=30,direct_io=all,log=/l");

  EXPECT_EQ(format_own_options(options), "cache=1g,commit=30,direct_io=all,log=/l");
  EXPECT_EQ(parsed(format_own_options(options)), options);
  EXPECT_EQ(format_own_options(MountOptions()), "");
}

TEST(MountOptions, AMountIsSafeUnlessToldOtherwise) {
  const std::string list = libfuse_options(parsed(""), "/srv/v", false);

  EXPECT_EQ(list, "fsname=/srv/v,subtype=dedupfs,default_permissions,nosuid,nodev");
  // libfuse has both off unless it is told.
  EXPECT_THAT(libfuse_options(parsed("suid,dev"), "/srv/v", true), HasSubstr(",suid,dev"));
}

TEST(MountOptions, OtherUsersAreLetInByRootOrOnRequest) {
  EXPECT_THAT(libfuse_options(parsed(""), "/v", true), HasSubstr(",allow_other"));
  EXPECT_THAT(libfuse_options(parsed("noallow_other"), "/v", true), Not(HasSubstr("allow_other")));
  EXPECT_THAT(libfuse_options(parsed("allow_other"), "/v", false), HasSubstr(",allow_other"));
}

TEST(MountOptions, APathWithACommaStaysOneOption) {
  EXPECT_THAT(libfuse_options(parsed(""), "/srv/a,allow_other\\", false),
              HasSubstr("fsname=/srv/a\\,allow_other\\\\,subtype"));
}

TEST(MountOptions, SecurityContextsAreHandedToTheKernelWhole) {
  const MountOptions options = parsed("context=\"system_u:object_r:t:s0:c1,c2\",ro");

  EXPECT_TRUE(options.read_only);
  EXPECT_THAT(libfuse_options(options, "/v", true), HasSubstr("context=\"system_u:object_r:t:s0:c1\\,c2\""));
}

TEST(MountOptions, FlagsOfARemountAreThoseOfTheMount) {
  EXPECT_EQ(mount_flags(parsed("")), MS_NOSUID | MS_NODEV);
  EXPECT_EQ(mount_flags(parsed("ro,suid,dev,noexec,noatime,sync,dirsync")),
            MS_RDONLY | MS_NOEXEC | MS_NOATIME | MS_SYNCHRONOUS | MS_DIRSYNC);
}

TEST(RemountOptions, MayMakeReadOnlyAndBack) {
  EXPECT_TRUE(check_remount(parsed("cache=1g"), parsed("remount,ro")));
  EXPECT_TRUE(check_remount(parsed(""), parsed("remount,rw")));
  EXPECT_TRUE(check_remount(parsed("ro"), parsed("remount,ro")));
}

TEST(RemountOptions, CannotMakeADaemonWriteThatWasStartedReadOnly) {
  const auto result = check_remount(parsed("ro"), parsed("remount,rw"));

  ASSERT_FALSE(result);
  EXPECT_EQ(result.error().code(), ErrorCode::kNotPermitted);
  EXPECT_THAT(result.error().message(), HasSubstr("unmount it"));
}

TEST(RemountOptions, CannotChangeOptionsOfTheDaemon) {
  EXPECT_TRUE(check_remount(parsed("cache=1g"), parsed("remount,ro,cache=1g")));
  const auto result = check_remount(parsed("cache=1g"), parsed("remount,ro,cache=2g"));
  ASSERT_FALSE(result);
  EXPECT_THAT(result.error().message(), AllOf(HasSubstr("cache"), HasSubstr("1g"), HasSubstr("2g")));
}

}  // namespace
}  // namespace dedupfs
