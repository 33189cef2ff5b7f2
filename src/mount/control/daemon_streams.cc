#include "mount/control/daemon_streams.h"

#include <cstddef>
#include <optional>
#include <utility>

#include "mount/control/control_stream.h"

namespace dedupfs {
namespace {

Result<ControlStreamClient> open_stream(const Path& volume, const nlohmann::json& request, Patience patience) {
  DEDUPFS_ASSIGN(ControlClient client, ControlClient::connect(volume, std::move(patience)));
  return ControlStreamClient::open(std::move(client), request);
}

}  // namespace

Result<nlohmann::json> stream_from_daemon(const Path& volume, const nlohmann::json& request, const StreamSink& sink,
                                          Patience patience) {
  DEDUPFS_ASSIGN(ControlStreamClient stream, open_stream(volume, request, std::move(patience)));
  ByteBuffer buffer(kSentFrame);
  for (;;) {
    DEDUPFS_ASSIGN(const std::size_t count, stream.read(buffer));
    if (count == 0) return stream.outcome();
    DEDUPFS_TRY(sink(ByteSpan(buffer).first(count)));
  }
}

Result<nlohmann::json> stream_to_daemon(const Path& volume, const nlohmann::json& request, const WaitingSource& source,
                                        Patience patience) {
  DEDUPFS_ASSIGN(ControlStreamClient stream, open_stream(volume, request, std::move(patience)));
  ByteBuffer buffer(kSentFrame);
  std::optional<Error> ended;  // the daemon has
  const GoOn still_wanted = [&]() -> Result<void> {
    Result<void> wanted = stream.check_wanted();
    if (!wanted) ended = wanted.error();
    return wanted;
  };
  for (;;) {
    const auto count = source(buffer, still_wanted);
    if (ended) return *ended;
    if (!count) {
      if (stream.break_off()) (void)stream.outcome();  // the daemon knows less than we do
      return count.error();
    }
    if (*count == 0) break;
    DEDUPFS_TRY(stream.write(ByteSpan(buffer).first(*count)));
  }
  DEDUPFS_TRY(stream.end_of_data());
  return stream.outcome();
}

}  // namespace dedupfs
