// The two ends of a control connection that carries a stream of data: a request, an answer, data in one direction, and the outcome.
// docs/control-protocol.md, "Streams", has the protocol.
//
// Threads: one user each, but for ControlStream::check_wanted().
// Failure: kIo when the other end goes away or breaks the protocol; kInterrupted when it takes or gives nothing for too long. Either
//          ends the stream.
#pragma once

#include <chrono>
#include <cstddef>
#include <nlohmann/json.hpp>
#include <optional>
#include <span>
#include <string_view>

#include "base/bytes.h"
#include "base/result.h"
#include "mount/control/cancellation.h"
#include "mount/control/control_answer.h"
#include "mount/control/control_socket.h"
#include "mount/control/stream_frames.h"

namespace dedupfs {

enum class StreamDirection { kToClient, kFromClient };

// How long a daemon waits for a client who takes or gives nothing: behind the client may be a slow network.
inline constexpr std::chrono::minutes kStreamPatience{10};

// The end of the daemon. A job has it, and calls accept(), then read() or write(); who runs the job calls finish().
//
// Failure: kInterrupted, too, for everything from cancellation on.
class ControlStream {
 public:
  // An unmount waits no longer for clients to take the reason.
  static constexpr std::chrono::seconds kGoodbye{1};

  // The cancellation outlives it.
  ControlStream(ControlConnection connection, StreamDirection direction, const Cancellation& cancellation,
                std::chrono::milliseconds patience = kStreamPatience)
      : connection_(std::move(connection)), direction_(direction), cancellation_(cancellation), patience_(patience) {}

  // The answer to the request. Data follows.
  Result<void> accept(const nlohmann::json& answer);
  // A call is a frame or more: many bytes in a call cost less.
  Result<void> write(ByteSpan data);
  // At least one byte for the front of `out`, which is not empty; 0 at the clean end. A job that succeeds reads up to there.
  Result<std::size_t> read(MutableByteSpan out);
  // Whether somebody waits for the outcome, and nobody has cancelled. From any thread.
  Result<void> check_wanted() const;

  // Ends the data, clean or broken, and sends the outcome. An outcome without accept() is accepted first, or refused. If data is
  // left that the job did not read, the outcome becomes an error. Fails if the client did not take it.
  Result<void> finish(const Result<nlohmann::json>& outcome);
  // In place of all these, for who must not wait: an error that a client without manners may miss.
  void refuse(const Error& error);

 private:
  using Clock = std::chrono::steady_clock;

  Result<void> await(short events, std::string_view what) const;
  Result<void> await_goodbye(Clock::time_point end) const;
  Result<void> flush();
  Result<void> require_end();
  // Notes the error, after which nothing goes on.
  Result<void> noted(Result<void> done);

  ControlConnection connection_;
  StreamDirection direction_;
  const Cancellation& cancellation_;
  std::chrono::milliseconds patience_;
  FrameWriter writer_;
  FrameReader reader_;
  bool is_accepted_ = false;
  std::optional<Error> failure_;
};

// The end of the client.
class ControlStreamClient {
 public:
  // Sends the request, and waits for the answer. The error of the daemon, if it refuses.
  static Result<ControlStreamClient> open(ControlClient client, const nlohmann::json& request);

  const nlohmann::json& answer() const { return answer_; }
  // At least one byte for the front of `out`, which is not empty; 0 at the clean end. The error of the daemon, if that is why the
  // data ends.
  Result<std::size_t> read(MutableByteSpan out);
  // The error of the daemon, if it has ended already.
  Result<void> write(ByteSpan data);
  // The error of the daemon, if it has ended already.
  Result<void> check_wanted();
  // After the last write().
  Result<void> end_of_data();
  // In place of end_of_data(): the data is incomplete. The daemon answers with an error.
  Result<void> break_off();
  // After the end of the data.
  Result<nlohmann::json> outcome();

 private:
  ControlStreamClient(ControlClient client, nlohmann::json answer)
      : client_(std::move(client)), answer_(std::move(answer)) {}
  Result<void> await_taking();
  Result<void> end(FrameEnd end);
  Result<void> or_why_not(Result<void> sent);

  ControlClient client_;
  nlohmann::json answer_;
  FrameWriter writer_;
  FrameReader reader_;
};

}  // namespace dedupfs
