#include "bench/command.h"

namespace dedupfs::bench {

int fail(std::ostream& err, const Error& error) {
  err << "dedupfs-bench: " << error.message() << '\n';
  const bool is_usage = error.code() == ErrorCode::kInvalidArgument || error.code() == ErrorCode::kUnsupported;
  return is_usage ? kUsageError : kFailed;
}

int written(std::ostream& out) {
  return out.flush() ? kDone : kFailed;
}

}  // namespace dedupfs::bench
