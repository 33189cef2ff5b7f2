#include "mount/reports/diff_report.h"

#include <gtest/gtest.h>
#include <sys/stat.h>

#include <nlohmann/json.hpp>
#include <string>

namespace dedupfs {
namespace {

using Kind = TreeChange::Kind;
using Json = nlohmann::json;

TreeDiff of_changes(std::vector<TreeChange> changes) {
  return {.from = {.number = 1, .name = "monday", .created_unix_seconds = 10},
          .to = SnapshotRecord{.number = 4, .name = "tuesday", .created_unix_seconds = 20},
          .changes = std::move(changes)};
}

TEST(DiffReport, JsonHasWhatIsKnownOfEachChange) {
  const Json changes = changes_json(of_changes({
      {.kind = Kind::kAdded, .type = S_IFREG, .inode = 7, .path = "a", .size = 5},
      {.kind = Kind::kRemoved, .type = S_IFDIR, .inode = 8, .path = "b"},
      {.kind = Kind::kModified,
       .type = S_IFREG,
       .inode = 9,
       .old_inode = 2,
       .path = "c",
       .content = true,
       .attributes = {"mode"},
       .size = 6,
       .old_size = 5},
      {.kind = Kind::kRenamed, .type = S_IFLNK, .inode = 10, .path = "d", .old_path = "e"},
  }));
  EXPECT_EQ(changes, Json::parse(R"([
    {"change": "added", "type": "file", "inode": 7, "path": "a", "size": 5},
    {"change": "removed", "type": "directory", "inode": 8, "path": "b"},
    {"change": "modified", "type": "file", "inode": 9, "old_inode": 2, "path": "c", "size": 6, "old_size": 5,
     "content": true, "attributes": ["mode"]},
    {"change": "renamed", "type": "symlink", "inode": 10, "path": "d", "old_path": "e"}])"));
}

TEST(DiffReport, PathsOfAnyBytesAreValidJsonAndReadBack) {
  const std::string odd = "caf\xe9\n\x1b[1m";
  const Json changes = changes_json(of_changes({
      {.kind = Kind::kAdded, .type = S_IFREG, .inode = 7, .path = odd},
      {.kind = Kind::kRenamed, .type = S_IFREG, .inode = 8, .path = "ü", .old_path = odd},
  }));
  const Json read = Json::parse(changes.dump(-1, ' ', false, Json::error_handler_t::replace));
  EXPECT_EQ(read[0].at("path_hex"), "636166e90a1b5b316d");
  EXPECT_FALSE(read[1].contains("path_hex"));
  EXPECT_EQ(read[1].at("old_path_hex"), "636166e90a1b5b316d");
  EXPECT_EQ(diff_screen(read), R"(+ caf\351\n\033[1m)"
                               "\n"
                               R"(R caf\351\n\033[1m -> ü)"
                               "\n");
}

TEST(DiffReport, TheScreenHasALineForEachChange) {
  const Json changes = changes_json(of_changes({
      {.kind = Kind::kRemoved, .type = S_IFREG, .inode = 8, .path = "gone"},
      {.kind = Kind::kModified,
       .type = S_IFREG,
       .inode = 9,
       .path = "m",
       .content = true,
       .attributes = {"mode", "uid"}},
      {.kind = Kind::kModified, .type = S_IFREG, .inode = 9, .old_inode = 3, .path = "n", .attributes = {"mtime"}},
  }));
  EXPECT_EQ(diff_screen(changes), "- gone\nM m  (content, mode, uid)\nM n  (replaced, mtime)\n");
  EXPECT_EQ(diff_screen(Json::array()), "");
  EXPECT_THROW((void)diff_screen({{{"change", "added"}}}), Json::exception);
}

TEST(DiffReport, AnAnswerHoldsAsMuchAsItMay) {
  const TreeDiff diff = of_changes({{.path = std::string(100, 'a')}, {.path = "b"}, {.path = "c"}});
  EXPECT_EQ(changes_json(diff, 0, 500).size(), 1U);
  EXPECT_EQ(changes_json(diff, 1, 500).size(), 2U);
  EXPECT_EQ(changes_json(diff, 3, 500).size(), 0U);
  EXPECT_EQ(changes_json(diff, 9).size(), 0U);
}

TEST(DiffReport, NamesWhatIsCompared) {
  EXPECT_EQ(compared_json(of_changes({})), Json::parse(R"({
    "from": {"name": "monday", "number": 1, "created_unix_seconds": 10, "created": "1970-01-01T00:00:10Z"},
    "to": {"name": "tuesday", "number": 4, "created_unix_seconds": 20, "created": "1970-01-01T00:00:20Z"}})"));
  TreeDiff to_present = of_changes({});
  to_present.to.reset();
  EXPECT_EQ(compared_json(to_present).at("to"), nullptr);
}

}  // namespace
}  // namespace dedupfs
