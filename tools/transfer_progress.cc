#include "transfer_progress.h"

#include <fmt/format.h>

#include "base/size.h"

namespace dedupfs::tools {

Result<void> TransferProgress::watch(std::uint64_t stream_bytes, std::uint64_t done_bytes,
                                     std::uint64_t content_bytes) {
  if (progress_.is_due()) {
    const double seconds = std::chrono::duration<double>(Clock::now() - begun_).count();
    const JobState state = state_of_copy(stage_, done_bytes, content_bytes, seconds);
    progress_.show(fmt::format("{} {}, for {} of {}{}", human_size(stream_bytes), done_, human_size(done_bytes),
                               human_size(content_bytes), rate_and_time_left(state)),
                   state);
  }
  if (process_.stop_was_asked_for()) return Error{ErrorCode::kInterrupted, "stopped"};
  return {};
}

}  // namespace dedupfs::tools
