#include "backup_repository.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>

#include "fs/test_filesystem.h"
#include "support/files.h"
#include "support/temp_dir.h"

namespace dedupfs::tools {
namespace {

using testing::ElementsAre;

// Programs of these names that print what a test wants, found first.
class BackupRepositories : public testing::Test {
 protected:
  BackupRepositories() : path_(std::getenv("PATH")) {
    ::setenv("PATH", (dir_.path().string() + ':' + path_).c_str(), 1);
  }
  ~BackupRepositories() override { ::setenv("PATH", path_.c_str(), 1); }

  void pretend(const std::string& program, const std::string& script) {
    overwrite(dir_.path() / program, "#!/bin/sh\n" + script);
    std::filesystem::permissions(dir_.path() / program, std::filesystem::perms::owner_all);
  }

  const TempDir dir_;
  const std::string path_;
};

TEST_F(BackupRepositories, ListTheArchivesOfBorgByAge) {
  pretend("borg",
          "[ \"$*,$BORG_REPO,$TZ\" = 'list --json,/repo,UTC' ] && echo '{\"archives\": ["
          "{\"id\": \"b2\", \"name\": \"new\", \"start\": \"2024-03-02T02:00:00.000000\"},"
          "{\"id\": \"a1\", \"name\": \"old\", \"start\": \"2024-03-01T02:00:00.000000\"}]}'");

  const auto archives = value_of(BackupRepository::make("borg", "/repo")->archives());

  ASSERT_EQ(archives.size(), 2);
  EXPECT_EQ(archives[0].name, "old");
  EXPECT_EQ(archives[0].id, "a1");
  EXPECT_EQ(archives[0].unix_seconds, 1'709'258'400);
  EXPECT_EQ(archives[1].name, "new");
}

TEST_F(BackupRepositories, NameTheSnapshotsOfResticAfterHostAndId) {
  pretend("restic",
          "[ \"$*,$RESTIC_REPOSITORY\" = 'snapshots --json,/repo' ] && echo '[{\"time\": "
          "\"2024-03-01T03:00:00.123456789+01:00\", \"hostname\": \"nas\", \"id\": \"0123456789abcdef\"}]'");

  const auto archives = value_of(BackupRepository::make("restic", "/repo")->archives());

  ASSERT_EQ(archives.size(), 1);
  EXPECT_EQ(archives[0].name, "nas-01234567");
  EXPECT_EQ(archives[0].unix_seconds, 1'709'258'400);
}

TEST_F(BackupRepositories, SayTheSizeOfAnArchive) {
  pretend("borg", "[ \"$*\" = 'info --json ::old' ] && echo '{\"archives\": [{\"stats\": {\"original_size\": 77}}]}'");
  pretend("restic", "[ \"$*\" = 'stats --json --mode restore-size a1' ] && echo '{\"total_size\": 78}'");
  const BackupArchive archive{.id = "a1", .name = "old"};

  EXPECT_EQ(value_of(BackupRepository::make("borg", "/repo")->size_of(archive)), 77);
  EXPECT_EQ(value_of(BackupRepository::make("restic", "/repo")->size_of(archive)), 78);
}

TEST_F(BackupRepositories, RestoreIntoAFolder) {
  const BackupArchive archive{.id = "a1", .name = "-old"};

  const ChildSettings borg = BackupRepository::make("borg", "/repo")->restore_to("/stage", archive);
  EXPECT_THAT(borg.command, ElementsAre("borg", "extract", "--numeric-ids", "--sparse", "::-old"));
  EXPECT_EQ(borg.folder, "/stage");
  const ChildSettings restic = BackupRepository::make("restic", "/repo")->restore_to("/stage", archive);
  EXPECT_THAT(restic.command, ElementsAre("restic", "restore", "a1", "--target", "/stage"));
}

TEST_F(BackupRepositories, BelieveNothingThatTheProgramsSay) {
  for (const char* const said : {"", "nonsense", "{}", "{\"archives\": 3}", "{\"archives\": [{\"id\": 3}]}",
                                 R"({"archives": [{"id": "--x", "name": "n", "start": "2024-03-01T02:00:00"}]})",
                                 R"({"archives": [{"id": "a1", "name": "n", "start": "monday"}]})"}) {
    pretend("borg", std::string("cat <<'END'\n") + said + "\nEND\n");
    EXPECT_FALSE(BackupRepository::make("borg", "/repo")->archives()) << said;
  }
}

TEST(ParseTime, TakesOffsets) {
  EXPECT_EQ(value_of(parse_time("1970-01-01T00:00:10")), 10);
  EXPECT_EQ(value_of(parse_time("1970-01-01T00:00:10.999Z")), 10);
  EXPECT_EQ(value_of(parse_time("1970-01-01T02:00:10+02:00")), 10);
  EXPECT_EQ(value_of(parse_time("1969-12-31T22:30:10.5-01:30")), 10);
  for (const char* const wrong : {"", "2024", "2024-03-01 02:00:00", "2024-03-01T02:00:00x", "2024-03-01T02:00:00+x"})
    EXPECT_FALSE(parse_time(wrong)) << wrong;
}

}  // namespace
}  // namespace dedupfs::tools
