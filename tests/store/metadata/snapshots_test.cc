// Snapshots of the metadata against copies of a map.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <array>
#include <map>
#include <random>

#include "support/sanitized.h"
#include "test_snapshots.h"

namespace dedupfs {
namespace {

using State = std::map<std::pair<Family, std::string>, std::string>;

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

TEST_F(SnapshotsTest, ADeletedSnapshotIsStaleAtOnce) {
  metadata_->put(Family::kInodes, key_of(5), "old");
  const TreeNumber snapshot = take();
  remove(snapshot);
  const auto found = metadata_->get(Family::kInodes, in_tree(snapshot, key_of(5)));
  ASSERT_FALSE(found);
  EXPECT_EQ(found.error().code(), ErrorCode::kStale);
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

INSTANTIATE_TEST_SUITE_P(Seeds, SnapshotsModelTest, testing::Range(1U, kSanitized ? 5U : 13U));

}  // namespace
}  // namespace dedupfs
