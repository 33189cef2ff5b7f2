#include "mount/fuse/errno_map.h"

#include <cerrno>

namespace dedupfs {

int errno_of(ErrorCode code) {
  switch (code) {
    case ErrorCode::kInvalidArgument: return EINVAL;
    case ErrorCode::kNotFound: return ENOENT;
    case ErrorCode::kExists: return EEXIST;
    case ErrorCode::kNotDirectory: return ENOTDIR;
    case ErrorCode::kIsDirectory: return EISDIR;
    case ErrorCode::kNotEmpty: return ENOTEMPTY;
    case ErrorCode::kNameTooLong: return ENAMETOOLONG;
    case ErrorCode::kTooLarge: return EFBIG;
    case ErrorCode::kTooManyLinks: return EMLINK;
    case ErrorCode::kBufferTooSmall: return ERANGE;
    case ErrorCode::kNoData: return ENODATA;
    case ErrorCode::kNotPermitted: return EPERM;
    case ErrorCode::kAccessDenied: return EACCES;
    case ErrorCode::kNoSpace: return ENOSPC;
    case ErrorCode::kQuotaExceeded: return EDQUOT;
    case ErrorCode::kCrossesTrees: return EXDEV;
    case ErrorCode::kReadOnly: return EROFS;
    case ErrorCode::kBusy: return EBUSY;
    case ErrorCode::kStale: return ESTALE;
    case ErrorCode::kInterrupted: return EINTR;
    case ErrorCode::kNoMemory: return ENOMEM;
    case ErrorCode::kUnsupported: return EOPNOTSUPP;
    case ErrorCode::kVersion: return EPROTO;
    case ErrorCode::kCorruption: return EIO;
    case ErrorCode::kIo: return EIO;
  }
  return EIO;
}

}  // namespace dedupfs
