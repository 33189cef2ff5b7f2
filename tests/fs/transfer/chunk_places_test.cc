#include "fs/transfer/chunk_places.h"

#include "fs/format/recipe_format.h"
#include "fs/format/records.h"
#include "fs/transfer/file_changes.h"
#include "fs/transfer/two_trees.h"

namespace dedupfs::transfer {
namespace {

class ChunkPlacesTest : public TwoTrees {
 protected:
  struct Chunk {
    ChunkId id{};
    std::uint64_t length = 0;
    std::uint64_t offset = 0;
    std::uint64_t segment = 0;
  };
  static std::vector<Chunk> chunks_of(const CommittedTree& tree, InodeNumber inode) {
    std::vector<Chunk> chunks;
    EXPECT_TRUE(ok(visit_changed_entries(nullptr, tree, inode, [&](const ChangedEntry& entry) -> Result<void> {
      if (entry.entry.kind == RecipeEntry::Kind::kChunk)
        chunks.push_back({entry.entry.chunk, entry.entry.length, entry.offset, entry.segment});
      return {};
    })));
    return chunks;
  }
};

TEST_F(ChunkPlacesTest, EveryChunkOfTheBaseIsAtItsPlace) {
  fs_.make_file(kRootInode, "small", random_text(40'000, 1));
  const InodeNumber large = fs_.make_file(kRootInode, "large", random_text(8 << 20, 2));  // several segments
  snapshot("base");
  const CommittedTree base = tree("base");
  ChunkPlaces places(base, &base);

  const auto chunks = chunks_of(base, large);
  ASSERT_GT(chunks.size(), kSegmentEntries);
  for (std::size_t i = 0; i < chunks.size(); i += 13) {
    const auto place = value_of(places.find(chunks[i].id));
    ASSERT_TRUE(place) << i;
    EXPECT_EQ(*place, (ContentPlace{Tree::kBase, large, chunks[i].offset, chunks[i].length})) << i;
  }
}

TEST_F(ChunkPlacesTest, WhatIsNotInTheBaseHasAPlaceOnceItWasSent) {
  snapshot("base");
  const InodeNumber file = fs_.make_file(kRootInode, "new", random_text(200'000, 3));
  snapshot("newer");
  const CommittedTree base = tree("base");
  const CommittedTree now = tree("newer");
  ChunkPlaces places(now, &base);
  const auto chunks = chunks_of(now, file);

  for (const Chunk& chunk : chunks) {
    EXPECT_FALSE(value_of(places.find(chunk.id)));
    places.note_sent(chunk.id, chunk.length, file, chunk.offset, chunk.segment);
    const auto place = value_of(places.find(chunk.id));
    ASSERT_TRUE(place);
    EXPECT_EQ(*place, (ContentPlace{Tree::kNow, file, chunk.offset, chunk.length}));
  }
  EXPECT_EQ(value_of(places.find(chunks[0].id))->offset, 0u) << "the first one still";
}

TEST_F(ChunkPlacesTest, WhatWasDeletedButIsStillOpenIsNoPlace) {
  const InodeNumber file = fs_.make_file(kRootInode, "deleted", random_text(50'000, 4));
  snapshot("before");
  ASSERT_TRUE(ok(fs_->open_file(file, false, {})));
  ASSERT_TRUE(ok(fs_->unlink(kRootInode, "deleted")));
  snapshot("base");
  const auto chunks = chunks_of(tree("before"), file);
  ASSERT_FALSE(chunks.empty());
  const CommittedTree base = tree("base");
  ChunkPlaces places(base, &base);

  for (const Chunk& chunk : chunks) EXPECT_FALSE(value_of(places.find(chunk.id)));
  fs_->release_file(file, false);
}

}  // namespace
}  // namespace dedupfs::transfer
