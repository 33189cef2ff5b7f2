#include "mount/daemon/public_questions.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <ctime>

#include "fs/history/history_series.h"
#include "fs/test_filesystem.h"
#include "support/faulty_backing.h"
#include "support/json_contract.h"

namespace dedupfs {
namespace {

// Each answer keeps to its schema.
nlohmann::json document_of(const std::string& text) {
  EXPECT_EQ(contract_findings(text), "");
  return nlohmann::json::parse(text);
}

TEST(PublicQuestions, StatisticsAreThoseOfTheControlSocket) {
  TestFilesystem fs;
  FuseMount mount(*fs, {});
  fs.make_file(kRootInode, "f", "content");
  ASSERT_TRUE(ok(fs->sync()));

  const auto makers = public_questions(mount);
  const auto json = document_of(value_of(makers.at("dedupfs.statistics")()));

  EXPECT_EQ(json.at("files"), 1);
  EXPECT_EQ(json.size(), value_of(committed_statistics(mount)).size() + 2) << "schema and schema_version";
}

// Who may only look makes the volume write nothing.
TEST(PublicQuestions, CommitNothing) {
  TestFilesystem fs;
  FuseMount mount(*fs, {});
  fs.make_file(kRootInode, "f", "content");

  const auto makers = public_questions(mount);
  const auto json = document_of(value_of(makers.at("dedupfs.statistics")()));

  EXPECT_EQ(json.at("files"), 0);
  EXPECT_FALSE(fs.after_crash()->find("f"));
}

// A live view asks each second: it takes no walk.
TEST(PublicQuestions, TellWhatGoesOnNow) {
  TestFilesystem fs;
  FuseMount mount(*fs, {});
  fs.make_file(kRootInode, "f", std::string(1 << 20, 'x'));
  ASSERT_TRUE(ok(fs->sync()));

  const auto makers = public_questions(mount);
  const auto json = document_of(value_of(makers.at("dedupfs.live")()));

  EXPECT_EQ(json.at("scrub").at("running"), false);
  EXPECT_EQ(json.at("reclaim").at("running"), false);
  EXPECT_EQ(json.at("performance").at("stages").at(0).at("name"), "cut");
  EXPECT_EQ(json.at("performance").at("stages").at(0).at("bytes"), 1 << 20);
}

TEST(PublicQuestions, TellHowTheVolumeHasGrown) {
  TestFilesystem fs;
  FuseMount mount(*fs, {});
  put_history_sample(fs->volume().metadata(), {.unix_seconds = std::time(nullptr), .disk_bytes = 7});

  const auto makers = public_questions(mount);
  const auto json = document_of(value_of(makers.at("dedupfs.history")()));

  EXPECT_EQ(json.at("samples").at(0).at("disk_bytes"), 7);
}

TEST(PublicQuestions, TellQuotasWithoutTheirPaths) {
  TestFilesystem fs;
  FuseMount mount(*fs, {});
  const InodeNumber limited = fs.make_directory(kRootInode, "limited");
  ASSERT_TRUE(ok(fs->set_quota(limited, {.logical_bytes = 1 << 20, .stored_bytes = {}, .files = {}})));

  const auto makers = public_questions(mount);
  const auto quota = document_of(value_of(makers.at("dedupfs.quotas")())).at("quotas").at(0);

  EXPECT_EQ(quota.at("inode"), limited);
  EXPECT_EQ(quota.at("logical_limit_bytes"), 1 << 20);
  EXPECT_EQ(quota.at("path"), nullptr);
}

TEST(PublicQuestions, HealthSaysWhatAnAdministratorIsToldOf) {
  TestFilesystem fs;
  FuseMount mount(*fs, {});

  const auto makers = public_questions(mount);
  const auto json = document_of(value_of(makers.at("dedupfs.health")()));

  EXPECT_EQ(json.at("pid"), ::getpid());
  EXPECT_EQ(json.at("failed"), false);
  EXPECT_EQ(json.at("was_closed"), true);
  EXPECT_EQ(json.at("damaged_chunks"), 0);
  EXPECT_GT(json.at("total_bytes"), 0);
  EXPECT_EQ(json.at("scrub").at("last"), nullptr);
  EXPECT_FALSE(json.at("scrub").contains("damaged_files")) << "everybody may ask";
  EXPECT_EQ(json.at("reclaim").at("last"), nullptr);
}

// Others fill it, too.
TEST(PublicQuestions, HealthCountsTheWholeDiskAsItsSize) {
  TestFilesystem fs;
  const auto disk = std::make_shared<FaultyBacking>();
  fs.use(disk);
  fs.reopen();
  disk->told_space = [] { return Backing::Space{std::uint64_t{1000} << 20, std::uint64_t{100} << 20}; };
  FuseMount mount(*fs, {});

  const auto json = document_of(value_of(public_questions(mount).at("dedupfs.health")()));

  EXPECT_EQ(json.at("total_bytes"), std::uint64_t{1000} << 20);
  EXPECT_LE(json.at("available_bytes"), std::uint64_t{100} << 20);
  disk->told_space = nullptr;
}

TEST(PublicQuestions, HealthSaysThatACommitFailed) {
  TestFilesystem fs;
  const auto disk = std::make_shared<FaultyBacking>();
  fs.use(disk);
  fs.reopen();
  FuseMount mount(*fs, {});
  const auto makers = public_questions(mount);
  fs.make_file(kRootInode, "f", "content");
  disk->fault = [](const std::string& operation, const Path&) -> std::optional<Error> {
    if (operation == "datasync") return Error{ErrorCode::kIo, "broken"};
    return std::nullopt;
  };
  EXPECT_FALSE(fs->sync());

  EXPECT_EQ(document_of(value_of(makers.at("dedupfs.health")())).at("failed"), true);
  fs.drop();
}

}  // namespace
}  // namespace dedupfs
