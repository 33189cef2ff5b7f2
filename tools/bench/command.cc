#include "bench/command.h"

namespace dedupfs::bench {

int fail(const Console& console, const Error& error) {
  const bool is_usage = error.code() == ErrorCode::kInvalidArgument || error.code() == ErrorCode::kUnsupported;
  return console.fail(error, is_usage ? kUsageError : kFailed);
}

}  // namespace dedupfs::bench
