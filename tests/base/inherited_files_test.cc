#include "base/inherited_files.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include "support/child_process.h"

namespace dedupfs {
namespace {

bool is_open(int descriptor) {
  return ::fcntl(descriptor, F_GETFD) >= 0;
}

TEST(InheritedFiles, OfBeforeAreClosedAndOwnOnesAndStandardStreamsStay) {
  in_child_process([] {
    const int inherited = ::open("/dev/null", O_RDONLY);
    const int high = ::fcntl(inherited, F_DUPFD, 400);
    InheritedFiles files = InheritedFiles::now();
    const int own = ::open("/dev/null", O_RDONLY | O_CLOEXEC);

    files.close();

    EXPECT_FALSE(is_open(inherited));
    EXPECT_FALSE(is_open(high));
    EXPECT_TRUE(is_open(own));
    for (const int stream : {STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO}) EXPECT_TRUE(is_open(stream));
  });
}

TEST(InheritedFiles, AreClosedOnce) {
  in_child_process([] {
    const int inherited = ::open("/dev/null", O_RDONLY);
    InheritedFiles files = InheritedFiles::now();
    files.close();
    const int next = ::open("/dev/null", O_RDONLY);
    EXPECT_EQ(next, inherited);

    files.close();

    EXPECT_TRUE(is_open(next));
  });
}

TEST(StandardStreams, ThatAreClosedAreTakenByNoOtherFile) {
  in_child_process([] {
    const int output = ::dup(STDOUT_FILENO);
    for (const int stream : {STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO}) ::close(stream);

    open_standard_streams();

    const int next = ::open("/dev/zero", O_RDONLY);
    char byte = 0;
    const bool writes_fail = ::write(STDOUT_FILENO, &byte, 1) < 0 && ::write(STDERR_FILENO, &byte, 1) < 0;
    const bool reads_fail = ::read(STDIN_FILENO, &byte, 1) < 0;
    ::dup2(output, STDOUT_FILENO);
    EXPECT_GT(next, STDERR_FILENO);
    EXPECT_TRUE(writes_fail);
    EXPECT_TRUE(reads_fail);
  });
}

TEST(StandardStreams, ThatAreOpenStayAsTheyAre) {
  struct stat before {};
  struct stat after {};
  ASSERT_EQ(::fstat(STDERR_FILENO, &before), 0);
  open_standard_streams();
  ASSERT_EQ(::fstat(STDERR_FILENO, &after), 0);
  EXPECT_EQ(before.st_ino, after.st_ino);
}

}  // namespace
}  // namespace dedupfs
