// Snapshots of the metadata against copies of a map.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <array>
#include <map>
#include <random>

#include "base/coding.h"
#include "store/metadata/before_images.h"
#include "store/metadata/metadata.h"
#include "store/metadata/snapshot_reaper.h"
#include "support/folder_at.h"
#include "support/temp_dir.h"

namespace dedupfs {
namespace {

using State = std::map<std::pair<Family, std::string>, std::string>;

std::string key_of(std::uint64_t inode, std::string_view rest = {}) {
  std::string key;
  Encoder(key).big_u64(inode);
  key += rest;
  return key;
}

class SnapshotsTest : public testing::Test {
 protected:
  void SetUp() override {
    ASSERT_TRUE(Database::create(folder_at(directory_.path() / "index")));
    database_ = Database::open(folder_at(directory_.path() / "index"), {}).value();
    restart();
  }

  // As after a crash: what is not committed is gone.
  void restart() {
    reaper_.reset();
    metadata_.reset();
    snapshots_ = SnapshotList::load(*database_).value();
    metadata_ = std::make_unique<Metadata>(*database_, *snapshots_);
    reaper_ = std::make_unique<SnapshotReaper>(
        *database_, *metadata_, [this](Family, std::string_view value) { dropped_.emplace_back(value); });
  }

  void write_frozen() {
    Database::Batch batch(*database_);
    ASSERT_TRUE(metadata_->append_to(batch));
    ASSERT_TRUE(database_->write(batch));
    metadata_->committed();
    snapshots_->committed();
  }
  void commit() {
    metadata_->freeze();
    write_frozen();
  }

  TreeNumber take(std::uint64_t end_of_inodes = kEndOfInodes) {
    const TreeNumber number = next_++;
    const SnapshotRecord record{.number = number, .name = std::to_string(number), .end_of_inodes = end_of_inodes};
    metadata_->put(Family::kSnapshots, encode_snapshot_key(record.number), encode_snapshot(record));
    metadata_->freeze();
    snapshots_->put_uncommitted(record);
    EXPECT_FALSE(snapshots_->find(record.number) || snapshots_->find(record.name)) << "before its group is committed";
    EXPECT_EQ(snapshots_->preservation()->number, record.number);
    write_frozen();
    EXPECT_TRUE(snapshots_->find(record.number));
    return record.number;
  }
  void remove(TreeNumber number) {
    SnapshotRecord record = snapshots_->find(number).value();
    record.is_deleted = true;
    metadata_->put(Family::kSnapshots, encode_snapshot_key(number), encode_snapshot(record));
    snapshots_->put(record);
  }
  void sweep() {
    for (int rounds = 0; !reaper_->is_done(); ++rounds) {
      ASSERT_LT(rounds, 100);
      commit();
      while (reaper_->step().value()) {
      }
    }
    commit();
  }
  std::size_t images() { return database_->list(Family::kBeforeImages, {}, {}, SIZE_MAX)->size(); }

  static std::string in_tree(TreeNumber tree, std::string_view key) { return key_in_tree(key, tree); }
  std::optional<std::string> get(TreeNumber tree, Family family, std::string_view key) {
    return metadata_->get(family, in_tree(tree, key)).value();
  }

  TempDir directory_;
  std::unique_ptr<Database> database_;
  std::unique_ptr<SnapshotList> snapshots_;
  std::unique_ptr<Metadata> metadata_;
  std::unique_ptr<SnapshotReaper> reaper_;
  std::vector<std::string> dropped_;
  TreeNumber next_ = 1;
};

TEST_F(SnapshotsTest, ASnapshotHasWhatThereWasAndTheLiveTreeGoesOn) {
  metadata_->put(Family::kInodes, key_of(5), "old");
  metadata_->put(Family::kInodes, key_of(6), "goes");
  const TreeNumber snapshot = take();
  metadata_->put(Family::kInodes, key_of(5), "new");
  metadata_->erase(Family::kInodes, key_of(6));
  metadata_->put(Family::kInodes, key_of(7), "comes");
  for (const bool committed : {false, true}) {
    if (committed) commit();
    EXPECT_EQ(get(snapshot, Family::kInodes, key_of(5)), "old") << committed;
    EXPECT_EQ(get(snapshot, Family::kInodes, key_of(6)), "goes") << committed;
    EXPECT_EQ(get(snapshot, Family::kInodes, key_of(7)), std::nullopt) << committed;
    EXPECT_EQ(get(kLiveTree, Family::kInodes, key_of(5)), "new") << committed;
    EXPECT_EQ(get(kLiveTree, Family::kInodes, key_of(6)), std::nullopt) << committed;
  }
}

TEST_F(SnapshotsTest, WhatDoesNotChangeCostsNothing) {
  metadata_->put(Family::kInodes, key_of(5), "same");
  (void)take();
  metadata_->put(Family::kInodes, key_of(5), "same");
  metadata_->put(Family::kCounters, "counter", "new");
  commit();
  EXPECT_EQ(images(), 0U);
}

TEST_F(SnapshotsTest, InodesThatAreNewerCostNothing) {
  const TreeNumber snapshot = take(100);
  metadata_->put(Family::kRecipes, key_of(100, "segment"), "entries");
  commit();
  EXPECT_EQ(images(), 0U);
  EXPECT_EQ(get(snapshot, Family::kRecipes, key_of(100, "segment")), std::nullopt);
}

TEST_F(SnapshotsTest, ADeletedSnapshotIsStaleAtOnce) {
  metadata_->put(Family::kInodes, key_of(5), "old");
  const TreeNumber snapshot = take();
  remove(snapshot);
  const auto found = metadata_->get(Family::kInodes, in_tree(snapshot, key_of(5)));
  ASSERT_FALSE(found);
  EXPECT_EQ(found.error().code(), ErrorCode::kStale);
}

TEST_F(SnapshotsTest, NothingIsLeftOfTheLastSnapshot) {
  metadata_->put(Family::kInodes, key_of(5), "old");
  const TreeNumber snapshot = take();
  metadata_->put(Family::kInodes, key_of(5), "new");
  commit();
  EXPECT_EQ(images(), 1U);
  remove(snapshot);
  sweep();
  EXPECT_EQ(images(), 0U);
  EXPECT_EQ(dropped_, std::vector<std::string>{"old"});
  EXPECT_TRUE(database_->list(Family::kSnapshots, {}, {}, 1)->empty());
}

TEST_F(SnapshotsTest, AnOlderSnapshotInheritsWhatItNeeds) {
  metadata_->put(Family::kInodes, key_of(5), "old");
  const TreeNumber older = take();
  const TreeNumber newer = take();
  metadata_->put(Family::kInodes, key_of(5), "new");
  commit();
  remove(newer);
  metadata_->put(Family::kInodes, key_of(5), "newest");  // beside the deletion, in its group
  sweep();
  EXPECT_EQ(get(older, Family::kInodes, key_of(5)), "old");
  EXPECT_TRUE(dropped_.empty());
  EXPECT_EQ(images(), 1U);
}

TEST_F(SnapshotsTest, WhatAnOlderSnapshotSawChangeGoes) {
  metadata_->put(Family::kInodes, key_of(5), "first");
  const TreeNumber older = take();
  metadata_->put(Family::kInodes, key_of(5), "second");
  const TreeNumber newer = take();
  metadata_->put(Family::kInodes, key_of(5), "third");
  commit();
  remove(newer);
  sweep();
  EXPECT_EQ(get(older, Family::kInodes, key_of(5)), "first");
  EXPECT_EQ(dropped_, std::vector<std::string>{"second"});
}

// What is being committed was set aside for the newer snapshot before that was deleted.
TEST_F(SnapshotsTest, ImagesOfAGroupThatEndedBeforeTheDeletionAreSweptToo) {
  metadata_->put(Family::kInodes, key_of(5), "old");
  const TreeNumber older = take();
  const TreeNumber newer = take();
  metadata_->put(Family::kInodes, key_of(5), "new");
  metadata_->freeze();
  remove(newer);
  EXPECT_FALSE(reaper_->step().value());
  write_frozen();
  sweep();
  EXPECT_EQ(get(older, Family::kInodes, key_of(5)), "old");
  remove(older);
  sweep();
  EXPECT_EQ(images(), 0U);
}

TEST_F(SnapshotsTest, ADeletedSnapshotGoesThoughOthersAreDeletedMeanwhile) {
  metadata_->put(Family::kInodes, key_of(5), "first");
  const TreeNumber older = take();
  metadata_->put(Family::kInodes, key_of(5), "second");
  const TreeNumber newer = take();
  metadata_->put(Family::kInodes, key_of(5), "third");
  remove(older);
  commit();
  (void)reaper_->step().value();
  remove(newer);
  commit();
  (void)reaper_->step().value();

  EXPECT_FALSE(snapshots_->knows(older));
  EXPECT_TRUE(snapshots_->knows(newer)) << "its image went in an open group";
  sweep();
  EXPECT_FALSE(snapshots_->knows(newer));
}

TEST_F(SnapshotsTest, WhatGoesIsToldOnce) {
  metadata_->put(Family::kInodes, key_of(5), "old");
  const TreeNumber snapshot = take();
  metadata_->put(Family::kInodes, key_of(5), "new");
  commit();
  remove(snapshot);
  commit();
  for (int i = 0; i < 5; ++i) (void)reaper_->step().value();
  EXPECT_EQ(dropped_, std::vector<std::string>{"old"});
}

TEST_F(SnapshotsTest, KeysOfImagesKeepTheOrderOfAnyKeys) {
  const std::vector<std::string> keys = {key_of(0),
                                         key_of(0, std::string_view("\0", 1)),
                                         key_of(0, std::string_view("\0\0", 2)),
                                         key_of(0, std::string_view("\0\1", 2)),
                                         key_of(0, "a"),
                                         key_of(0, std::string_view("a\0b", 3)),
                                         key_of(0, "ab"),
                                         key_of(1)};
  std::string last;
  for (const std::string& key : keys)
    for (const TreeNumber number : {1U, 255U, 256U, kEndOfTrees - 1}) {
      const std::string stored = encode_before_image_key(Family::kXattrs, key, number);
      EXPECT_LT(last, stored);
      last = stored;
      const auto decoded = decode_before_image_key(stored);
      ASSERT_TRUE(decoded);
      EXPECT_EQ(decoded->key, key);
      EXPECT_EQ(decoded->number, number);
      EXPECT_EQ(decoded->family, Family::kXattrs);
    }
}

// Nobody can have written it: the image for the newest snapshot, written when the key changes next, would hide it.
TEST_F(SnapshotsTest, AnImageThatIsNewerThanAllSnapshotsIsDamage) {
  metadata_->put(Family::kInodes, key_of(5), "old");
  const TreeNumber snapshot = take();
  metadata_->put(Family::kInodes, key_of(5), "new");
  commit();
  Database::Batch batch(*database_);
  batch.erase(Family::kBeforeImages, encode_before_image_key(Family::kInodes, key_of(5), snapshot));
  batch.put(Family::kBeforeImages, encode_before_image_key(Family::kInodes, key_of(5), snapshot + 1),
            encode_before_image("old"));
  ASSERT_TRUE(database_->write(batch));

  const std::string key = in_tree(snapshot, key_of(5));
  EXPECT_EQ(metadata_->get(Family::kInodes, key).error().code(), ErrorCode::kCorruption);
  EXPECT_FALSE(metadata_->list(Family::kInodes, key, in_tree(snapshot, key_of(6)), 10));
  EXPECT_FALSE(metadata_->find_at_or_before(Family::kInodes, key, key));
  take();  // now a snapshot has that number
  EXPECT_EQ(get(snapshot, Family::kInodes, key_of(5)), "old");
}

TEST_F(SnapshotsTest, DamagedRecordsAreRefused) {
  const std::string key = encode_before_image_key(Family::kRecipes, key_of(5, "x"), 3);
  for (std::size_t length = 0; length < key.size(); ++length)
    EXPECT_FALSE(decode_before_image_key(std::string_view(key).substr(0, length))) << length;
  EXPECT_FALSE(decode_before_image(""));
  EXPECT_FALSE(decode_before_image("\2"));
  EXPECT_FALSE(decode_before_image(std::string_view("\0x", 2)));
  const std::string record = encode_snapshot({.number = 1, .name = "s", .end_of_inodes = 7});
  EXPECT_TRUE(decode_snapshot(1, record));
  EXPECT_FALSE(decode_snapshot(1, std::string_view(record).substr(0, record.size() - 1)));
  EXPECT_FALSE(decode_snapshot(1, record + "/"));
  EXPECT_FALSE(decode_snapshot_key(key_of(0)));
  EXPECT_FALSE(decode_snapshot_key(key_of(kEndOfTrees)));
}

// Random changes, snapshots, deletions, sweeps in pieces and crashes: every snapshot has at any time what the map had.
class SnapshotsModelTest : public SnapshotsTest, public testing::WithParamInterface<unsigned> {
 protected:
  static constexpr std::array kFamilies = {Family::kInodes, Family::kDirents, Family::kRecipes};

  std::string random_key(Family family) {
    const std::uint64_t inode = 1 + random_() % inodes_;
    if (family == Family::kInodes) return key_of(inode);
    if (family == Family::kRecipes) return key_of(inode, key_of((random_() % 6) * 256));
    static constexpr std::array<std::string_view, 5> kNames = {"a", "ab", "b", "\xff", "c"};
    return key_of(inode, kNames[random_() % kNames.size()]);
  }

  void change() {
    const Family family = kFamilies[random_() % kFamilies.size()];
    const std::string key = random_key(family);
    if (random_() % 3 == 0) {
      metadata_->erase(family, key);
      live_.erase({family, key});
    } else {
      std::string value = fmt::format("{}", random_() % 1000);
      live_[{family, key}] = value;
      metadata_->put(family, key, std::move(value));
    }
  }

  void expect_same(TreeNumber tree, const State& expected) {
    for (const Family family : kFamilies)
      for (std::uint64_t inode = 1; inode <= inodes_; ++inode) {
        std::vector<KeyValue> rows;
        for (const auto& [place, value] : expected)
          if (place.first == family && node_in_key(place.second) == inode)
            rows.emplace_back(in_tree(tree, place.second), value);
        const std::string from = in_tree(tree, key_of(inode));
        const std::string end = in_tree(tree, key_of(inode + 1));
        for (const std::size_t limit : {std::size_t{1}, std::size_t{3}, std::size_t{100}}) {
          const auto listed = metadata_->list(family, from, end, limit).value();
          const std::vector<KeyValue> wanted(rows.begin(),
                                             rows.begin() + static_cast<std::ptrdiff_t>(std::min(limit, rows.size())));
          ASSERT_EQ(listed, wanted) << "tree " << tree << ", inode " << inode << ", limit " << limit;
        }
        const std::string key = random_key(family);
        const auto found = expected.find({family, key});
        ASSERT_EQ(get(tree, family, key), found == expected.end() ? std::nullopt : std::optional(found->second));
        std::optional<KeyValue> last;
        const std::string probe = in_tree(tree, key_of(inode, key.substr(8)));
        for (const KeyValue& row : rows)
          if (row.first <= probe) last = row;
        ASSERT_EQ(metadata_->find_at_or_before(family, probe, from).value(), last);
      }
  }

  std::mt19937 random_{GetParam()};
  State live_;
  std::uint64_t inodes_ = 3;  // numbers that may be in use; never less than before
};

TEST_P(SnapshotsModelTest, EverySnapshotStaysWhatItWas) {
  State committed;
  std::map<TreeNumber, State> snapshots;
  std::map<TreeNumber, State> committed_snapshots;
  const auto commit_all = [&] {
    commit();
    committed = live_;
    committed_snapshots = snapshots;
  };
  for (int step = 0; step < 400; ++step) {
    switch (random_() % 16) {
      case 0:
        snapshots[take(inodes_ + 1)] = live_;
        committed = live_;
        committed_snapshots = snapshots;
        break;
      case 1:
        if (!snapshots.empty()) {
          const auto chosen = std::next(snapshots.begin(), static_cast<std::ptrdiff_t>(random_() % snapshots.size()));
          remove(chosen->first);
          snapshots.erase(chosen);
        }
        break;
      case 2: commit_all(); break;
      case 5:
        if (random_() % 4 == 0) inodes_ = std::min<std::uint64_t>(inodes_ + 1, 8);
        break;
      case 3: (void)reaper_->step().value(); break;
      case 4:
        if (random_() % 4 == 0) {
          restart();
          live_ = committed;
          snapshots = committed_snapshots;
        }
        break;
      default: change();
    }
    if (step % 5 != 0) continue;
    expect_same(kLiveTree, live_);
    for (const auto& [number, state] : snapshots) expect_same(number, state);
    if (HasFatalFailure()) FAIL() << "step " << step;
  }
  for (const auto& [number, state] : snapshots) remove(number);
  sweep();
  EXPECT_EQ(images(), 0U);
}

INSTANTIATE_TEST_SUITE_P(Seeds, SnapshotsModelTest, testing::Range(1U, 13U));

}  // namespace
}  // namespace dedupfs
