#include "fs/estimate/piece_reader.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <string_view>

#include "chunkers/registry.h"
#include "fs/test_filesystem.h"
#include "support/files.h"
#include "support/temp_dir.h"

namespace dedupfs {
namespace {

using Chunks = std::vector<std::pair<std::uint64_t, std::string>>;

class PieceReaderTest : public testing::TestWithParam<std::string_view> {
 protected:
  Chunks read(FilePart part) {
    Chunks chunks;
    const auto found = value_of(
        PieceReader(tree_, *chunker_).read({.relative = "file", .part = part}, [&](std::uint64_t at, ByteSpan chunk) {
          chunks.emplace_back(at, text_of(chunk));
          return Result<void>();
        }));
    EXPECT_FALSE(found.unreadable);
    EXPECT_FALSE(found.changed);
    return chunks;
  }

  const TempDir dir_;
  const SourceTree tree_{{.roots = {dir_.path()}}};
  const std::unique_ptr<Chunker> chunker_ = value_of(make_chunker(GetParam()));
};

TEST_P(PieceReaderTest, ThePartsOfAFileHaveEachOfItsChunksOnce) {
  overwrite(dir_.path() / "file", random_text((9 << 20) + 12345, 1));

  const Chunks whole = read({});
  Chunks parts;
  for (std::uint32_t part = 0; part < 7; ++part)
    for (auto& chunk : read({part, 7})) parts.push_back(std::move(chunk));

  EXPECT_TRUE(parts == whole);
  EXPECT_GT(whole.size(), 20u);
}

TEST_P(PieceReaderTest, HolesAreNoChunks) {
  const std::string text = random_text(300 << 10, 2);
  overwrite(dir_.path() / "file", text);
  std::filesystem::resize_file(dir_.path() / "file", 8 << 20);
  std::string content = content_of(dir_.path() / "file") + text;
  overwrite(dir_.path() / "file", content);  // now of zeros that are written

  std::string joined;
  std::uint64_t end = 0;
  for (const auto& [at, chunk] : read({})) {
    EXPECT_TRUE(content.compare(at, chunk.size(), chunk) == 0);
    joined += chunk;
    end = at + chunk.size();
  }
  EXPECT_TRUE(joined == text + text);
  EXPECT_EQ(end, content.size());
}

INSTANTIATE_TEST_SUITE_P(Chunkers, PieceReaderTest, testing::Values(kDefaultChunkerSpec, "fixed:size=16k"));

TEST(PieceReader, TellsOfAFileThatIsGone) {
  const TempDir dir;
  const SourceTree tree({.roots = {dir.path()}});
  const auto chunker = value_of(make_chunker(kDefaultChunkerSpec));

  const auto found = value_of(
      PieceReader(tree, *chunker).read({.relative = "gone"}, [](std::uint64_t, ByteSpan) { return Result<void>(); }));

  EXPECT_TRUE(found.unreadable);
  EXPECT_EQ(found.bytes, 0u);
}

}  // namespace
}  // namespace dedupfs
