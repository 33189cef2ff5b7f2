#include "fs/extract/entry_source.h"

#include <gtest/gtest.h>

#include "fs/extract/extract_of_volume.h"
#include "support/files.h"

namespace dedupfs {
namespace {

class EntrySources : public VolumeOfAllKinds {
 protected:
  Attributes attributes(const char* path) { return volume_.attributes(value_of(volume_.find(path))); }
};

TEST_F(EntrySources, GiveContentWithoutItsHoles) {
  const Attributes sparse = attributes("sparse");
  EntrySource source = source_of(*volume_, sparse);
  std::string content(sparse.size, '\0');
  std::size_t read = 0;

  ASSERT_TRUE(ok(source.read_all([&](std::uint64_t offset, ByteSpan bytes) -> Result<void> {
    content.replace(offset, bytes.size(), text_of(bytes));
    read += bytes.size();
    return {};
  })));

  EXPECT_TRUE(content == volume_.content(sparse.inode));
  EXPECT_LT(read, 100'000);
  EXPECT_FALSE(source.failure());
}

TEST_F(EntrySources, GiveAttributesAndTargets) {
  const Attributes letter = attributes("twin"), link = attributes("docs/old");

  EXPECT_EQ(value_of(source_of(*volume_, letter).xattrs()), (EntrySource::Xattrs{{"user.author", "me"}}));
  EXPECT_EQ(value_of(source_of(*volume_, link).symlink_target()), "letter");
}

TEST_F(EntrySources, TellFailuresOfTheVolumeFromThoseOfTheTaker) {
  const Attributes letter = attributes("twin");
  EntrySource taken = source_of(*volume_, letter);
  EXPECT_TRUE(fails_with(ErrorCode::kNoSpace, taken.read_all([](std::uint64_t, ByteSpan) -> Result<void> {
    return Error{ErrorCode::kNoSpace, "full"};
  })));
  EXPECT_FALSE(taken.failure());

  EntrySource wrong = source_of(*volume_, letter);
  EXPECT_FALSE(wrong.symlink_target());
  EXPECT_TRUE(wrong.failure());
}

TEST_F(EntrySources, EndWhenTheWatcherWantsNoMore) {
  const Attributes letter = attributes("twin");
  std::uint64_t seen = 0;
  const EntrySource::Watcher watcher = [&](std::uint64_t bytes) {
    seen += bytes;
    return false;
  };
  EntrySource source(*volume_, letter, watcher);

  EXPECT_TRUE(
      fails_with(ErrorCode::kInterrupted, source.read_all([](std::uint64_t, ByteSpan) -> Result<void> { return {}; })));
  EXPECT_EQ(seen, letter_text_.size());
}

}  // namespace
}  // namespace dedupfs
