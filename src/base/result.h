// Errors are values: a function that can fail returns Result<T>.
//
// An Error has a code, which decides what the caller and finally errno or an exit code make of it, and a message for
// people, which names the thing that failed. Callers add context on the way up with Error::with().
#pragma once

#include <string>
#include <string_view>
#include <tl/expected.hpp>
#include <utility>

namespace dedupfs {

enum class ErrorCode {
  kInvalidArgument,  // a parameter that can never be right
  kNotFound,         // no such file, volume, attribute
  kExists,           // it is there already
  kNotDirectory,     // a directory was needed
  kIsDirectory,      // a directory is not allowed here
  kNotEmpty,         // directory with entries
  kNameTooLong,      // a name of more than 255 bytes
  kTooLarge,         // beyond the largest file or value
  kTooManyLinks,     // link count would overflow
  kBufferTooSmall,   // the caller's buffer does not hold the value
  kNoData,           // no such extended attribute; nothing behind this offset
  kNotPermitted,     // EPERM: never allowed on this object
  kAccessDenied,     // EACCES: not allowed to this caller
  kNoSpace,          // the disk below is full
  kReadOnly,         // volume or mount is read-only
  kBusy,             // volume in use by another process
  kStale,            // the inode does not exist any more
  kInterrupted,      // the caller gave up waiting
  kNoMemory,         //
  kUnsupported,      // a feature that this build or volume does not have
  kVersion,          // a newer on-disk format
  kCorruption,       // bytes on disk differ from the written ones
  kIo,               // the operating system reported an I/O error
  kQuotaExceeded,    // EDQUOT: a tree has reached its limit
  kCrossesTrees,     // EXDEV: a file cannot go from one tree with a quota to another
};

std::string_view name_of(ErrorCode code);

class [[nodiscard]] Error {
 public:
  Error(ErrorCode code, std::string message) : code_(code), message_(std::move(message)) {}

  // The error of a system call that just failed with `number`; "what" names the call's object.
  static Error from_errno(int number, std::string_view what);

  ErrorCode code() const { return code_; }
  const std::string& message() const { return message_; }

  // The same error with context in front: "reading chunk 7: region checksum differs".
  Error with(std::string_view context) const;

 private:
  ErrorCode code_;
  std::string message_;
};

inline Error invalid_argument(std::string message) {
  return {ErrorCode::kInvalidArgument, std::move(message)};
}
inline Error corruption(std::string message) {
  return {ErrorCode::kCorruption, std::move(message)};
}

// tl::expected, plus construction from a bare Error, so that `return Error{...}` and `return r.error()` read well.
template <class T>
class [[nodiscard]] Result : public tl::expected<T, Error> {
 public:
  using tl::expected<T, Error>::expected;
  // NOLINTNEXTLINE(google-explicit-constructor)
  Result(Error error) : tl::expected<T, Error>(tl::unexpect, std::move(error)) {}
};

}  // namespace dedupfs

#define DEDUPFS_CONCAT_INNER(a, b) a##b
#define DEDUPFS_CONCAT(a, b) DEDUPFS_CONCAT_INNER(a, b)

// Returns the error of `expression` (a Result) from the enclosing function, if there is one.
#define DEDUPFS_TRY(expression)                                \
  do {                                                         \
    if (auto dedupfs_result = (expression); !dedupfs_result) { \
      return std::move(dedupfs_result).error();                \
    }                                                          \
  } while (false)

// DEDUPFS_ASSIGN(auto value, fallible()): the value, or return the error from the enclosing function.
#define DEDUPFS_ASSIGN(declaration, expression) \
  DEDUPFS_ASSIGN_INNER(DEDUPFS_CONCAT(dedupfs_result_, __LINE__), declaration, expression)
#define DEDUPFS_ASSIGN_INNER(result, declaration, expression) \
  auto result = (expression);                                 \
  if (!result) return std::move(result).error();              \
  declaration = std::move(*result)
