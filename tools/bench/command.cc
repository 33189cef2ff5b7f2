#include "bench/command.h"

namespace dedupfs::bench {

int fail(std::ostream& err, const Error& error) {
  err << "dedupfs-bench: " << error.message() << '\n';
  const bool is_usage = error.code() == ErrorCode::kInvalidArgument || error.code() == ErrorCode::kUnsupported;
  return is_usage ? kUsageError : kFailed;
}

int written(std::ostream& out, std::ostream& err) {
  if (out.flush()) return kDone;
  err << "dedupfs-bench: cannot write the output: its reader has gone, or the disk is full\n";
  return kFailed;
}

}  // namespace dedupfs::bench
