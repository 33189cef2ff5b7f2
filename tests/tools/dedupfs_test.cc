#include "dedupfs.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <optional>

#include "mkfs_dedupfs.h"
#include "outcome.h"
#include "shipped_volume.h"
#include "store/volume/volume.h"
#include "support/memory_bucket.h"
#include "support/temp_dir.h"

namespace dedupfs::tools {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::StartsWith;

class DedupfsTest : public testing::Test {
 protected:
  Outcome run(const std::vector<std::string>& arguments, const std::string& program = "/usr/bin/dedupfs") {
    std::ostringstream out, err;
    const int exit_code = run_dedupfs(
        program, arguments, out, err,
        [this](const MountRequest& request) {
          asked_ = request;
          return 32;
        },
        [this](const RemoteAddress& where, const GoOn&) -> Result<std::unique_ptr<Bucket>> {
          where_ = where;
          return std::make_unique<MemoryBucket>(objects_, where.address);
        });
    return {exit_code, out.str(), err.str()};
  }

  std::optional<MountRequest> asked_;
  std::optional<RemoteAddress> where_;  // which bucket was opened
  const std::shared_ptr<MemoryObjects> objects_ = std::make_shared<MemoryObjects>();
};

TEST_F(DedupfsTest, MountsWithTheJoinedOptions) {
  const Outcome outcome = run({"/volume", "/mnt", "-o", "ro,cache=64m", "-f", "-o", "commit=9"});

  EXPECT_EQ(outcome.exit_code, 32) << "the exit code is that of the mount";
  ASSERT_TRUE(asked_);
  EXPECT_EQ(asked_->volume, "/volume");
  EXPECT_EQ(asked_->mountpoint, "/mnt");
  EXPECT_TRUE(asked_->options.read_only);
  EXPECT_EQ(asked_->options.cache_bytes, 64u << 20);
  EXPECT_EQ(asked_->options.commit_interval, std::chrono::seconds(9));
  EXPECT_TRUE(asked_->foreground);
}

TEST_F(DedupfsTest, MountsAVolumeInABucket) {
  const TempDir folder;
  ASSERT_EQ(outcome_of(run_mkfs, {folder.path() / "volume"}).exit_code, 0);
  MemoryBucket bucket(objects_);
  ship_once(bucket, folder.path() / "volume");

  const Outcome outcome =
      run({"s3://backups/volume", "/mnt", "-o",
           "ro,endpoint=https://store,region=north,credentials_file=/keys,ca_file=/ca,remote_cache=16m"});

  EXPECT_EQ(outcome.exit_code, 32) << "the exit code is that of the mount";
  ASSERT_TRUE(asked_) << outcome.err;
  EXPECT_TRUE(asked_->in_bucket);
  EXPECT_EQ(asked_->volume, "s3://backups/volume");
  EXPECT_EQ(where_, (RemoteAddress{.address = "s3://backups/volume",
                                   .endpoint = "https://store",
                                   .region = "north",
                                   .credentials_file = "/keys",
                                   .ca_file = "/ca"}));
  const auto opened = Volume::open(asked_->volume, {.read_only = true}, asked_->backing);
  EXPECT_TRUE(opened) << opened.error().message();
}

TEST_F(DedupfsTest, ABucketIsOnlyRead) {
  const Outcome outcome = run({"s3://backups/volume", "/mnt"});

  EXPECT_EQ(outcome.exit_code, 1);
  EXPECT_THAT(outcome.err, AllOf(HasSubstr("-o ro"), HasSubstr("dedupfs-remote clone s3://backups/volume")));
  EXPECT_FALSE(where_) << "nobody was asked";
}

TEST_F(DedupfsTest, ABucketWithoutAVolumeIsSaidToWhoeverMounts) {
  const Outcome outcome = run({"s3://backups/nothing", "/mnt", "-o", "ro"});

  EXPECT_EQ(outcome.exit_code, 32);
  EXPECT_THAT(outcome.err, HasSubstr("s3://backups/nothing holds no volume"));
  EXPECT_FALSE(asked_);
}

TEST_F(DedupfsTest, AFolderIsInNoStore) {
  const Outcome outcome = run({"/volume", "/mnt", "-o", "ro,endpoint=https://store"});

  EXPECT_EQ(outcome.exit_code, 1);
  EXPECT_THAT(outcome.err, AllOf(HasSubstr("https://store"), HasSubstr("/volume is a folder")));
  EXPECT_FALSE(asked_);
}

TEST_F(DedupfsTest, ABadOptionIsNamedAndNothingIsMounted) {
  const Outcome value = run({"/volume", "/mnt", "-o", "cache=much"});
  const Outcome unknown = run({"/volume", "/mnt", "-o", "nonsense=1"});

  EXPECT_EQ(value.exit_code, 1);
  EXPECT_THAT(value.err, AllOf(StartsWith("dedupfs: "), HasSubstr("cache=much"), HasSubstr("16m to")));
  EXPECT_EQ(unknown.exit_code, 1);
  EXPECT_THAT(unknown.err, AllOf(HasSubstr("nonsense=1"), HasSubstr("cache=")));
  EXPECT_FALSE(asked_);
}

TEST_F(DedupfsTest, AsAHelperOfMountItTakesThatProgramsOptions) {
  for (const std::string helper : {"/sbin/mount.dedupfs", "/sbin/mount.fuse.dedupfs"}) {
    asked_.reset();
    EXPECT_EQ(run({"/volume", "/mnt", "-s", "-n", "-v", "-o", "rw,nonsense", "-t", "fuse.dedupfs"}, helper).exit_code,
              32);
    ASSERT_TRUE(asked_);
    EXPECT_FALSE(asked_->foreground);
  }
}

TEST_F(DedupfsTest, AFakeMountOnlyChecksTheOptions) {
  EXPECT_EQ(run({"/volume", "/mnt", "-f", "-o", "ro"}, "mount.dedupfs").exit_code, 0);
  EXPECT_EQ(run({"/volume", "/mnt", "-f", "-o", "cache=much"}, "mount.dedupfs").exit_code, 1);
  EXPECT_FALSE(asked_);
}

TEST_F(DedupfsTest, AMissingNamespaceIsNamed) {
  const Outcome outcome = run({"/volume", "/mnt", "-N", "/missing/namespace"}, "mount.dedupfs");

  EXPECT_EQ(outcome.exit_code, 2);
  EXPECT_THAT(outcome.err, HasSubstr("/missing/namespace"));
  EXPECT_FALSE(asked_);
}

TEST_F(DedupfsTest, HelpListsTheMountOptions) {
  const Outcome outcome = run({"--help"});

  EXPECT_EQ(outcome.exit_code, 0);
  for (const char* option : {"\n  cache=", "\n  commit=", "\n  snapshots=", "\n  foreign "})
    EXPECT_THAT(outcome.out, HasSubstr(option));
}

}  // namespace
}  // namespace dedupfs::tools
