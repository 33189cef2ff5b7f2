#include "fs/extract/extract.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "fs/extract/extract_of_volume.h"
#include "fs/format/mode.h"
#include "fs/format/records.h"

namespace dedupfs {
namespace {

using testing::ElementsAre;

// Writes down what it is given.
class Notes final : public ExtractSink {
 public:
  Result<void> begin_folder(const ExtractEntry& folder, EntrySource& /*source*/) override {
    lines.push_back((folder.is_asked_for ? "begin " : "above ") + folder.path);
    return folder.path == refused ? Result<void>(Error{ErrorCode::kExists, "refused"}) : Result<void>();
  }
  Result<Taken> end_folder(const ExtractEntry& folder, EntrySource& /*source*/) override {
    lines.push_back("end " + folder.path);
    return taken(folder);
  }
  Result<Taken> put(const ExtractEntry& entry, EntrySource& /*source*/) override {
    lines.push_back(entry.path);
    return taken(entry);
  }
  Result<void> put_link(const ExtractEntry& entry, const std::string& first) override {
    lines.push_back(entry.path + " = " + first);
    return {};
  }
  bool is_broken() const override { return breaks; }

  std::vector<std::string> lines;
  std::string refused;
  std::string incomplete;
  bool breaks = false;

 private:
  Result<Taken> taken(const ExtractEntry& entry) const {
    if (entry.path == refused) return Error{ErrorCode::kExists, "refused"};
    return Taken{.lacks = entry.path == incomplete ? "its times" : ""};
  }
};

class Extract : public VolumeOfAllKinds {
 protected:
  Notes notes_;
};

TEST_F(Extract, GivesEverythingInTheOrderOfTheFolders) {
  const ExtractTotals totals = take(notes_);

  EXPECT_THAT(notes_.lines, ElementsAre("begin docs", "docs/letter", "docs/old", "end docs", "twin = docs/letter",
                                        "sparse", "pipe", "begin empty", "end empty"));
  EXPECT_EQ(totals.entries, 7);
  EXPECT_EQ(totals.damaged + totals.refused, 0);
}

// What is there can have further names.
TEST_F(Extract, NamesWhatLacksAttributesAndGoesOn) {
  notes_.incomplete = "docs/letter";

  const ExtractTotals totals = take(notes_);

  EXPECT_THAT(notes_.lines, testing::Contains("twin = docs/letter"));
  EXPECT_EQ(totals.entries, 7);
  EXPECT_EQ(totals.refused, 1);
  EXPECT_THAT(failures_.by_path.at("docs/letter").message(), testing::HasSubstr("its times"));
}

TEST_F(Extract, TakesEachAskedPathOnceWithTheFoldersAboveIt) {
  take(notes_, {.paths = {"/docs/letter", "twin", "docs//letter/", "./docs/letter"}});

  EXPECT_THAT(notes_.lines, ElementsAre("above docs", "docs/letter", "end docs", "twin = docs/letter"));
}

TEST_F(Extract, TakesAWholeFolderOfWhichAPartIsAskedForToo) {
  take(notes_, {.paths = {"docs/letter", "docs"}});

  EXPECT_THAT(notes_.lines, ElementsAre("begin docs", "docs/letter", "docs/old", "end docs"));
}

TEST_F(Extract, TakesASnapshot) {
  ASSERT_TRUE(ok(volume_->create_snapshot("before")));
  volume_.make_file(kRootInode, "later");

  take(notes_, {.paths = {"twin"}, .snapshot = "before"});
  EXPECT_THAT(notes_.lines, ElementsAre("twin"));
  EXPECT_TRUE(fails_with(ErrorCode::kNotFound,
                         extract(*volume_, {.paths = {"later"}, .snapshot = "before"}, notes_, failures_)));
  EXPECT_TRUE(fails_with(ErrorCode::kNotFound, extract(*volume_, {.snapshot = "none"}, notes_, failures_)));
}

TEST_F(Extract, RefusesPathsThatAreNotThereBeforeItBegins) {
  for (const char* const path : {"none", "docs/none", "twin/below", "docs/old/below"})
    EXPECT_FALSE(extract(*volume_, {.paths = {"sparse", path}}, notes_, failures_)) << path;
  EXPECT_TRUE(
      fails_with(ErrorCode::kInvalidArgument, extract(*volume_, {.paths = {"docs/../twin"}}, notes_, failures_)));
  EXPECT_THAT(notes_.lines, ElementsAre());
}

TEST_F(Extract, GoesOnAfterWhatTheSinkRefuses) {
  notes_.refused = "docs";

  const ExtractTotals totals = take(notes_);

  EXPECT_EQ(totals.refused, 1);
  EXPECT_TRUE(failures_.by_path.contains("docs"));
  EXPECT_THAT(notes_.lines, ElementsAre("begin docs", "twin", "sparse", "pipe", "begin empty", "end empty"));
}

TEST_F(Extract, EndsWithASinkThatIsBroken) {
  notes_.refused = "docs/letter";
  notes_.breaks = true;

  EXPECT_TRUE(fails_with(ErrorCode::kExists, extract(*volume_, {}, notes_, failures_)));
  EXPECT_THAT(notes_.lines, ElementsAre("begin docs", "docs/letter"));
}

TEST_F(Extract, EndsWhenTheObserverSaysSo) {
  failures_.stops = true;

  EXPECT_TRUE(fails_with(ErrorCode::kInterrupted, extract(*volume_, {}, notes_, failures_)));
  EXPECT_THAT(notes_.lines, ElementsAre("begin docs", "docs/letter"));
}

// Only a hostile volume has such folders and names.
TEST_F(Extract, EntersAFolderThatContainsItselfOnce) {
  const InodeNumber docs = value_of(volume_.find("docs"));
  Metadata& metadata = volume_->volume().metadata();
  metadata.put(Family::kDirents, encode_dirent_key(docs, "self"), encode_dirent({docs, S_IFDIR, 999}));
  metadata.put(Family::kCookies, encode_cookie_key(docs, 999), encode_cookie_entry({docs, S_IFDIR, "self"}));

  const ExtractTotals totals = take(notes_, {.paths = {"docs"}});

  EXPECT_EQ(totals.damaged, 1);
  EXPECT_TRUE(failures_.by_path.contains("docs/self"));
  EXPECT_THAT(notes_.lines, ElementsAre("begin docs", "docs/letter", "docs/old", "end docs"));
}

TEST_F(Extract, NamesAnEntryWithoutAnInodeAndOneWithoutAName) {
  Metadata& metadata = volume_->volume().metadata();
  metadata.put(Family::kDirents, encode_dirent_key(kRootInode, "ghost"), encode_dirent({77'777, S_IFREG, 999}));
  metadata.put(Family::kCookies, encode_cookie_key(kRootInode, 999), encode_cookie_entry({77'777, S_IFREG, "ghost"}));
  metadata.put(Family::kCookies, encode_cookie_key(kRootInode, 1000),
               encode_cookie_entry({kRootInode, S_IFREG, "../x"}));

  const ExtractTotals totals = take(notes_);

  EXPECT_EQ(totals.damaged, 2);
  EXPECT_TRUE(failures_.by_path.contains("ghost"));
  EXPECT_TRUE(failures_.by_path.contains("/"));  // what lies behind such a record is not known
  EXPECT_EQ(totals.entries, 7);
  for (const std::string& line : notes_.lines) EXPECT_EQ(line.find(".."), std::string::npos);
}

}  // namespace
}  // namespace dedupfs
