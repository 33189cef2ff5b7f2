#include "mount/reports/share_report.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

namespace dedupfs {
namespace {

using testing::HasSubstr;
using testing::Not;

constexpr Share kShare{.files = 3,
                       .logical_bytes = 4 << 20,
                       .shared_files = 1,
                       .stored_bytes = 3 << 20,
                       .own_bytes = 2 << 20,
                       .held_bytes = 1 << 19};

TEST(ShareReport, ADeletionSaysWhatItFreesAndWhatStays) {
  const auto json = deletion_json(kShare);

  EXPECT_EQ(json, (nlohmann::json{{"freed_bytes", 2 << 20},
                                  {"most_freed_bytes", (2 << 20) + (1 << 19)},
                                  {"held_bytes", 1 << 19},
                                  {"stored_bytes", 3 << 20},
                                  {"files", 3},
                                  {"logical_bytes", 4 << 20},
                                  {"kept_files", 1}}));
  const std::string screen = deletion_screen(json);
  EXPECT_THAT(screen,
              HasSubstr("Frees  2.00 MiB at least, 2.50 MiB at most: what only these have of 3.00 MiB on disk (3 "
                        "files, 4.00 MiB)\n"));
  EXPECT_THAT(screen, HasSubstr("Stays  512.00 KiB: other files or snapshots have it, too\n"));
  EXPECT_THAT(screen, HasSubstr("Held   512.00 KiB, the difference: "));
  EXPECT_THAT(screen, HasSubstr("Kept   1 of the files"));
}

TEST(ShareReport, NothingIsSaidOfWhatIsNotThere) {
  const std::string screen = deletion_screen(deletion_json({.stored_bytes = 1 << 20, .own_bytes = 1 << 20}));

  EXPECT_THAT(screen, HasSubstr("Frees  1.00 MiB: what only these have of 1.00 MiB on disk\n"));
  EXPECT_THAT(screen, Not(HasSubstr("Stays")));
  EXPECT_THAT(screen, Not(HasSubstr("Held")));
  EXPECT_THAT(screen, Not(HasSubstr("Kept")));
}

TEST(ShareReport, FoldersHaveALineEach) {
  auto json = folder_shares_json({{{"", kShare}, {"folder", {}}}});

  ASSERT_EQ(json.size(), 1u);
  ASSERT_EQ(json[0].size(), 2u);
  EXPECT_EQ(json[0][1].at("name"), "folder");
  EXPECT_EQ(json[0][0].at("own_bytes"), 2 << 20);
  json[0][0]["path"] = "/top";
  json[0][1]["path"] = "/top/folder";
  EXPECT_EQ(folder_shares_screen(json[0]),
            "    Files     Logical      Stored         Own  Folder\n"
            "        3    4.00 MiB    3.00 MiB    2.00 MiB  /top\n"
            "        0         0 B         0 B         0 B  /top/folder\n");
}

TEST(ShareReport, SnapshotsAreFoundByTheirNumbers) {
  EXPECT_EQ(snapshot_shares_json({{.number = 7, .share = kShare}}),
            (nlohmann::json{{"7", {{"used_bytes", 3 << 20}, {"own_bytes", 2 << 20}}}}));
}

}  // namespace
}  // namespace dedupfs
