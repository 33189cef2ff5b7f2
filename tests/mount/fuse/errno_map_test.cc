#include "mount/fuse/errno_map.h"

#include <gtest/gtest.h>

#include <cerrno>

namespace dedupfs {
namespace {

TEST(ErrnoMap, GivesBackTheErrnoOfASystemCall) {
  for (const int number : {EINVAL, ENOENT, EEXIST, ENOTDIR, EISDIR, ENOTEMPTY, ENAMETOOLONG, EFBIG, EPERM, EACCES,
                           ENOSPC, EROFS, EBUSY, EINTR, ENOMEM, EOPNOTSUPP, EIO})
    EXPECT_EQ(errno_of(Error::from_errno(number, "x").code()), number);
}

TEST(ErrnoMap, MakesAnIoErrorOfDamage) {
  EXPECT_EQ(errno_of(ErrorCode::kCorruption), EIO);
}

TEST(ErrnoMap, HasACodeOfItsOwnForEachPosixAnswer) {
  EXPECT_EQ(errno_of(ErrorCode::kStale), ESTALE);
  EXPECT_EQ(errno_of(ErrorCode::kNoData), ENODATA);
  EXPECT_EQ(errno_of(ErrorCode::kBufferTooSmall), ERANGE);
  EXPECT_EQ(errno_of(ErrorCode::kTooManyLinks), EMLINK);
  EXPECT_EQ(errno_of(ErrorCode::kQuotaExceeded), EDQUOT);
  EXPECT_EQ(errno_of(ErrorCode::kCrossesTrees), EXDEV);
}

}  // namespace
}  // namespace dedupfs
