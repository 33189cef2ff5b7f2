#include "transfer_progress.h"

#include <fmt/format.h>

#include <nlohmann/json.hpp>
#include <random>

#include "base/size.h"
#include "mount/control/control_socket.h"

namespace dedupfs::tools {

std::string TransferProgress::fresh_name() {
  std::random_device random;
  return fmt::format("{:08x}{:08x}", random(), random());
}

void TransferProgress::show(std::uint64_t stream_bytes, std::uint64_t done_bytes, std::uint64_t content_bytes) {
  const double seconds = std::chrono::duration<double>(Clock::now() - begun_).count();
  const JobState state = state_of_copy(stage_, done_bytes, content_bytes, seconds);
  progress_.show(fmt::format("{} {}, for {} of {}{}", human_size(stream_bytes), done_, human_size(done_bytes),
                             human_size(content_bytes), rate_and_time_left(state)),
                 state);
}

Result<void> TransferProgress::check_stop() const {
  if (process_.stop_was_asked_for()) return Error{ErrorCode::kInterrupted, "stopped"};
  return {};
}

Result<void> TransferProgress::watch(std::uint64_t stream_bytes, std::uint64_t done_bytes,
                                     std::uint64_t content_bytes) {
  if (progress_.is_due()) show(stream_bytes, done_bytes, content_bytes);
  return check_stop();
}

Result<void> TransferProgress::watch_daemon(const Path& volume) {
  if (progress_.is_due()) {
    const auto answer = control_request(volume, {{"command", "transfer"}, {"transfer", name_}});
    const auto number = [&](const char* key) { return answer->value(key, std::uint64_t{0}); };
    if (answer) show(number("stream_bytes"), number("done_bytes"), number("content_bytes"));
  }
  return check_stop();
}

}  // namespace dedupfs::tools
