#include "mount/daemon/daemon_log.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <spdlog/spdlog.h>
#include <sys/stat.h>

#include <filesystem>
#include <memory>

#include "support/child_process.h"
#include "support/files.h"
#include "support/temp_dir.h"

namespace dedupfs {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::Not;

// The log is that of the whole process: each test needs its own.
struct DaemonLog : testing::Test {
  TempDir folder;
  const std::filesystem::path file = folder.path() / "log";
};

mode_t mode_of(const std::filesystem::path& path) {
  struct stat status {};
  EXPECT_EQ(::stat(path.c_str(), &status), 0);
  return status.st_mode & 07777;
}

TEST_F(DaemonLog, LinesGoToTheFileAtOnce) {
  in_child_process([&] {
    ASSERT_TRUE(start_logging(file, false));
    spdlog::info("first");
    EXPECT_THAT(content_of(file), HasSubstr("first"));
    spdlog::error("second");
    EXPECT_THAT(content_of(file), AllOf(HasSubstr("first"), HasSubstr("second")));
  });
}

TEST_F(DaemonLog, BeginsWhereALoggerOfItsNameIsLeft) {
  in_child_process([&] {
    spdlog::register_logger(std::make_shared<spdlog::logger>("dedupfs"));
    ASSERT_TRUE(start_logging("", false));
    EXPECT_EQ(spdlog::default_logger()->sinks().size(), 1u);
    ASSERT_TRUE(start_logging(file, false));
    spdlog::info("later");
    EXPECT_THAT(content_of(file), HasSubstr("later"));
  });
}

// Its lines name files of all users.
TEST_F(DaemonLog, ANewFileIsForItsOwnerOnly) {
  in_child_process([&] {
    ::umask(0);
    ASSERT_TRUE(start_logging(file, false));
    EXPECT_EQ(mode_of(file), 0600u);
  });
}

TEST_F(DaemonLog, AFileThatIsThereIsContinuedAndKeepsItsMode) {
  in_child_process([&] {
    overwrite(file, "before\n");
    ASSERT_EQ(::chmod(file.c_str(), 0644), 0);
    ASSERT_TRUE(start_logging(file, false));
    spdlog::info("now");
    EXPECT_THAT(content_of(file), AllOf(testing::StartsWith("before\n"), HasSubstr("now")));
    EXPECT_EQ(mode_of(file), 0644u);
  });
}

TEST_F(DaemonLog, AfterARotationLinesGoToTheNewFile) {
  in_child_process([&] {
    ASSERT_TRUE(start_logging(file, false));
    spdlog::info("old");
    std::filesystem::rename(file, folder.path() / "log.1");
    spdlog::info("still old");
    reopen_log();
    spdlog::info("new");
    EXPECT_THAT(content_of(folder.path() / "log.1"), AllOf(HasSubstr("still old"), Not(HasSubstr("new"))));
    EXPECT_THAT(content_of(file), AllOf(HasSubstr("new"), Not(HasSubstr("old"))));
    EXPECT_EQ(mode_of(file), 0600u);
  });
}

TEST_F(DaemonLog, WhereTheNewFileCannotBeOpenedTheOldOneStaysAndSaysSo) {
  in_child_process([&] {
    ASSERT_TRUE(start_logging(file, false));
    std::filesystem::rename(file, folder.path() / "log.1");
    std::filesystem::create_directory(file);
    reopen_log();
    spdlog::info("later");
    EXPECT_THAT(content_of(folder.path() / "log.1"),
                AllOf(HasSubstr("the old one stays in use"), HasSubstr(file.string()), HasSubstr("later")));
  });
}

TEST_F(DaemonLog, AFileThatCannotBeOpenedIsAnErrorOfTheOption) {
  in_child_process([&] {
    const auto started = start_logging(folder.path() / "missing" / "log", false);
    ASSERT_FALSE(started);
    EXPECT_EQ(started.error().code(), ErrorCode::kInvalidArgument);
    EXPECT_THAT(started.error().message(), HasSubstr("cannot log to"));
  });
}

// Opening it would wait for ever.
TEST_F(DaemonLog, AFifoWithoutAReaderIsAnError) {
  in_child_process([&] {
    ASSERT_EQ(::mkfifo(file.c_str(), 0600), 0);
    EXPECT_FALSE(start_logging(file, false));
  });
}

TEST_F(DaemonLog, InTheForegroundItGoesToStandardError) {
  in_child_process([&] {
    testing::internal::CaptureStderr();
    ASSERT_TRUE(start_logging("", true));
    spdlog::warn("seen");
    reopen_log();  // there is no file
    spdlog::warn("seen again");
    EXPECT_THAT(testing::internal::GetCapturedStderr(), AllOf(HasSubstr("seen"), HasSubstr("seen again")));
  });
}

}  // namespace
}  // namespace dedupfs
