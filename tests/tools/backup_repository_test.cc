#include "backup_repository.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <tuple>

#include "fs/test_filesystem.h"
#include "support/files.h"
#include "support/temp_dir.h"

namespace dedupfs::tools {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

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

  void pretend_borg(const std::string& script) {
    pretend("borg", "[ \"$*\" = --version ] && exec echo borg 1.2.4\n" + script);
  }
  // Why it lists nothing. The program must not have been asked for archives.
  std::string refusal_of(const std::string& kind, const Path& repository) const {
    const auto archives = BackupRepository::make(kind, repository)->archives();
    EXPECT_FALSE(archives);
    EXPECT_FALSE(std::filesystem::exists(dir_.path() / "was-asked"));
    return archives ? "" : archives.error().message();
  }
  // A folder with these files, of which those that end in a slash are folders.
  Path folder_with(const std::vector<std::pair<std::string, std::string>>& files) {
    const Path folder = dir_.path() / std::to_string(++folders_);
    std::filesystem::create_directory(folder);
    for (const auto& [name, content] : files) {
      std::filesystem::create_directories((folder / name).parent_path());
      if (!name.ends_with('/')) overwrite(folder / name, content);
    }
    return folder;
  }

  const TempDir dir_;
  const std::string path_;
  int folders_ = 0;
};

TEST_F(BackupRepositories, ListTheArchivesOfBorgByAge) {
  pretend_borg(
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
  const BackupArchive archive{.id = "a1", .name = "old", .asked_by = "old"};

  EXPECT_EQ(value_of(BackupRepository::make("borg", "/repo")->size_of(archive)), 77);
  EXPECT_EQ(value_of(BackupRepository::make("restic", "/repo")->size_of(archive)), 78);
}

TEST_F(BackupRepositories, RestoreIntoAFolder) {
  const BackupArchive archive{.id = "a1", .name = "-old", .asked_by = "-old"};

  const ChildSettings borg = BackupRepository::make("borg", "/repo")->restore_to("/stage", archive);
  EXPECT_THAT(borg.command, ElementsAre("borg", "extract", "--numeric-ids", "--sparse", "::-old"));
  EXPECT_EQ(borg.folder, "/stage");
  const ChildSettings restic = BackupRepository::make("restic", "/repo")->restore_to("/stage", archive);
  EXPECT_THAT(restic.command, ElementsAre("restic", "restore", "a1", "--target", "/stage"));
}

TEST_F(BackupRepositories, ThatCannotBeWrittenToGetNoLock) {
  pretend("restic", "[ \"$*\" = '--no-lock snapshots --json' ] && echo '[]'");
  pretend_borg("[ \"$*\" = 'list --bypass-lock --json' ] && echo '{\"archives\": []}'");
  for (const char* const kind : {"borg", "restic"})
    EXPECT_TRUE(ok(BackupRepository::make(kind, "/repo", /*locks=*/false)->archives())) << kind;
  if (::geteuid() == 0) GTEST_SKIP() << "root may write to every folder";
  const Path repository = folder_with({{"config", "\x9d\xff"}, {"keys/", ""}, {"snapshots/", ""}});
  std::filesystem::permissions(repository, std::filesystem::perms::owner_read | std::filesystem::perms::owner_exec);
  EXPECT_TRUE(ok(BackupRepository::make("restic", repository)->archives()));
}

TEST_F(BackupRepositories, GiveNamesThatAFolderCanHave) {
  pretend("restic",
          "echo '[{\"time\": \"2024-03-01T03:00:00Z\", \"hostname\": \"prod/db\", \"id\": \"0123456789abcdef\"}]'");
  const auto archives = value_of(BackupRepository::make("restic", "/repo")->archives());
  ASSERT_EQ(archives.size(), 1);
  EXPECT_EQ(archives[0].name, "prod_db-01234567-01234567");

  const std::string longest(230, 'x');
  pretend_borg(
      "echo '{\"archives\": ["
      "{\"id\": \"a123456789\", \"name\": \".hidden\", \"start\": \"2024-03-01T02:00:00\"},"
      "{\"id\": \"b123456789\", \"name\": \"" +
      longest + "\", \"start\": \"2024-03-02T02:00:00\"}]}'");
  const auto of_borg = value_of(BackupRepository::make("borg", "/repo")->archives());
  ASSERT_EQ(of_borg.size(), 2);
  EXPECT_EQ(of_borg[0].name, "_hidden-a1234567");
  EXPECT_EQ(of_borg[1].name, longest.substr(0, 200) + "-b1234567");
  EXPECT_THAT(BackupRepository::make("borg", "/repo")->restore_to("/stage", of_borg[0]).command,
              testing::Contains("::.hidden"));
}

TEST_F(BackupRepositories, TakeNoAnswerThatIsNested) {
  pretend_borg("head -c 1000000 /dev/zero | tr '\\0' '['");
  const auto archives = BackupRepository::make("borg", "/repo")->archives();
  ASSERT_FALSE(archives);
  EXPECT_THAT(archives.error().message(), HasSubstr("depth"));
}

TEST_F(BackupRepositories, TellWarningsFromFailures) {
  for (const auto& [kind, status, is_warning] :
       {std::tuple("borg", 1, true), std::tuple("borg", 2, false), std::tuple("borg", 99, false),
        std::tuple("borg", 100, true), std::tuple("borg", 127, true), std::tuple("borg", 128, false),
        std::tuple("restic", 1, true), std::tuple("restic", 12, false), std::tuple("restic", 130, false)})
    EXPECT_EQ(BackupRepository::make(kind, "/repo")->is_warning(status), is_warning) << kind << ' ' << status;
}

TEST_F(BackupRepositories, BelieveNothingThatTheProgramsSay) {
  for (const char* const said : {"", "nonsense", "{}", "{\"archives\": 3}", "{\"archives\": [{\"id\": 3}]}",
                                 R"({"archives": [{"id": "--x", "name": "n", "start": "2024-03-01T02:00:00"}]})",
                                 R"({"archives": [{"id": "a1", "name": "n", "start": "monday"}]})"}) {
    pretend_borg(std::string("cat <<'END'\n") + said + "\nEND\n");
    EXPECT_FALSE(BackupRepository::make("borg", "/repo")->archives()) << said;
  }
}

TEST_F(BackupRepositories, OfBorg2AreRefusedWithWhatToDoInstead) {
  pretend_borg("touch \"${0%/*}/was-asked\"");
  // As 2.0.0b23 makes it, and as 2.0.0b5 does.
  for (const Path& repository :
       {folder_with({{"config/version", "4"}, {"config/id", "af5b"}, {"packs/5f/", ""}, {"archives/", ""}}),
        folder_with({{"config", "[repository]\nversion = 2\nsegments_per_dir = 1000\n"}, {"data/0/", ""}})}) {
    const std::string refusal = refusal_of("borg", repository);
    EXPECT_THAT(refusal, HasSubstr(repository.string() + " is a repository of borg 2"));
    EXPECT_THAT(refusal, HasSubstr("'borg -r REPOSITORY extract ARCHIVE'"));
  }
}

TEST_F(BackupRepositories, AreNotReadByBorg2) {
  pretend("borg", "[ \"$*\" = --version ] && exec echo borg 2.0.0b23\ntouch \"${0%/*}/was-asked\"");
  const Path repository = folder_with({{"config", "[repository]\nversion = 1\n"}, {"data/0/", ""}});

  for (const Path& location : {repository, Path("ssh://nas/borg")})
    EXPECT_THAT(refusal_of("borg", location), HasSubstr("'borg 2.0.0b23', and the import needs borg 1"));
}

TEST_F(BackupRepositories, OfAnotherProgramAreNamed) {
  for (const char* const program : {"borg", "restic"}) pretend(program, "touch \"${0%/*}/was-asked\"");
  const Path borg = folder_with({{"config", "[repository]\nversion = 1\n"}, {"data/0/", ""}});
  const Path restic = folder_with({{"config", "\x9d\xff"}, {"keys/", ""}, {"snapshots/", ""}});
  const Path empty = folder_with({});

  EXPECT_EQ(refusal_of("restic", borg), borg.string() + " is a repository of borg: use 'dedupfs-import borg'");
  EXPECT_EQ(refusal_of("borg", restic), restic.string() + " is a repository of restic: use 'dedupfs-import restic'");
  EXPECT_THAT(refusal_of("borg", empty), HasSubstr(" is no repository of borg: "));
  EXPECT_THAT(refusal_of("restic", empty), HasSubstr(" is no repository of restic: "));
  EXPECT_THAT(refusal_of("restic", folder_with({{"config/version", "4"}})), HasSubstr(" is a repository of borg 2"));
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
