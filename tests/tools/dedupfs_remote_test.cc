#include "dedupfs_remote.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <functional>
#include <nlohmann/json.hpp>
#include <utility>

#include "dedupfs_stat.h"
#include "encrypted_volume.h"
#include "manual.h"
#include "mkfs_dedupfs.h"
#include "outcome.h"
#include "replica/head.h"
#include "replica/replica.h"
#include "store/volume/capture.h"
#include "store/volume/volume.h"
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
                        auto bucket = std::make_unique<MemoryBucket>(objects_, where.address);
                        bucket->set_hook([this](const MemoryBucket::Call& call, MemoryBucket::When when) {
                          const bool is_put = call.operation == MemoryBucket::Operation::kPut;
                          if (!is_put || when != MemoryBucket::When::kBefore || !before_put_) return;
                          const auto visit = std::exchange(before_put_, nullptr);  // not for what it does itself
                          visit(call.object);
                          before_put_ = visit;
                        });
                        return bucket;
                      });
  }
  nlohmann::json json(std::vector<std::string> arguments, int exit_code = 0) const {
    arguments.insert(arguments.begin() + 1, "--json");
    const Outcome outcome = run(arguments);
    EXPECT_EQ(outcome.exit_code, exit_code) << outcome.err;
    return nlohmann::json::parse(outcome.out);
  }
  void begin_anew() {
    fs::remove_all(volume_);
    fs::remove_all(clone_);
    for (const std::string& name : objects_->names()) objects_->erase(name);
    ASSERT_EQ(outcome_of(run_mkfs, {volume_}).exit_code, 0);
    attach();
    ASSERT_EQ(run({"push", volume_}).exit_code, 0);
  }
  // Whoever opens a volume for writing changes its index.
  void push_a_change() const {
    ASSERT_TRUE(Volume::open(volume_, {}));
    ASSERT_EQ(run({"push", volume_}).exit_code, 0);
  }
  void attach() const { ASSERT_EQ(run({"attach", volume_, kAddress}).exit_code, 0); }

  const TempDir folder_;
  const std::string volume_ = folder_.path() / "volume";
  const std::string clone_ = folder_.path() / "clone";
  const std::shared_ptr<MemoryObjects> objects_ = std::make_shared<MemoryObjects>();
  mutable std::function<void(const std::string& object)> before_put_;  // of run()
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

// The other machine puts head after head, so a clone is never at the newest one.
TEST_F(RemoteToolTest, AnOlderCloneTakesOverAndHasWhatCameSince) {
  for (const bool index_only : {false, true}) {
    SCOPED_TRACE(index_only ? "index only" : "all of it");
    begin_anew();
    std::vector<std::string> clone = {"clone", kAddress, clone_};
    if (index_only) clone.push_back("--index-only");
    ASSERT_EQ(run(clone).exit_code, 0);
    push_a_change();
    int heads = 0;
    before_put_ = [&](const std::string& object) {
      if (object.starts_with(kHeadPrefix) && heads++ < 2) push_a_change();
    };

    const auto taken = json({"takeover", clone_});

    before_put_ = nullptr;
    EXPECT_EQ(taken.at("epoch"), 2);
    EXPECT_EQ(taken.at("role"), "writer");
    EXPECT_EQ(taken.at("head").at("sequence"), 5);
    EXPECT_EQ(heads, 3);
    EXPECT_EQ(run({"push", volume_}).exit_code, 2) << "the other machine is fenced";
    EXPECT_THAT(run({"push", clone_}).out, HasSubstr("Nothing has changed")) << "it is just what the head says";
    EXPECT_EQ(outcome_of(run_stat, {clone_}).exit_code, 0);
  }
}

TEST_F(RemoteToolTest, ATakeoverThatWasInterruptedGoesOn) {
  begin_anew();
  ASSERT_EQ(run({"clone", kAddress, clone_}).exit_code, 0);
  push_a_change();
  for (int until = 0; until < 2000;
       until += 1 + until / 10) {  // each that came far enough has put a head, so the next one has more to do
    SCOPED_TRACE(until);
    int left = until;
    const Outcome outcome = outcome_of(run_remote, {"takeover", clone_}, Process(),
                                       [&](const RemoteAddress& where, const GoOn&) -> Result<std::unique_ptr<Bucket>> {
                                         auto bucket = std::make_unique<MemoryBucket>(objects_, where.address);
                                         bucket->set_fault([&left](const MemoryBucket::Call&) {
                                           return left-- > 0 ? MemoryBucket::Fault::kNone : MemoryBucket::Fault::kFails;
                                         });
                                         return bucket;
                                       });
    if (outcome.exit_code == 0) break;
    ASSERT_NE(run({"push", clone_}).exit_code, 0) << "half a volume must not be shipped";
  }

  EXPECT_EQ(json({"status", clone_}).at("role"), "writer");
  EXPECT_THAT(run({"push", clone_}).out, HasSubstr("Nothing has changed"));
  EXPECT_EQ(outcome_of(run_stat, {clone_}).exit_code, 0);
}

TEST_F(RemoteToolTest, ACloneThatWasWrittenToIsNotGivenUp) {
  begin_anew();
  ASSERT_EQ(run({"clone", kAddress, clone_}).exit_code, 0);
  push_a_change();
  ASSERT_TRUE(Volume::open(clone_, {}));

  const Outcome refused = run({"takeover", clone_});

  EXPECT_EQ(refused.exit_code, 2);
  EXPECT_THAT(refused.err, HasSubstr("was changed since it was made; clone it anew"));
  EXPECT_TRUE(Volume::open(clone_, {}));
  EXPECT_EQ(run({"push", volume_}).exit_code, 0) << "nobody was fenced";
  const Outcome fenced = run({"takeover", volume_});
  EXPECT_EQ(fenced.exit_code, 0) << "the newest head is its own: " << fenced.err;
}

TEST_F(RemoteToolTest, AWriterThatWasFencedKeepsWhatItHas) {
  begin_anew();
  ASSERT_EQ(run({"clone", kAddress, clone_}).exit_code, 0);
  ASSERT_EQ(run({"takeover", clone_}).exit_code, 0);

  const Outcome refused = run({"takeover", volume_});

  EXPECT_EQ(refused.exit_code, 2);
  EXPECT_THAT(refused.err, HasSubstr("it may have what the bucket has not; clone it anew"));
  EXPECT_TRUE(Volume::open(volume_, {}));
}

// A store with object lock.
TEST_F(RemoteToolTest, WhatTheStoreKeepsIsSaid) {
  begin_anew();
  push_a_change();
  const auto push_locked = [this](std::vector<std::string> arguments) {
    return outcome_of(run_remote, arguments, Process(),
                      [this](const RemoteAddress& where, const GoOn&) -> Result<std::unique_ptr<Bucket>> {
                        auto bucket = std::make_unique<MemoryBucket>(objects_, where.address);
                        bucket->set_fault([](const MemoryBucket::Call& call) {
                          return call.operation == MemoryBucket::Operation::kRemove ? MemoryBucket::Fault::kRefused
                                                                                    : MemoryBucket::Fault::kNone;
                        });
                        return bucket;
                      });
  };

  const Outcome kept = push_locked({"push", "--grace", "0", volume_});
  EXPECT_EQ(kept.exit_code, 0) << kept.err;
  EXPECT_THAT(kept.out, HasSubstr("The store keeps "));
  EXPECT_THAT(kept.out, HasSubstr("refused by object lock"));
  const auto shown = nlohmann::json::parse(push_locked({"push", "--json", "--grace", "0", volume_}).out).at("deleted");
  EXPECT_EQ(shown.at("objects"), 0);
  EXPECT_GT(shown.at("refused_objects"), 0);

  EXPECT_GT(json({"push", "--grace=0", volume_}).at("deleted").at("objects"), 0) << "the retention is over";
  MemoryBucket locked;
  locked.set_fault([](const MemoryBucket::Call& call) {
    return call.operation == MemoryBucket::Operation::kRemove ? MemoryBucket::Fault::kRefused
                                                              : MemoryBucket::Fault::kNone;
  });
  EXPECT_TRUE(probe(locked)) << "a volume can be attached there";
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
