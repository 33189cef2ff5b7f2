#include "base/result.h"

#include <cerrno>
#include <system_error>

namespace dedupfs {

std::string_view name_of(ErrorCode code) {
  switch (code) {
    case ErrorCode::kInvalidArgument: return "invalid argument";
    case ErrorCode::kNotFound: return "not found";
    case ErrorCode::kExists: return "exists already";
    case ErrorCode::kNotDirectory: return "not a directory";
    case ErrorCode::kIsDirectory: return "is a directory";
    case ErrorCode::kNotEmpty: return "not empty";
    case ErrorCode::kNameTooLong: return "name too long";
    case ErrorCode::kTooLarge: return "too large";
    case ErrorCode::kTooManyLinks: return "too many links";
    case ErrorCode::kBufferTooSmall: return "buffer too small";
    case ErrorCode::kNoData: return "no data";
    case ErrorCode::kNotPermitted: return "not permitted";
    case ErrorCode::kAccessDenied: return "access denied";
    case ErrorCode::kNoSpace: return "no space left";
    case ErrorCode::kQuotaExceeded: return "quota exceeded";
    case ErrorCode::kCrossesTrees: return "in another tree";
    case ErrorCode::kReadOnly: return "read-only";
    case ErrorCode::kBusy: return "in use";
    case ErrorCode::kStale: return "stale";
    case ErrorCode::kInterrupted: return "interrupted";
    case ErrorCode::kNoMemory: return "out of memory";
    case ErrorCode::kUnsupported: return "unsupported";
    case ErrorCode::kVersion: return "newer format version";
    case ErrorCode::kCorruption: return "corruption";
    case ErrorCode::kIo: return "I/O error";
  }
  return "unknown error";
}

namespace {

ErrorCode code_of_errno(int number) {
  switch (number) {
    case EINVAL: return ErrorCode::kInvalidArgument;
    case ENOENT: return ErrorCode::kNotFound;
    case EEXIST: return ErrorCode::kExists;
    case ENOTDIR: return ErrorCode::kNotDirectory;
    case EISDIR: return ErrorCode::kIsDirectory;
    case ENOTEMPTY: return ErrorCode::kNotEmpty;
    case ENAMETOOLONG: return ErrorCode::kNameTooLong;
    case EFBIG: return ErrorCode::kTooLarge;
    case EPERM: return ErrorCode::kNotPermitted;
    case EACCES: return ErrorCode::kAccessDenied;
    case ENOSPC:
    case EDQUOT: return ErrorCode::kNoSpace;
    case EROFS: return ErrorCode::kReadOnly;
    case EBUSY: return ErrorCode::kBusy;
    case EINTR: return ErrorCode::kInterrupted;
    case ENOMEM: return ErrorCode::kNoMemory;
    case EOPNOTSUPP: return ErrorCode::kUnsupported;
    default: return ErrorCode::kIo;
  }
}

}  // namespace

Error Error::from_errno(int number, std::string_view what) {
  return {code_of_errno(number), std::string(what) + ": " + std::generic_category().message(number)};
}

Error Error::with(std::string_view context) const {
  return {code_, std::string(context) + ": " + message_};
}

}  // namespace dedupfs
