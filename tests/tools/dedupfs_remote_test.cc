#include "dedupfs_remote.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>

#include "dedupfs_stat.h"
#include "encrypted_volume.h"
#include "manual.h"
#include "mkfs_dedupfs.h"
#include "outcome.h"
#include "replica/head.h"
#include "replica/replica.h"
#include "store/volume/capture.h"
#include "support/memory_bucket.h"
#include "support/temp_dir.h"

namespace dedupfs::tools {
namespace {

namespace fs = std::filesystem;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;

constexpr const char* kAddress = "s3://backups/volume";

class RemoteToolTest : public testing::Test {
 protected:
  RemoteToolTest() { EXPECT_EQ(outcome_of(run_mkfs, {volume_}).exit_code, 0); }

  Outcome run(const std::vector<std::string>& arguments) const {
    return outcome_of(run_remote, arguments, Process(),
                      [this](const RemoteAddress& where, const GoOn&) -> Result<std::unique_ptr<Bucket>> {
                        return std::make_unique<MemoryBucket>(objects_, where.address);
                      });
  }
  nlohmann::json json(std::vector<std::string> arguments, int exit_code = 0) const {
    arguments.insert(arguments.begin() + 1, "--json");
    const Outcome outcome = run(arguments);
    EXPECT_EQ(outcome.exit_code, exit_code) << outcome.err;
    return nlohmann::json::parse(outcome.out);
  }
  void attach() const { ASSERT_EQ(run({"attach", volume_, kAddress}).exit_code, 0); }

  const TempDir folder_;
  const std::string volume_ = folder_.path() / "volume";
  const std::string clone_ = folder_.path() / "clone";
  const std::shared_ptr<MemoryObjects> objects_ = std::make_shared<MemoryObjects>();
};

TEST_F(RemoteToolTest, AVolumeIsMadeAgainFromTheBucketAlone) {
  attach();
  const auto pushed = json({"push", volume_});
  EXPECT_EQ(pushed.at("role"), "writer");
  EXPECT_EQ(pushed.at("head").at("sequence"), 1);
  EXPECT_GT(pushed.at("shipped").at("objects"), 5);
  EXPECT_EQ(keys_missing_in(manual_text("dedupfs-remote.8"), pushed), "");
  EXPECT_EQ(keys_missing_in(manual_text("dedupfs-remote.8"), pushed.at("head")), "");
  fs::remove_all(volume_);

  const Outcome cloned = run({"clone", kAddress, clone_});

  EXPECT_EQ(cloned.exit_code, 0) << cloned.err;
  EXPECT_THAT(cloned.out, HasSubstr("takeover"));
  const Outcome stat = outcome_of(run_stat, {clone_});
  EXPECT_EQ(stat.exit_code, 0) << stat.err;
  EXPECT_EQ(json({"status", clone_}).at("role"), "copy");
}

TEST_F(RemoteToolTest, APushOfWhatHasNotChangedShipsNothing) {
  attach();
  ASSERT_EQ(run({"push", volume_}).exit_code, 0);
  const auto names = objects_->names();

  const Outcome again = run({"push", volume_});

  EXPECT_EQ(again.exit_code, 0);
  EXPECT_THAT(again.out, HasSubstr("Nothing has changed"));
  EXPECT_EQ(objects_->names(), names);
}

TEST_F(RemoteToolTest, ACloneTakesOverAndTheFirstOneIsFenced) {
  attach();
  ASSERT_EQ(run({"push", volume_}).exit_code, 0);
  ASSERT_EQ(run({"clone", kAddress, clone_}).exit_code, 0);
  const Outcome refused = run({"push", clone_});
  EXPECT_EQ(refused.exit_code, 2);
  EXPECT_THAT(refused.err, HasSubstr("take over"));

  EXPECT_EQ(json({"takeover", clone_}).at("epoch"), 2);

  EXPECT_EQ(json({"push", clone_}).at("role"), "writer");
  const Outcome fenced = run({"push", volume_});
  EXPECT_EQ(fenced.exit_code, 2);
  EXPECT_THAT(fenced.err, HasSubstr("Nothing more is shipped"));
  EXPECT_EQ(json({"status", volume_}).at("role"), "fenced");
  EXPECT_THAT(run({"status", volume_}).out, HasSubstr("Another machine writes there"));
}

TEST_F(RemoteToolTest, VerifyFindsWhatIsMissingAndWhatIsDamaged) {
  attach();
  ASSERT_EQ(run({"push", volume_}).exit_code, 0);
  EXPECT_EQ(json({"verify", volume_}).at("check").at("bad_objects"), 0);
  EXPECT_EQ(json({"verify", "--read-data", kAddress}).at("check").at("bad_objects"), 0);
  std::vector<std::string> pieces;
  for (const std::string& name : objects_->names())
    if (parse_piece_object(name)) pieces.push_back(name);
  objects_->erase(pieces.at(0));
  const MemoryObjects::Image image = objects_->image();
  std::string damaged = *image.at(pieces.at(1)).bytes;
  damaged[0] = static_cast<char>(damaged[0] ^ 1);
  objects_->set(pieces.at(1), damaged);

  EXPECT_EQ(json({"verify", volume_}, 4).at("check").at("bad_objects"), 1);
  const Outcome all = run({"verify", "--read-data", kAddress});

  EXPECT_EQ(all.exit_code, 4);
  EXPECT_THAT(all.out, HasSubstr(pieces.at(0)));
  EXPECT_THAT(all.out, HasSubstr(pieces.at(1)));
  EXPECT_THAT(all.out, HasSubstr("2 missing or damaged"));
  EXPECT_EQ(run({"clone", kAddress, clone_}).exit_code, 2);
  EXPECT_FALSE(fs::exists(clone_)) << "nothing is left of it";
}

TEST_F(RemoteToolTest, UsageCountsWhatIsThere) {
  attach();
  ASSERT_EQ(run({"push", volume_}).exit_code, 0);
  objects_->set("something/else", "12345");

  const auto usage = json({"usage", kAddress}).at("usage");

  EXPECT_EQ(usage.at("objects"), usage.at("needed_objects").get<int>() + 3);  // the epoch, the head, something else
  const auto priced =
      json({"usage", kAddress, "--storage-price", "1000", "--egress-price", "0", "--get-price", "1000"});
  const auto& cost = priced.at("usage").at("cost");
  EXPECT_DOUBLE_EQ(cost.at("storage_a_month").get<double>(), usage.at("bytes").get<double>() / 1e6);
  EXPECT_DOUBLE_EQ(cost.at("clone").get<double>(), usage.at("needed_objects").get<double>());
  EXPECT_TRUE(cost.at("requests_a_month").is_null()) << "no mount has counted them";
  EXPECT_TRUE(json({"status", volume_}).at("mount").is_null());
}

TEST_F(RemoteToolTest, AStoreThatOverwritesIsRefused) {
  objects_->ignore_conditions();

  const Outcome attached = run({"attach", volume_, kAddress});

  EXPECT_EQ(attached.exit_code, 2);
  EXPECT_THAT(attached.err, HasSubstr("overwrites objects"));
  EXPECT_FALSE(fs::exists(fs::path(volume_) / kRemoteFile));
}

TEST_F(RemoteToolTest, AVolumeIsAttachedOnceAndAPrefixHoldsOneVolume) {
  attach();
  EXPECT_THAT(run({"attach", volume_, "s3://other/place"}).err, HasSubstr("already"));
  ASSERT_EQ(run({"push", volume_}).exit_code, 0);
  const std::string other = folder_.path() / "other";
  ASSERT_EQ(outcome_of(run_mkfs, {other}).exit_code, 0);

  const Outcome attached = run({"attach", other, kAddress});

  EXPECT_EQ(attached.exit_code, 2);
  EXPECT_THAT(attached.err, HasSubstr("holds a volume already"));
  EXPECT_THAT(run({"push", other}).err, HasSubstr("dedupfs-remote attach"));
}

class EncryptedRemoteTest : public EncryptedVolume {};

TEST_F(EncryptedRemoteTest, NoKeyIsNeededToShipAndCloneAnEncryptedVolume) {
  const auto objects = std::make_shared<MemoryObjects>();
  const OpenBucket open = [&](const RemoteAddress& where, const GoOn&) -> Result<std::unique_ptr<Bucket>> {
    return std::make_unique<MemoryBucket>(objects, where.address);
  };
  const std::string clone = folder_.path() / "clone";
  ASSERT_EQ(outcome_of(run_remote, {"attach", volume_, kAddress}, Process(), open).exit_code, 0);
  ASSERT_EQ(outcome_of(run_remote, {"push", volume_}, Process(), open).exit_code, 0);

  const Outcome cloned = outcome_of(run_remote, {"clone", kAddress, clone}, Process(), open);

  EXPECT_EQ(cloned.exit_code, 0) << cloned.err;
  EXPECT_EQ(outcome_of(run_stat, {"--key-file", first_, clone}).exit_code, 0);
  EXPECT_EQ(outcome_of(run_stat, {"--key-file", first_, volume_}).exit_code, 0)
      << "the file remote.json is in nobody's way";
}

TEST_F(RemoteToolTest, WhatTheBucketHasLostIsPutBackFromTheVolume) {
  attach();
  ASSERT_EQ(run({"push", volume_}).exit_code, 0);
  const MemoryObjects::Image before = objects_->image();
  std::vector<std::string> pieces;
  for (const std::string& name : objects_->names())
    if (parse_piece_object(name)) pieces.push_back(name);
  objects_->erase(pieces.at(0));
  std::string damaged = *before.at(pieces.at(1)).bytes;
  damaged[0] = static_cast<char>(damaged[0] ^ 1);
  objects_->set(pieces.at(1), damaged);
  EXPECT_EQ(run({"verify", "--repair", kAddress}).exit_code, 1) << "it has no folder to take it from";

  const auto check = json({"verify", "--read-data", "--repair", volume_}).at("check");

  EXPECT_EQ(check.at("bad_objects"), 2);
  EXPECT_EQ(check.at("put_back"), 2);
  EXPECT_THAT(check.at("findings").at(0).get<std::string>(), HasSubstr("it was put back"));
  for (const std::string& name : pieces) EXPECT_EQ(*objects_->image().at(name).bytes, *before.at(name).bytes) << name;
  EXPECT_EQ(json({"verify", "--read-data", kAddress}).at("check").at("bad_objects"), 0);
}

TEST_F(RemoteToolTest, WhatTheVolumeHasNotEitherIsNotPutBack) {
  attach();
  ASSERT_EQ(run({"push", volume_}).exit_code, 0);
  const Replica replica = *load_replica(*std::make_unique<MemoryBucket>(objects_, kAddress)).value();
  const auto found = replica.files.lower_bound("index/MANIFEST");
  ASSERT_NE(found, replica.files.end());
  const auto& [path, file] = *found;
  objects_->erase(piece_object(path, 0, file.pieces.at(0)));
  std::ofstream(volume_ + "/" + path, std::ios::trunc) << "another content";

  const Outcome check = run({"verify", "--repair", volume_});

  EXPECT_EQ(check.exit_code, 4);
  EXPECT_THAT(check.out, HasSubstr("0 of them were put back"));
  EXPECT_FALSE(objects_->image().contains(piece_object(path, 0, file.pieces.at(0))));
}

TEST_F(RemoteToolTest, HowTheStoreIsReachedCanBeChanged) {
  attach();
  ASSERT_EQ(run({"push", volume_}).exit_code, 0);
  EXPECT_EQ(json({"set", volume_, "--endpoint", "https://new.example.org"}).at("endpoint"), "https://new.example.org");
  EXPECT_EQ(json({"set", volume_, "--rate", "1m"}).at("endpoint"), "https://new.example.org") << "the rest stays";
  EXPECT_EQ(json({"status", volume_}).at("endpoint"), "https://new.example.org");
  EXPECT_EQ(json({"push", volume_}).at("role"), "writer");

  for (const char* const option : {"--endpoint=https://other", "--rate=1m"}) {
    const Outcome refused = run({"status", volume_, option});
    EXPECT_EQ(refused.exit_code, 1) << option;
  }
}

TEST_F(RemoteToolTest, ObjectsAreMovedSideBySide) {
  attach();
  EXPECT_EQ(run({"push", volume_, "--parallel", "8"}).exit_code, 0);
  EXPECT_EQ(run({"verify", volume_, "--read-data", "--parallel=8"}).exit_code, 0);
  EXPECT_EQ(run({"clone", kAddress, clone_, "--parallel=8"}).exit_code, 0);
  EXPECT_EQ(outcome_of(run_stat, {clone_}).exit_code, 0);
  EXPECT_EQ(run({"push", volume_, "--parallel=0"}).exit_code, 1);
  EXPECT_EQ(run({"push", volume_, "--parallel=65"}).exit_code, 1);
}

TEST_F(RemoteToolTest, AStoreThatDoesNotHaveTheVolumeIsNotTakenForItsOwn) {
  attach();
  ASSERT_EQ(run({"push", volume_}).exit_code, 0);
  const auto elsewhere = std::make_shared<MemoryObjects>();
  const auto set_elsewhere = [&] {
    return outcome_of(run_remote, {"set", volume_, "--endpoint", "https://empty.example.org"}, Process(),
                      [&](const RemoteAddress& where, const GoOn&) -> Result<std::unique_ptr<Bucket>> {
                        return std::make_unique<MemoryBucket>(elsewhere, where.address);
                      });
  };

  const Outcome refused = set_elsewhere();

  EXPECT_EQ(refused.exit_code, 2);
  EXPECT_THAT(refused.err, HasSubstr("https://empty.example.org does not have this volume"));
  EXPECT_EQ(json({"status", volume_}).at("endpoint"), nullptr);
}

}  // namespace
}  // namespace dedupfs::tools
