#include "mount/supervision/journal_log.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <spdlog/logger.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstdlib>
#include <string>

#include "receiver.h"
#include "support/temp_dir.h"

namespace dedupfs {
namespace {

using namespace std::string_literals;
using testing::AllOf;
using testing::HasSubstr;
using testing::Not;

// A logger whose lines the test receives in place of the journal.
class JournalLogTest : public testing::Test {
 protected:
  const TempDir folder_;
  const std::string address_ = folder_.path() / "journal";
  Receiver receiver_{address_};
  spdlog::logger logger_{"test", JournalLog::open({{"VOLUME", "/srv/volume"}}, address_).value()};
};

TEST(JournalEntry, IsALineForEachField) {
  EXPECT_EQ(journal_entry({{"A", "1"}, {"B", "x=y"}}), "A=1\nB=x=y\n");
}

TEST(JournalEntry, GivesTheLengthOfAValueWithLineBreaks) {
  EXPECT_EQ(journal_entry({{"A", "x\ny"}}), "A\n\x03\0\0\0\0\0\0\0x\ny\n"s);
}

TEST_F(JournalLogTest, SendsEachLineWithItsFields) {
  logger_.warn("the disk is {}", "slow");
  EXPECT_THAT(receiver_.next(), AllOf(HasSubstr("MESSAGE=the disk is slow\n"), HasSubstr("PRIORITY=4\n"),
                                      HasSubstr("SYSLOG_IDENTIFIER=dedupfs\n"), HasSubstr("VOLUME=/srv/volume\n")));
}

TEST_F(JournalLogTest, NamesTheContainerOfAMessage) {
  logger_.error("/srv/volume/containers/0000000120.container: offset 5");
  EXPECT_THAT(receiver_.next(), HasSubstr("CONTAINER=120\n"));
  logger_.error("no room");
  EXPECT_THAT(receiver_.next(), Not(HasSubstr("CONTAINER")));
}

TEST_F(JournalLogTest, NamesTheFileOfAMessage) {
  logger_.error("scrub: damaged: /folder/file");
  EXPECT_THAT(receiver_.next(), HasSubstr("PATH=/folder/file\n"));
  logger_.error("inode 7 (/a (b)/c): 0000000120.container: offset 5");
  EXPECT_THAT(receiver_.next(), AllOf(HasSubstr("PATH=/a (b)/c\n"), HasSubstr("CONTAINER=120\n")));
  logger_.error("no room");
  EXPECT_THAT(receiver_.next(), Not(HasSubstr("PATH")));
}

TEST(PathIn, IsEmptyWithoutAPathFromTheRootOn) {
  for (const char* message :
       {"", "scrub: damaged: ", "scrub: damaged: [inode 5]", "inode", "inode ", "inode 5", "inode 5 (", "inode 5 (/a",
        "inode 5 (name unknown): bad", "inode (/a): bad of inode 5 (/b): bad", "the inode 5 (/a): bad"})
    EXPECT_EQ(path_in(message), "") << message;
}

TEST(ContainerIn, ReadsBothFormsOfAName) {
  EXPECT_EQ(container_in("0000000012.container: bad"), "12");
  EXPECT_EQ(container_in("chunk 3 is not in container 77 at 5"), "77");
  EXPECT_EQ(container_in("scrub: damaged: /a/container 5/x"), "") << "the name of a file";
  EXPECT_EQ(container_in("inode 12 (/0000000005.container): container 7 is damaged"), "7");
  for (const char* message : {"", "container", "container x", ".container", "0.container", "a container full of 12"})
    EXPECT_EQ(container_in(message), "") << message;
}

TEST_F(JournalLogTest, CannotBeForgedByALineBreakInAMessage) {
  logger_.info("name\nPRIORITY=0");
  EXPECT_THAT(receiver_.next(), HasSubstr("MESSAGE\n\x0f\0\0\0\0\0\0\0name\nPRIORITY=0\n"s));
}

TEST(StderrIsJournal, IfItIsTheStreamThatSystemdNamed) {
  struct stat status {};
  ASSERT_EQ(::fstat(STDERR_FILENO, &status), 0);
  ::unsetenv("JOURNAL_STREAM");
  EXPECT_FALSE(stderr_is_journal());
  ::setenv("JOURNAL_STREAM", fmt::format("{}:{}", status.st_dev, status.st_ino).c_str(), 1);
  EXPECT_TRUE(stderr_is_journal());
  ::setenv("JOURNAL_STREAM", "1:1", 1);
  EXPECT_FALSE(stderr_is_journal());
  ::unsetenv("JOURNAL_STREAM");
}

}  // namespace
}  // namespace dedupfs
