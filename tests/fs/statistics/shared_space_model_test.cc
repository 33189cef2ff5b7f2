// What a deletion gives back, against a naive model.
#include <gtest/gtest.h>

#include <map>
#include <random>
#include <set>

#include "index/counters.h"
#include "shared_space_fixture.h"

namespace dedupfs {
namespace {

// Files and snapshots as the sets of chunks that they refer to.
class SharedSpaceModel : public SharedSpaceTest {
 protected:
  using Chunks = std::set<std::uint64_t>;
  using Recipe = std::map<std::uint64_t, std::vector<std::uint64_t>>;  // segments by offset
  struct File {
    InodeNumber inode = 0;
    std::multimap<InodeNumber, std::string> names;  // by directory; without one it is an orphan
    Recipe recipe;
  };

  std::uint64_t pick(std::uint64_t end) { return random_() % end; }

  void make_chunks() {
    Database& database = filesystem_->volume().database();
    Database::Batch batch(database);
    batch.put(Family::kCounters, kNextChunkIdCounter, encode_number(10'000));
    ASSERT_TRUE(ok(database.write(batch)));
    for (std::uint64_t first = 1000; first < 1000 + kChunks; first += 8) {
      std::vector<ChunkExtent::Chunk> extent;
      for (std::uint64_t id = first; id < first + 8; ++id) {
        std::vector<std::uint64_t> sources;
        // No cycles: a source has a lower rank. Ranks do not follow ids.
        for (int tries = 0; tries < 3 && pick(3) != 0; ++tries)
          if (const std::uint64_t other = 1000 + pick(kChunks); rank(other) < rank(id)) sources.push_back(other);
        extent.push_back(sources.empty() ? raw_chunk()
                                         : delta_chunk(static_cast<std::uint32_t>(2 + 2 * pick(500)), sources));
        stored_[id] = extent.back().payload_length() / 2;
        sources_[id] = sources;
      }
      content_.put_extent(first, extent);
    }
  }
  static std::uint64_t rank(std::uint64_t id) { return id * 7919 % 1009; }

  // As a commit does, with before-images.
  void set_segment(File& file, std::uint64_t offset, std::optional<std::vector<std::uint64_t>> chunks) {
    const std::string key = encode_recipe_key(file.inode, offset);
    if (!chunks) {
      file.recipe.erase(offset);
      filesystem_->volume().metadata().erase(Family::kRecipes, key);
      return;
    }
    std::vector<RecipeEntry> entries;
    for (const std::uint64_t id : *chunks)
      entries.push_back({.kind = RecipeEntry::Kind::kChunk, .length = kRawBytes, .chunk = ChunkId{id}, .bytes = {}});
    filesystem_->volume().metadata().put(Family::kRecipes, key, encode_segment(entries));
    file.recipe[offset] = *chunks;
  }
  void change(File& file) {
    const std::uint64_t offset = pick(3) * 1000 * kRawBytes;
    if (pick(5) == 0) return set_segment(file, offset, std::nullopt);
    std::vector<std::uint64_t> chunks;
    for (std::uint64_t i = 1 + pick(4); i > 0; --i) chunks.push_back(1000 + pick(kChunks));
    set_segment(file, offset, chunks);
  }

  void step() {
    switch (pick(8)) {
      case 0: {
        const InodeNumber parent = directories_[pick(directories_.size())];
        const std::string name = "f" + std::to_string(names_++);
        File file{.inode = filesystem_.make_file(parent, name), .names = {{parent, name}}, .recipe = {}};
        change(file);
        files_.push_back(file);
        break;
      }
      case 1: {
        File& file = files_[pick(files_.size())];
        if (file.names.empty()) break;
        const InodeNumber parent = directories_[pick(directories_.size())];
        const std::string name = "l" + std::to_string(names_++);
        value_of(filesystem_->make_link(file.inode, parent, name));
        file.names.emplace(parent, name);
        break;
      }
      case 2: {  // it stays open
        File& file = files_[pick(files_.size())];
        if (file.names.empty()) break;
        EXPECT_TRUE(ok(filesystem_->unlink(file.names.begin()->first, file.names.begin()->second)));
        file.names.erase(file.names.begin());
        break;
      }
      case 3: {
        if (snapshots_.size() == 6) break;
        const std::string name = "s" + std::to_string(names_++);
        EXPECT_TRUE(ok(filesystem_->create_snapshot(name)));
        snapshots_.emplace_back(name, needed_by_files([](const File&) { return true; }));
        break;
      }
      case 4: {
        if (snapshots_.empty() || pick(2) == 0) break;
        const auto snapshot = snapshots_.begin() + static_cast<std::ptrdiff_t>(pick(snapshots_.size()));
        EXPECT_TRUE(ok(filesystem_->delete_snapshot(snapshot->first)));
        snapshots_.erase(snapshot);
        break;
      }
      default: change(files_[pick(files_.size())]);
    }
  }

  Chunks needed_by_files(const std::function<bool(const File&)>& is_wanted) const {
    Chunks needed;
    for (const File& file : files_)
      if (is_wanted(file))
        for (const auto& [offset, chunks] : file.recipe)
          for (const std::uint64_t id : chunks) add(id, needed);
    return needed;
  }
  void add(std::uint64_t id, Chunks& needed) const {
    if (!needed.insert(id).second) return;
    for (const std::uint64_t source : sources_.at(id)) add(source, needed);
  }
  std::uint64_t bytes_of(const Chunks& chunks) const {
    std::uint64_t bytes = 0;
    for (const std::uint64_t id : chunks) bytes += stored_.at(id);
    return bytes;
  }
  // What is needed by the wanted, and what only by them.
  std::pair<std::uint64_t, std::uint64_t> naive(const std::function<bool(const File&)>& has_all,
                                                const std::function<bool(const File&)>& has_a_name,
                                                const std::set<std::string>& snapshots) const {
    Chunks used = needed_by_files([&](const File& file) { return has_a_name(file); });
    Chunks others = needed_by_files([&](const File& file) { return !file.names.empty() && !has_all(file); });
    for (const auto& [name, chunks] : snapshots_) {
      Chunks& side = snapshots.contains(name) ? used : others;
      side.insert(chunks.begin(), chunks.end());
    }
    std::uint64_t own = 0;
    for (const std::uint64_t id : used)
      if (!others.contains(id)) own += stored_.at(id);
    return {bytes_of(used), own};
  }
  // The directory, and all below it.
  std::set<InodeNumber> below(InodeNumber directory) const {
    std::set<InodeNumber> found{directory};
    for (const auto& [child, parent] : parents_)  // parents have lower numbers
      if (found.contains(parent)) found.insert(child);
    return found;
  }
  std::pair<std::uint64_t, std::uint64_t> naive(const std::set<InodeNumber>& directories) const {
    const auto is_inside = [&](const auto& name) { return directories.contains(name.first); };
    return naive([&](const File& file) { return !file.names.empty() && std::ranges::all_of(file.names, is_inside); },
                 [&](const File& file) { return std::ranges::any_of(file.names, is_inside); }, {});
  }

  static constexpr std::uint64_t kChunks = 200;
  std::mt19937 random_;
  std::map<std::uint64_t, std::uint64_t> stored_;
  std::map<std::uint64_t, std::vector<std::uint64_t>> sources_;
  std::vector<InodeNumber> directories_;
  std::map<InodeNumber, InodeNumber> parents_;
  std::vector<File> files_;
  std::vector<std::pair<std::string, Chunks>> snapshots_;
  int names_ = 0;
};

TEST_F(SharedSpaceModel, AgreesWithWhatIsCounted) {
  random_.seed(16);
  make_chunks();
  directories_.push_back(kRootInode);
  for (int i = 0; i < 6; ++i) {
    const InodeNumber parent = directories_[pick(directories_.size())];
    directories_.push_back(filesystem_.make_directory(parent, "d" + std::to_string(i)));
    parents_[directories_.back()] = parent;
  }
  for (int i = 0; i < 10; ++i) {
    files_.push_back({.inode = filesystem_.make_file(kRootInode, "first" + std::to_string(i)),
                      .names = {{kRootInode, "first" + std::to_string(i)}},
                      .recipe = {}});
    change(files_.back());
  }
  for (int round = 0; round < 40; ++round) {
    SCOPED_TRACE(testing::Message() << "round " << round);
    for (std::uint64_t i = pick(12); i > 0; --i) step();
    ASSERT_TRUE(ok(filesystem_->sync()));

    // A set of single names, a tree and snapshots.
    DeletedSet deleted;
    const InodeNumber tree = directories_[pick(directories_.size())];
    const bool has_tree = tree != kRootInode && pick(2) == 0;
    const std::set<InodeNumber> inside = has_tree ? below(tree) : std::set<InodeNumber>();
    if (has_tree) deleted.names.push_back({tree, 0});
    std::set<std::pair<InodeNumber, std::string>> named;  // names are unique here
    for (const File& file : files_)
      for (const auto& [parent, name] : file.names)
        if (pick(3) == 0) {
          deleted.names.push_back({file.inode, parent});
          named.emplace(parent, name);
        }
    std::set<std::string> snapshots;
    for (const auto& [name, chunks] : snapshots_)
      if (pick(2) == 0) snapshots.insert(name);
    deleted.snapshots.assign(snapshots.begin(), snapshots.end());
    const auto is_deleted = [&](const auto& name) { return inside.contains(name.first) || named.contains(name); };
    const auto [used, own] =
        naive([&](const File& file) { return !file.names.empty() && std::ranges::all_of(file.names, is_deleted); },
              [&](const File& file) { return std::ranges::any_of(file.names, is_deleted); }, snapshots);
    const Share share = deletion(deleted);
    EXPECT_EQ(share.own_bytes, own);
    EXPECT_EQ(share.stored_bytes, used);

    const auto folders = value_of(compute_folder_shares(filesystem_->volume(), {kRootInode})).at(0);
    EXPECT_EQ(folders[0].share.own_bytes, naive(below(kRootInode)).second);
    EXPECT_EQ(folders[0].share.stored_bytes, naive(below(kRootInode)).first);
    std::size_t row = 1;
    for (const auto& [directory, parent] : parents_) {
      if (parent != kRootInode) continue;
      EXPECT_EQ(folders.at(row).share.own_bytes, naive(below(directory)).second) << folders[row].name;
      EXPECT_EQ(folders.at(row).share.stored_bytes, naive(below(directory)).first) << folders[row].name;
      ++row;
    }

    const auto sizes = value_of(compute_snapshot_shares(filesystem_->volume()));
    ASSERT_EQ(sizes.size(), snapshots_.size());
    for (std::size_t i = 0; i < sizes.size(); ++i) {
      const auto nothing = [](const File&) { return false; };
      const auto alone = naive(nothing, nothing, {snapshots_[i].first});
      EXPECT_EQ(sizes[i].share.own_bytes, alone.second) << i;
      EXPECT_EQ(sizes[i].share.stored_bytes, alone.first) << i;
    }
  }
}

}  // namespace
}  // namespace dedupfs
